"""quantize, dequantize and dynamic_quantize."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from ....ir.builder import Op
from ..scope import Scope, element_type
from .dims import dims_of, rank_of, refuse
from .registry import emits

__all__ = ["dequantized_matrix"]

_UNHELD = {"f4E2M1FN", "f8E8M0FNU"}


@emits("quantize")
def quantize(op: Op, scope: Scope) -> None:
    result = op.operation.results[0]
    small = element_type(result)
    _check(small)
    x, scale = scope.tensor(op.operand("input")), _scale(op, scope)
    # In f32: ONNX Runtime fuses what surrounds a pair in f16 too, into kernels that take f32 only.
    zero = _zero(op, scope, small)
    inputs = [scope.cast(x, "f32"), scope.cast(scale, "f32"), zero]
    # The type is said once: ONNX Runtime turns i8 into u8 where that is faster, by the zero point alone.
    kind = dtypes.by_mlir(small).onnx if zero is None else None
    scope.set(result, scope.block("QuantizeLinear", inputs, [small], output_dtype=kind, **_granularity(op))[0])


@emits("dequantize")
def dequantize(op: Op, scope: Scope) -> None:
    value, result = op.operand("input"), op.operation.results[0]
    _check(element_type(value))
    if _is_shared_matrix(op, scope):
        return  # whoever reads it asks for a matrix
    zero = _zero(op, scope, element_type(value))
    inputs = [scope.tensor(value), scope.cast(_scale(op, scope), "f32"), zero]
    scope.set(result, scope.block("DequantizeLinear", inputs, ["f32"], **_granularity(op))[0])


@emits("dynamic_quantize")
def dynamic_quantize(op: Op, scope: Scope) -> None:
    """TensorRT's results are f4 with f8 scales, or f8 with exponents as scales."""
    for value in op.operation.results:
        _check(element_type(value))
    raise refuse("dynamic_quantize to these types has no ONNX form")


def _check(kind: str) -> None:
    if kind in _UNHELD:
        raise refuse(f"ONNX Runtime's CPU kernels do not hold {kind}")


def _scale(op: Op, scope: Scope) -> str:
    _check(element_type(op.operand("scale")))
    return scope.tensor(op.operand("scale"))


def _is_shared_matrix(op: Op, scope: Scope) -> bool:
    """Whether an op gives the weights of products only, the same for a whole batch: [1, K, N]."""
    constant = scope.constant(op.operand("input"))
    shape = () if constant is None else constant.array.shape
    if len(shape) < 3 or any(size != 1 for size in shape[:-2]):
        return False
    uses = list(op.operation.results[0].uses)
    return all(use.owner.name == "tensorrt.matrix_multiply" and use.operand_number == 1 for use in uses)


def dequantized_matrix(value: ir.Value, scope: Scope) -> str | None:
    """Quantized weights of products as the two-dimensional matrix that ONNX Runtime's kernels want; None for
    any other value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tensorrt.dequantize":
        return None
    op = Op.of(owner.operation)
    if not _is_shared_matrix(op, scope):
        return None
    constant, scale = (scope.constant(op.operand(name)) for name in ("input", "scale"))
    if constant is None or scale is None:
        raise refuse("weights in blocks whose scales are not constant have no ONNX form")
    matrix = constant.reshaped(constant.array.shape[-2:])
    lead = constant.array.ndim - 2
    attributes = _granularity(op)
    if attributes:
        attributes["axis"] = (attributes["axis"] or 0) - lead
    steps = scale.reshaped(scale.array.shape[lead:]) if scale.array.ndim > 2 else scale
    small = element_type(op.operand("input"))
    zero = scope.literal(np.zeros(steps.array.shape), "i8") if small == "i8" else None
    inputs = [scope.initializer(matrix), scope.cast(scope.initializer(steps), "f32"), zero]
    name = scope.block("DequantizeLinear", inputs, ["f32"], **attributes)[0]
    return scope.cast(name, element_type(value))


def _zero(op: Op, scope: Scope, small: str) -> str | None:
    """Zero points for i8. They change nothing; but where they are absent, ONNX Runtime's fusions take u8."""
    shape = dims_of(op.operand("scale"))
    return scope.literal(np.zeros(shape), "i8") if small == "i8" and -1 not in shape else None


def _granularity(op: Op) -> dict[str, int | None]:
    """Axis and block size: none for one scale, an axis for one per channel, both for blocks."""
    value, scale = op.operand("input"), op.operand("scale")
    if rank_of(scale) == 0:
        return {}
    if rank_of(scale) == 1 and (op.attr("axis") is not None or rank_of(value) == 1):
        return {"axis": op.attr("axis") or 0}
    dims, blocks = dims_of(value), dims_of(scale)
    blocked = [n for n, (size, count) in enumerate(zip(dims, blocks, strict=True)) if size != count]
    if not blocked:
        return {"axis": len(dims) - 1, "block_size": 1}
    if len(blocked) != 1 or -1 in (dims[blocked[0]], blocks[blocked[0]]):
        raise refuse("blocks along more than one dimension, or a dynamic one, have no ONNX form")
    axis = blocked[0]
    return {"axis": axis, "block_size": -(-dims[axis] // blocks[axis])}
