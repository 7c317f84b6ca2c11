"""raise-normalizations."""

import pytest

from .before_after import check, check_unchanged, function, mnemonics, run


def _chain(kind: str, small: str, axes: str, *, reciprocal=False, power=True, bias=True, two_subs=False) -> str:
    """A normalization spelled out: `kind` is the input's type, `small` that of the reductions."""
    ew = "tensorrt.element_wise"
    one = "x".join(["1"] * small.count("x")) + "xf32"
    lines = [
        f"%two = tensorrt.constant dense<2.0> : tensor<{one}>" if power else "",
        f"%eps = tensorrt.constant dense<1.0e-5> : tensor<{one}>",
        f"%m = tensorrt.reduce <kAVG> %x {{keepDimensions = true, reduceAxes = {axes}}} : tensor<{kind}> -> "
        f"tensor<{small}>",
        f"%d = {ew} <kSUB>(%x, %m : tensor<{kind}>, tensor<{small}>) -> tensor<{kind}>",
        f"%n = {ew} <kSUB>(%x, %m : tensor<{kind}>, tensor<{small}>) -> tensor<{kind}>" if two_subs else "",
        f"%q = {ew} <kPOW>(%d, %two : tensor<{kind}>, tensor<{one}>) -> tensor<{kind}>"
        if power
        else f"%q = {ew} <kPROD>(%d, %d : tensor<{kind}>, tensor<{kind}>) -> tensor<{kind}>",
        f"%v = tensorrt.reduce <kAVG> %q {{keepDimensions = true, reduceAxes = {axes}}} : tensor<{kind}> -> "
        f"tensor<{small}>",
        f"%w = {ew} <kSUM>(%v, %eps : tensor<{small}>, tensor<{one}>) -> tensor<{small}>",
        f"%r = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<kSQRT>}} %w : tensor<{small}>",
    ]
    top = "n" if two_subs else "d"
    if reciprocal:
        lines += [
            f"%i = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<kRECIP>}} %r : tensor<{small}>",
            f"%z = {ew} <kPROD>(%{top}, %i : tensor<{kind}>, tensor<{small}>) -> tensor<{kind}>",
        ]
    else:
        lines.append(f"%z = {ew} <kDIV>(%{top}, %r : tensor<{kind}>, tensor<{small}>) -> tensor<{kind}>")
    lines.append(f"%y = {ew} <kPROD>(%z, %g : tensor<{kind}>, type_of_g) -> tensor<{kind}>")
    if bias:
        lines.append(f"%o = {ew} <kSUM>(%y, %b : tensor<{kind}>, type_of_g) -> tensor<{kind}>")
    return "\n".join(line for line in lines if line)


LAYER = ("2x?x8xf32", "2x?x1xf32", "array<i64: 2>", "tensor<1x1x8xf32>")
INSTANCE = ("2x4x8x8xf32", "2x4x1x1xf32", "array<i64: 2, 3>", "tensor<1x4x1x1xf32>")


def _whole(form, out="o", **how) -> str:
    kind, small, axes, scale = form
    body = _chain(kind, small, axes, **how).replace("type_of_g", scale)
    return function(f"%x: tensor<{kind}>, %g: {scale}, %b: {scale}", body, f"%{out} : tensor<{kind}>")


def _normalized(form) -> str:
    kind, _, axes, scale = form
    return function(
        f"%x: tensor<{kind}>, %g: {scale}, %b: {scale}",
        f"%o = tensorrt.normalization {{axis = {axes}, eps = 1.0e-5 : f32}} (%x : tensor<{kind}>, "
        f"%g : {scale}, %b : {scale}) -> tensor<{kind}>",
        f"%o : tensor<{kind}>",
    )


@pytest.mark.parametrize("form", [LAYER, INSTANCE])
@pytest.mark.parametrize("how", [{}, {"reciprocal": True}, {"power": False}, {"two_subs": True}])
def test_raised(form, how):
    """Layer norm and instance norm, by quotient or reciprocal, power or product, one difference or two."""
    check(_whole(form, **how), _normalized(form), "raise-normalizations,canonicalize")


def test_without_bias():
    """A missing bias becomes zeros of the scale's shape."""
    program = run(_whole(LAYER, out="y", bias=False), "raise-normalizations")
    assert mnemonics(program) == ["normalization"]
    assert "dense<0.000000e+00> : tensor<1x1x8xf32>" in str(program.module)


@pytest.mark.parametrize(
    "text",
    [
        # The largest value is subtracted, not the mean.
        _whole(LAYER).replace("%m = tensorrt.reduce <kAVG>", "%m = tensorrt.reduce <kMAX>"),
        # A sum instead of a mean.
        _whole(LAYER).replace("%v = tensorrt.reduce <kAVG>", "%v = tensorrt.reduce <kSUM>"),
        # A cube instead of a square.
        _whole(LAYER).replace("dense<2.0>", "dense<3.0>"),
        # The inner value is a result too.
        _whole(LAYER).replace("return %o : tensor<2x?x8xf32>", "return %z : tensor<2x?x8xf32>"),
        # A scale per row is no layer norm.
        _whole((*LAYER[:3], "tensor<3x1x1xf32>")).replace("2x?x", "3x?x"),
    ],
)
def test_others_stay(text):
    """A chain that computes something else, or that the layer does not take, is left alone."""
    check_unchanged(text, "raise-normalizations")
