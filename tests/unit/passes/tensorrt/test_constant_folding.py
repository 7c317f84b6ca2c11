"""constant-folding."""

import numpy as np
import pytest

from mlirtrt_nb.ir.constants import value_of

from .before_after import check_unchanged, function, mnemonics, run

PASS = "constant-folding"
A = "%a = tensorrt.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.5, -6.0]]> : tensor<2x3xf32>\n"
B = "%b = tensorrt.constant dense<[[2.0, 0.5, -1.0]]> : tensor<1x3xf32>\n"
PAIR = "%i = tensorrt.constant dense<[7, -7, 9]> : tensor<3xi32>\n"
PAIR += "%j = tensorrt.constant dense<[2, 2, -4]> : tensor<3xi32>\n"
NUMBERS = {
    "a": np.array([[1.0, -2.0, 3.0], [4.0, 5.5, -6.0]], np.float32),
    "b": np.array([[2.0, 0.5, -1.0]], np.float32),
    "i": np.array([7, -7, 9], np.int32),
    "j": np.array([2, 2, -4], np.int32),
}


def _binary(kind: str, a: str, b: str, kinds: tuple[str, str, str]) -> tuple[str, str]:
    first, second, result = (f"tensor<{kind}>" for kind in kinds)
    return f"%y = tensorrt.element_wise <{kind}>(%{a}, %{b} : {first}, {second}) -> {result}", kinds[2]


FLOATS, WHOLE = ("2x3xf32", "1x3xf32", "2x3xf32"), ("3xi32", "3xi32", "3xi32")
UNARY = "%y = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<{0}>}} %a : tensor<2x3xf32>"
a, b, i, j = NUMBERS.values()
CASES = {
    "sum": (*_binary("kSUM", "a", "b", FLOATS), a + b),
    "maximum": (*_binary("kMAX", "a", "b", FLOATS), np.maximum(a, b)),
    "less": (*_binary("kLESS", "a", "b", ("2x3xf32", "1x3xf32", "2x3xi1")), a < b),
    "whole quotient": (*_binary("kDIV", "i", "j", WHOLE), np.array([3, -3, -2], np.int32)),
    "floored quotient": (*_binary("kFLOOR_DIV", "i", "j", WHOLE), np.array([3, -4, -3], np.int32)),
    "negated": (UNARY.format("kNEG"), "2x3xf32", -a),
    "absolute": (UNARY.format("kABS"), "2x3xf32", abs(a)),
    "round half to even": (UNARY.format("kROUND"), "2x3xf32", np.rint(a)),
    "cast": ("%y = tensorrt.cast %a : tensor<2x3xf32> to tensor<2x3xi32>", "2x3xi32", a.astype(np.int32)),
    "narrowed": ("%y = tensorrt.cast %a : tensor<2x3xf32> to tensor<2x3xf16>", "2x3xf16", a.astype(np.float16)),
    "reshaped": ("%y = tensorrt.reshape %a : tensor<2x3xf32> to tensor<6xf32>", "6xf32", a.reshape(6)),
    "transposed": (
        "%y = tensorrt.transpose {permutation = affine_map<(d0, d1) -> (d1, d0)>} %a : tensor<2x3xf32> to "
        "tensor<3x2xf32>",
        "3x2xf32",
        a.T,
    ),
    "shuffled": (
        "%y = tensorrt.shuffle {first_transpose = array<i64: 1, 0>, reshape = array<i64: 2, 3>, "
        "second_transpose = array<i64: 1, 0>} ins(%a : tensor<2x3xf32>) -> tensor<3x2xf32>",
        "3x2xf32",
        a.T.reshape(2, 3).T,
    ),
    "broadcast": (
        "%y = tensorrt.broadcast %b broadcast_dims<2, 1> : tensor<1x3xf32> to tensor<2x3x4xf32>",
        "2x3x4xf32",
        np.broadcast_to(b.T.reshape(1, 3, 1), (2, 3, 4)),
    ),
    "sliced": (
        "%y = tensorrt.slice %a[1, 2][1, 2][1, -2] : tensor<2x3xf32> to tensor<1x2xf32>",
        "1x2xf32",
        a[1:, ::-2],
    ),
    "joined": (
        "%y = tensorrt.concatenation {axis = 0 : i32} ins(%a, %b : tensor<2x3xf32>, tensor<1x3xf32>) -> "
        "tensor<3x3xf32>",
        "3x3xf32",
        np.concatenate([a, b]),
    ),
    "gathered": (
        "%n = tensorrt.constant dense<[2, 0]> : tensor<2xi32>\n"
        "%y = tensorrt.gather {axis = 1 : i64} ins(%a, %n : tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>",
        "2x2xf32",
        a[:, [2, 0]],
    ),
    "selected": (
        "%c = tensorrt.constant dense<[[true, false, true]]> : tensor<1x3xi1>\n"
        "%y = tensorrt.select ins(%c, %a, %b : tensor<1x3xi1>, tensor<2x3xf32>, tensor<1x3xf32>) -> "
        "tensor<2x3xf32>",
        "2x3xf32",
        np.where([[True, False, True]], a, b),
    ),
    "shape": ("%y = tensorrt.shape %x : tensor<4x5xf32> -> tensor<2xi32>", "2xi32", np.array([4, 5], np.int32)),
}


