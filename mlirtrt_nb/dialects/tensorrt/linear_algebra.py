"""Matrix products and einsum."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand
from ...ir.verifier import reject
from .common import FLOATS, INS, check_same_element, example

__all__ = ["OPS"]


def _matrix(op: Op, number: int) -> tuple[list[int], int | None, int]:
    """Outer dimensions, the dimension that is kept (None for a vector), and the one that is summed over."""
    kind, reading = op.type(f"input{number}"), op.attr(f"op{number}")
    shape = kind.shape
    if len(shape) < (1 if reading == "kVECTOR" else 2):
        reject(op, f"input{number} is {kind}; op{number} = {reading} needs more dimensions")
    if reading == "kVECTOR":
        return shape[:-1], None, shape[-1]
    rows, columns = shape[-2:]
    if (reading == "kTRANSPOSE") != (number == 1):
        return shape[:-2], columns, rows
    return shape[:-2], rows, columns


def _infer_matrix_multiply(op: Op) -> list[ir.Type]:
    outer0, kept0, summed0 = _matrix(op, 0)
    outer1, kept1, summed1 = _matrix(op, 1)
    outer = shapes.broadcast(outer0, outer1)
    if outer is None:
        reject(op, f"the outer dimensions of {op.type('input0')} and {op.type('input1')} do not broadcast")
    if not shapes.compatible([summed0], [summed1]):
        reject(
            op,
            f"input0 {op.type('input0')} read as {op.attr('op0')} and input1 {op.type('input1')} read as "
            f"{op.attr('op1')} sum over {summed0} and {summed1} elements",
        )
    kept = [d for d in (kept0, kept1) if d is not None]
    return [shapes.tensor([*outer, *kept], op.type("input0").element_type)]


def _verify_matrix_multiply(op: Op) -> None:
    check_same_element(op, "input0", "input1")


def _terms(op: Op) -> tuple[list[str], str]:
    """The labels of each input, and those of the result."""
    equation = op.attr("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    if not left or not all(c.islower() and c.isascii() for c in left.replace(",", "") + right):
        reject(op, f'equation = "{op.attr("equation")}" may hold lower-case letters, commas and one -> only')
    if not arrow:
        right = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    return left.split(","), right


def _infer_einsum(op: Op) -> list[ir.Type]:
    inputs, result = _terms(op)
    kinds = [ir.RankedTensorType(value.type) for value in op.group("inputs")]
    if len(inputs) != len(kinds) or not 1 <= len(kinds) <= 2:
        reject(
            op,
            f'equation = "{op.attr("equation")}" has {len(inputs)} terms for {len(kinds)} inputs; 1 or 2 fit',
        )
    sizes: dict[str, int] = {}
    for term, kind in zip(inputs, kinds, strict=True):
        if len(term) != kind.rank:
            reject(op, f'equation: the term "{term}" must have one label per dimension of {kind}')
        for label, size in zip(term, kind.shape, strict=True):
            merged = shapes.broadcast([sizes.get(label, 1)], [size])
            if merged is None:
                reject(op, f'equation: label "{label}" stands for both {sizes[label]} and {size} elements')
            sizes[label] = merged[0]
    if not set(result) <= set(sizes) or len(set(result)) != len(result):
        reject(op, f'equation: the labels of the result, "{result}", must be labels of the inputs, each once')
    return [shapes.tensor([sizes[label] for label in result], kinds[0].element_type)]


def _verify_einsum(op: Op) -> None:
    inputs, _ = _terms(op)
    for term in inputs:
        if len(set(term)) != len(term):
            reject(op, f'equation: the term "{term}" repeats a label; TensorRT takes no diagonals')
    kinds = {ir.RankedTensorType(value.type).element_type for value in op.group("inputs")}
    if len(kinds) > 1:
        reject(
            op, f"inputs are {', '.join(str(v.type) for v in op.group('inputs'))}; element types must be equal"
        )


OPS = (
    OpDef(
        "tensorrt.matrix_multiply",
        "Matrix product over the last two dimensions; the outer ones broadcast.",
        operands=(Operand("input0", FLOATS), Operand("input1", FLOATS)),
        attrs=(
            Attr("op0", "enum:matrix_operation", doc="How input0 is read."),
            Attr("op1", "enum:matrix_operation", doc="How input1 is read."),
        ),
        assembly=INS,
        infer=_infer_matrix_multiply,
        verify=_verify_matrix_multiply,
        layer="addMatrixMultiply",
        example=example(
            "%x: tensor<2x8xf32>, %w: tensor<16x8xf32>",
            "%0 = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>, "
            "op1 = #tensorrt.matrix_operation<kTRANSPOSE>} ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) "
            "-> tensor<2x16xf32>",
            "%0 : tensor<2x16xf32>",
        ),
    ),
    OpDef(
        "tensorrt.einsum",
        "Einstein summation.",
        operands=(Operand("inputs", FLOATS, variadic=True, doc="One or two."),),
        attrs=(Attr("equation", "str", doc="Lower-case labels, without an ellipsis."),),
        assembly=INS,
        infer=_infer_einsum,
        verify=_verify_einsum,
        layer="addEinsum",
        example=example(
            "%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>",
            '%0 = tensorrt.einsum {equation = "bij,bjk->bik"} ins(%x, %y : tensor<2x3x4xf32>, '
            "tensor<2x4x5xf32>) "
            "-> tensor<2x3x5xf32>",
            "%0 : tensor<2x3x5xf32>",
        ),
    ),
)
