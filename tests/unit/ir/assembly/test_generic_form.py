"""The package's ops in generic form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mlirtrt_nb.errors import ParseError
from mlirtrt_nb.ir.assembly import parse_module, print_module

Body = Callable[[str, str], str]


def test_properties_and_counts_per_operand(body: Body) -> None:
    """What MLIR-TensorRT prints: properties, segment sizes by operand, defaults written out."""
    given = (
        '%0 = "tensorrt.slice"(%x, %s) <{mode = #tensorrt.slice_mode<kDEFAULT>, '
        "operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>, static_size = array<i32: 2>, "
        "static_stride = array<i32: 1>}> : (tensor<4xf32>, tensor<1xi32>) -> tensor<2xf32>"
    )
    assert body("%x: tensor<4xf32>, %s: tensor<1xi32>", given) == (
        "%0 = tensorrt.slice %x[%s: tensor<1xi32>][2][1] : tensor<4xf32> to tensor<2xf32>"
    )


def test_one_variadic_needs_no_counts(body: Body) -> None:
    """An op with one variadic operand carries no segment sizes in MLIR-TensorRT."""
    types = "tensor<4xf32>, tensor<4xf32>"
    given = f'%0 = "tensorrt.concatenation"(%x, %x) <{{axis = 0 : i32}}> : ({types}) -> tensor<8xf32>'
    assert body("%x: tensor<4xf32>", given) == (
        f"%0 = tensorrt.concatenation {{axis = 0 : i32}} ins(%x, %x : {types}) -> tensor<8xf32>"
    )


def test_regions_and_display_names(body: Body) -> None:
    """Regions in parentheses; an onnx op by ONNX's spelling."""
    given = """%0 = "onnx.If"(%c) ({
      %1 = "onnx.Identity"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      "onnx.yield"(%1) : (tensor<4xf32>) -> ()
    }, {
      "onnx.yield"(%x) : (tensor<4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4xf32>"""
    assert body("%c: tensor<i1>, %x: tensor<4xf32>", given) == (
        "%0 = onnx.If(%c) : (tensor<i1>) -> tensor<4xf32> then_branch {\n"
        "  %1 = onnx.Identity(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  onnx.yield %1 : tensor<4xf32>\n"
        "} else_branch {\n"
        "  onnx.yield %x : tensor<4xf32>\n"
        "}"
    )


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            '"tensorrt.softmax"(%x, %x) {axis = 0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>',
            "takes 1 operands, not 2",
        ),
        ('"tensorrt.softmax"(%x) {axis = 0} : () -> tensor<4xf32>', "1 operands but 0 types"),
        ('"tensorrt.softmax"(%x) {axis = 0} : (tensor<4xf32>) -> ()', "has 1 results, not 0"),
        ('"tensorrt.softmax"(%x) ({}) {axis = 0} : (tensor<4xf32>) -> tensor<4xf32>', "has 0 regions"),
        ('"tensorrt.softmax"(%x) {axs = 0} : (tensor<4xf32>) -> tensor<4xf32>', "has no attribute axs"),
        ('"tensorrt.sofmax"(%x) {axis = 0} : (tensor<4xf32>) -> tensor<4xf32>', "unknown op tensorrt.sofmax"),
        (
            '"tensorrt.slice"(%x) {operandSegmentSizes = array<i32: 1, 1>} : (tensor<4xf32>) -> tensor<4xf32>',
            "does not fit",
        ),
    ],
)
def test_wrong(op: str, message: str, context) -> None:
    """What does not fit the definition is refused with the op's own place."""
    with pytest.raises(ParseError, match=message) as caught:
        parse_module(f"func.func @f(%x: tensor<4xf32>) {{\n  %0 = {op}\n  return\n}}", "cell", context)
    assert caught.value.span is not None
    assert caught.value.span.line == 2


def test_engines_module(context) -> None:
    """tensorrt.module in generic form, with its name before or behind its region."""
    function = "func.func @f() { return }"
    for text in (
        f'"tensorrt.module"() <{{sym_name = "e"}}> ({{ {function} }}) : () -> ()',
        f'"tensorrt.module"() ({{ {function} }}) {{sym_name = "e"}} : () -> ()',
    ):
        assert "tensorrt.module @e {" in print_module(parse_module(text, "cell", context))