def _text(body: str, kind: str) -> str:
    return function("%x: tensor<4x5xf32>", A + B + PAIR + body, f"%y : tensor<{kind}>")


@pytest.mark.parametrize("name", CASES)
def test_folded(name: str) -> None:
    """Each op on constants is the constant that NumPy computes, of the op's own type."""
    body, kind, expected = CASES[name]
    program = run(_text(body, kind), PASS)
    assert mnemonics(program) == []
    block = program.module.body.operations[0].regions[0].blocks[0]
    made = block.operations[len(block.operations) - 1].operands[0].owner
    found = value_of(made.attributes["weights"], program.weights)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        _binary("kDIV", "i", "z", WHOLE),
        ("%y = tensorrt.cast %big : tensor<1xf32> to tensor<1xi32>", "1xi32"),
        (
            "%y = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kNEG>} %nan : tensor<1xf32>",
            "1xf32",
        ),
        (
            "%y = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kNEG>} %x : tensor<4x5xf32>",
            "4x5xf32",
        ),
        (
            "%y = tensorrt.gather {axis = 0 : i64} ins(%a, %far : tensor<2x3xf32>, tensor<1xi32>) -> "
            "tensor<1x3xf32>",
            "1x3xf32",
        ),
    ],
)
def test_what_is_not_certain_stays(body: str, kind: str) -> None:
    """Divisions by zero, numbers out of range, NaN, places outside, and what is not constant."""
    constants = (
        "%z = tensorrt.constant dense<0> : tensor<3xi32>\n"
        "%big = tensorrt.constant dense<3.0e+09> : tensor<1xf32>\n"
        "%nan = tensorrt.constant dense<0x7FC00000> : tensor<1xf32>\n"
        "%far = tensorrt.constant dense<9> : tensor<1xi32>\n"
    )
    check_unchanged(_text(constants + body, kind), PASS)


def test_the_limit() -> None:
    """A result of more elements than the limit is not computed; one of as many is."""
    body, kind, _ = CASES["broadcast"]
    assert mnemonics(run(_text(body, kind), f"{PASS}{{size-limit=24}}")) == []
    assert mnemonics(run(_text(body, kind), f"{PASS}{{size-limit=23}}")) == ["broadcast"]


def test_a_chain_folds_at_once() -> None:
    """The arithmetic on a shape that exporters write is one constant after one run."""
    body = (
        "%s = tensorrt.shape %x : tensor<4x5xf32> -> tensor<2xi32>\n"
        "%d = tensorrt.slice %s[1][1][1] : tensor<2xi32> to tensor<1xi32>\n"
        "%t = tensorrt.constant dense<2> : tensor<1xi32>\n"
        "%p = tensorrt.element_wise <kPROD>(%d, %t : tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>\n"
        "%y = tensorrt.concatenation {axis = 0 : i32} ins(%p, %t : tensor<1xi32>, tensor<1xi32>) -> "
        "tensor<2xi32>"
    )
    program = run(function("%x: tensor<4x5xf32>", body, "%y : tensor<2xi32>"), PASS)
    assert mnemonics(program) == []
    assert "dense<[10, 2]>" in program.text()
