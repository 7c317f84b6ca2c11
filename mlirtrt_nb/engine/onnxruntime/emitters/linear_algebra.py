"""matrix_multiply and einsum, and the matrix product with a bias that ONNX has as one op."""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Scope
from .integer_kernels import integer_row
from .integer_weights import has_integer_weights, product_of_digits
from .quantization import dequantized_matrix
from .registry import emits

__all__ = ["fused_bias"]


@emits("matrix_multiply")
def matrix_multiply(op: Op, scope: Scope) -> None:
    if _bias_follows(op, scope):
        return
    first, second = op.operand("input0"), op.operand("input1")
    kinds = (op.attr("op0"), op.attr("op1"))
    result = op.operation.results[0]
    if has_integer_weights(second, scope):
        scope.set(result, product_of_digits(op, scope))
        return
    if _is_gemm(op, scope) and "kTRANSPOSE" in kinds:
        scope.set(result, _gemm(op, scope, None))
        return
    one = _operand(scope, scope.tensor(first), first, kinds[0], column=False)
    two, rank = _second(scope, second, kinds[1])
    two = _operand(scope, two, second, kinds[1], column=True, rank=rank)
    product = scope.op("MatMul", [one, two])
    dropped = [axis for axis, kind in ((-2, kinds[0]), (-1, kinds[1])) if kind == "kVECTOR"]
    if dropped:
        product = scope.op("Squeeze", [product, scope.literal(dropped)])
    scope.set(result, product)


def _second(scope: Scope, value: ir.Value, kind: str) -> tuple[str, int | None]:
    """The second operand and its rank. A constant matrix that is shared by a batch, quantized or not, is
    two-dimensional in ONNX: one product, not many."""
    if kind == "kVECTOR":
        return scope.tensor(value), None
    quantized = dequantized_matrix(value, scope)
    return (quantized, 2) if quantized is not None else (_matrix(scope, value), _matrix_rank(scope, value))


def _matrix_rank(scope: Scope, value: ir.Value) -> int:
    found = scope.constant(value)
    rank = ir.RankedTensorType(value.type).rank
    if found is None:
        return rank
    shape = found.array.shape
    while rank > 2 and shape[len(shape) - rank] == 1:
        rank -= 1
    return rank


def _matrix(scope: Scope, value: ir.Value) -> str:
    found = scope.constant(value)
    return (
        scope.tensor(value, found.array.shape[-_matrix_rank(scope, value) :]) if found else scope.tensor(value)
    )


def _operand(
    scope: Scope, name: str, value: ir.Value, kind: str, *, column: bool, rank: int | None = None
) -> str:
    """An operand as a (batch of) matrices: transposed, or a vector made a row or a column."""
    if kind == "kVECTOR":
        return scope.op("Unsqueeze", [name, scope.literal([-1 if column else -2])])
    if kind == "kTRANSPOSE":
        rank = ir.RankedTensorType(value.type).rank if rank is None else rank
        return scope.op("Transpose", [name], perm=[*range(rank - 2), rank - 1, rank - 2])
    return name


def _is_gemm(op: Op, scope: Scope) -> bool:
    if has_integer_weights(op.operation.operands[1], scope):
        return False
    kinds = {op.attr("op0"), op.attr("op1")}
    return "kVECTOR" not in kinds and op.type("input0").rank == 2 and op.type("input1").rank == 2


def _gemm(op: Op, scope: Scope, bias: str | None) -> str:
    turned: dict[str, Any] = {
        key: 1 for key, kind in (("transA", "op0"), ("transB", "op1")) if _turns(op, kind)
    }
    inputs = [scope.tensor(op.operand("input0")), scope.tensor(op.operand("input1")), bias]
    return scope.op("Gemm", inputs, **turned)


def _turns(op: Op, kind: str) -> bool:
    return op.attr(kind) == "kTRANSPOSE"


def _bias_follows(op: Op, scope: Scope) -> bool:
    """Whether the only use of a product is to have a constant row added, which then makes one Gemm."""
    uses = list(op.operation.results[0].uses)
    if len(uses) != 1 or not _is_gemm(op, scope) or uses[0].owner.name != "tensorrt.element_wise":
        return False
    return _product_and_bias(Op.of(uses[0].owner), scope) is not None


def _product_and_bias(sum_op: Op, scope: Scope) -> tuple[Op, ir.Value] | None:
    if sum_op.attr("elementwiseOperation") != "kSUM":
        return None
    first, second = sum_op.operand("input1"), sum_op.operand("input2")
    for product, bias in ((first, second), (second, first)):
        owner = product.owner if isinstance(product, ir.OpResult) else None
        if owner is None or owner.name != "tensorrt.matrix_multiply" or not _row(bias):
            continue
        together = owner.operation.parent == sum_op.operation.parent
        if together and len(list(owner.results[0].uses)) == 1 and _is_gemm(Op.of(owner), scope):
            return Op.of(owner), bias
    return None


def _row(bias: ir.Value) -> bool:
    """Whether a value is a constant of shape [1, n]."""
    owner = bias.owner if isinstance(bias, ir.OpResult) else None
    if owner is None or owner.name != "tensorrt.constant":
        return False
    kind = ir.RankedTensorType(bias.type)
    return kind.rank == 2 and kind.get_dim_size(0) == 1


def fused_bias(sum_op: Op, scope: Scope) -> bool:
    """Emit a sum and the product that waits for it as one Gemm, if that is what they are."""
    found = _product_and_bias(sum_op, scope)
    if found is None:
        return False
    product, bias = found
    # ONNX Runtime multiplies integers only if the bias is one as well.
    row = integer_row(product, bias, scope)
    if row is None:
        row = scope.tensor(bias, [ir.RankedTensorType(bias.type).get_dim_size(1)])
    scope.set(sum_op.operation.results[0], _gemm(product, scope, row))
    return True


@emits("einsum")
def einsum(op: Op, scope: Scope) -> None:
    inputs = [scope.tensor(value) for value in op.group("inputs")]
    equation = op.attr("equation").replace(" ", "")
    scope.set(op.operation.results[0], scope.op("Einsum", inputs, equation=equation))
