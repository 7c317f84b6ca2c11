"""quantize, dequantize and dynamic_quantize."""

from __future__ import annotations

import numpy as np

from ....ir import dtypes
from ....ir.builder import Op
from ..scope import Scope, element_type
from .dims import dims_of, rank_of, refuse
from .registry import emits

__all__: list[str] = []

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
