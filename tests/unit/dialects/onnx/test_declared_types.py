"""Declared types of onnx ops' results, held against what ONNX infers."""

from __future__ import annotations

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import VerificationError


def text_of(op: str, operand: str, result: str) -> str:
    """A function of one op on one operand."""
    return (
        f"func.func @main(%x: {operand}) -> {result} {{\n"
        f"  %y = {op}(%x) : ({operand}) -> {result}\n"
        f"  return %y : {result}\n}}"
    )


@pytest.mark.parametrize(
    ("op", "operand", "declared", "inferred"),
    [
        ("onnx.Relu", "tensor<4xf32>", "tensor<5xf32>", "tensor<4xf32>"),
        ("onnx.Relu", "tensor<4xf32>", "tensor<4xi32>", "tensor<4xf32>"),
        ("onnx.Relu", "tensor<4xf32>", "tensor<*xf16>", "tensor<4xf32>"),
        ("onnx.Det", "tensor<4x4xf32>", "tensor<9xf32>", "tensor<f32>"),
        ("onnx.Shape", "tensor<4x?xf32>", "tensor<3xi64>", "tensor<2xi64>"),
    ],
)
def test_a_type_that_contradicts_inference(op: str, operand: str, declared: str, inferred: str) -> None:
    """The op is refused as the text is read, with its place and both types."""
    with pytest.raises(VerificationError, match=rf"^{op}: \w+ is declared .* but inferred") as caught:
        mt.from_mlir(text_of(op, operand, declared))
    assert f"is declared {declared} but inferred {inferred}" in caught.value.what
    assert (caught.value.span.line, caught.value.span.column) == (2, 8)


@pytest.mark.parametrize(
    ("op", "operand", "declared"),
    [
        ("onnx.Relu", "tensor<4xf32>", "tensor<?xf32>"),
        ("onnx.Relu", "tensor<4xf32>", "tensor<*xf32>"),
        ("onnx.Relu", "tensor<*xf32>", "tensor<4xf32>"),
        ("onnx.Relu", "tensor<?x4xf32>", "tensor<2x4xf32>"),
        ("onnx.NonZero", "tensor<4xf32>", "tensor<1x3xi64>"),
    ],
)
def test_a_type_that_says_less_or_more(op: str, operand: str, declared: str) -> None:
    """Unknown dimensions and ranks agree with known ones, on either side."""
    program = mt.from_mlir(text_of(op, operand, declared))
    assert f"return %0 : {declared}" in str(program.module)


def test_shapes_in_a_branch_are_not_compared() -> None:
    """A branch may be for other shapes and never run; its element types count."""
    text = """func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<?xf32> {
  %y = "onnx.if"(%c) ({
    %a = onnx.Relu(%x) : (tensor<4xf32>) -> KIND
    onnx.yield %a : KIND
  }, {
    onnx.yield %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}"""
    mt.from_mlir(text.replace("KIND", "tensor<5xf32>"))
    with pytest.raises(VerificationError, match="is declared tensor<4xi32> but inferred tensor<4xf32>"):
        mt.from_mlir(text.replace("KIND", "tensor<4xi32>"))
