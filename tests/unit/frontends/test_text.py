"""Programs from MLIR text."""

from __future__ import annotations

import numpy as np
import pytest

from mlirtrt_nb.errors import ParseError, VerificationError
from mlirtrt_nb.frontends.text import from_mlir

FUNCTION = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = tensorrt.constant {constant}
  %1 = tensorrt.element_wise <kSUM>(%x, %x : tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}}
{trailer}
"""


def test_a_program() -> None:
    """A program knows its text, its source and its names, and prints what the user wrote."""
    text = """func.func @main(%in: tensor<2xf32>) -> tensor<2xf32> {
  %out = tensorrt.softmax {axis = 0} %in : tensor<2xf32>
  return %out : tensor<2xf32>
}"""
    program = from_mlir(text, filename="my.mlir", name="mine")
    assert (program.name, program.source, program.text_source) == ("mine", "my.mlir", text)
    assert "%out = tensorrt.softmax {axis = 0 : i64} %in : tensor<2xf32>" in program.text()
    assert [entry.shape for entry in program.inputs] == [(2,)]
    program.verify()


def test_resources_become_weights() -> None:
    """The blobs at the end of a file are the program's weights; MLIR has only their names."""
    trailer = (
        '{-# dialect_resources: { builtin: { w: "0x040000000000803F00000040", "a b": "0x0400000001FE" } } #-}'
    )
    text = FUNCTION.format(constant="dense_resource<w> : tensor<2xf32>", trailer=trailer)
    text = text.replace("  %1 =", '  %q = tensorrt.constant dense_resource<"a b"> : tensor<2xi8>\n  %1 =')
    program = from_mlir(text)
    np.testing.assert_array_equal(program.weights["w"], np.array([1, 2], np.float32))
    np.testing.assert_array_equal(program.weights["a b"], np.array([1, -2], np.int8))
    assert "dense_resource<w> : tensor<2xf32>" in program.text()
    assert "dialect_resources" not in program.text()


@pytest.mark.parametrize(
    ("element", "blob", "values"),
    [("i4", "F1", [1, -1]), ("i4", "01FF", [1, -1]), ("ui4", "F1", [1, 15]), ("f4E2M1FN", "A2", [1, -1])],
)
def test_four_bit_weights(element: str, blob: str, values: list[float]) -> None:
    """Packed with the low half first, or a byte each."""
    trailer = f'{{-# dialect_resources: {{ builtin: {{ w: "0x04000000{blob}" }} }} #-}}'
    op = f"%0 = plan.constant dense_resource<w> : tensor<2x{element}> -> memref<2xi8>"
    text = f"func.func @f() {{\n  {op}\n  return\n}}"
    program = from_mlir(f"{text}\n{trailer}")
    np.testing.assert_array_equal(program.weights["w"].astype(np.float32), values)


def test_aliases_in_the_types_of_weights() -> None:
    """A weight's type may be an alias; weights of types without a NumPy form are left to MLIR."""
    trailer = '{-# dialect_resources: { builtin: { w: "0x040000000000803F00000040", q: "0x0400000001" } } #-}'
    text = FUNCTION.format(constant="dense_resource<w> : !t", trailer=trailer)
    quantized = (
        "  %q = plan.constant dense_resource<q> : tensor<1x!quant.uniform<i8:f32, 0.1>> -> memref<1xi8>\n  %1 ="
    )
    program = from_mlir("!t = tensor<2xf32>\n" + text.replace("  %1 =", quantized))
    assert list(program.weights) == ["w"]


def test_elided_weights_are_zeros() -> None:
    """An elided weight is zeros of its type that take no memory, and keeps a name of its own."""
    program = from_mlir(
        FUNCTION.format(constant="dense_resource<__elided__> : tensor<1000x1000xf16>", trailer="")
    )
    (name,) = program.weights
    weight = program.weights[name]
    assert weight.shape == (1000, 1000) and weight.dtype == np.float16 and not weight.any()
    assert weight.strides == (0, 0)
    again = from_mlir(program.text())
    assert list(again.weights) == [name]


def test_wrong_size() -> None:
    """A blob that does not fit its type is an error at the place that uses it."""
    trailer = '{-# dialect_resources: { builtin: { w: "0x0400000000" } } #-}'
    with pytest.raises(ParseError, match=r"resource w has 1 bytes; tensor<2xf32> needs 8") as caught:
        from_mlir(FUNCTION.format(constant="dense_resource<w> : tensor<2xf32>", trailer=trailer))
    assert caught.value.span is not None and caught.value.span.line == 2


def test_rules_of_the_packages_ops() -> None:
    """Every broken rule is reported, with the user's own line."""
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %3 = tensorrt.element_wise <kSUB>(%x, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  %5 = tensorrt.softmax {axis = 5 : i64} %x : tensor<4xf32>
  return %x : tensor<4xf32>
}"""
    with pytest.raises(VerificationError) as caught:
        from_mlir(text)
    errors = [caught.value, *caught.value.others]
    assert [error.span.line for error in errors if error.span] == [2, 3]
    assert "%5 = tensorrt.softmax" in str(caught.value) and "^~~~" in str(caught.value)


def test_each_program_has_its_own_context() -> None:
    """Weights of one name in two programs do not meet."""
    text = FUNCTION.format(constant="dense_resource<w> : tensor<2xf32>", trailer="")
    one, two = from_mlir(text), from_mlir(text)
    assert one.context is not two.context
    assert one.text() == two.text()
