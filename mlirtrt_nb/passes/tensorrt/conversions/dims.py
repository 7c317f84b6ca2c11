"""Which dynamic dimensions are the same: each is traced back to where it first appears."""

from __future__ import annotations

from collections.abc import MutableMapping

import numpy as np
from torch_mlir import ir

from ....dialects.onnx.families import BROADCASTING, SAME_SHAPE
from ....dialects.onnx.ops import constant_value, is_absent
from ....dialects.onnx.schemas import identity
from ....ir.builder import Op
from .shape_values import Dim, ShapeValues, producer

__all__ = ["Dims"]

# How far operands of broadcasting ops are followed at once; a longer way has another name for a dimension.
_DEEPEST = 100
_WINDOWED = frozenset(
    ["AveragePool", "Conv", "ConvTranspose", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "MaxPool"]
)


class Dims(ShapeValues):
    """Analysis of one function's onnx ops. Answers are kept, so the ops must not change meanwhile."""

    def __init__(self, weights: MutableMapping[str, np.ndarray], opset: int) -> None:
        super().__init__(weights)
        self._opset = opset
        self._origins: dict[tuple[ir.Value, int], int | Dim] = {}
        self._depth = 0

    def of(self, value: ir.Value) -> tuple[int | Dim, ...]:
        """The dimensions of `value`, each a number or traced to its origin."""
        return tuple(self.origin(value, axis) for axis in range(value.type.rank))  # type: ignore[attr-defined]

    def origin(self, value: ir.Value, axis: int) -> int | Dim:
        """The number, or the first tensor dimension that is known to equal dimension `axis` of `value`."""
        steps: list[tuple[ir.Value, int]] = []
        found: int | Dim
        while True:
            known = self._origins.get((value, axis))
            if known is not None:
                found = known
                break
            kind = value.type
            if not kind.is_dynamic_dim(axis):  # type: ignore[attr-defined]
                found = kind.get_dim_size(axis)  # type: ignore[attr-defined]
                break
            steps.append((value, axis))
            before = self._before(value, axis)
            if before is None:
                found = Dim(value, axis)
                break
            if isinstance(before, int):
                found = before
                break
            value, axis = before.value, before.axis
        for step in steps:
            self._origins[step] = found
        return found

    # Where a dimension comes from

    def _before(self, value: ir.Value, axis: int) -> int | Dim | None:
        """One step back: a dimension of an operand of the op that made `value`."""
        operation = producer(value)
        if operation is None:
            return None
        kind = identity(operation.name)[1]
        data = operation.operands[0] if len(operation.operands) else None
        if data is None or not isinstance(data.type, ir.RankedTensorType):
            return None
        if kind in SAME_SHAPE:
            return Dim(data, axis) if data.type.rank == value.type.rank else None  # type: ignore[attr-defined]
        if kind in BROADCASTING:
            return self._broadcast(list(operation.operands), value, axis)
        if kind in _WINDOWED:
            return Dim(data, 0) if axis == 0 else None
        handler = getattr(self, f"_before_{kind.lower()}", None)
        return handler(Op.of(operation), data, value, axis) if handler else None

    def _broadcast(self, operands: list[ir.Value], value: ir.Value, axis: int) -> int | Dim | None:
        if self._depth >= _DEEPEST:
            return None
        self._depth += 1
        try:
            return self._shared(operands, value, axis)
        finally:
            self._depth -= 1

    def _shared(self, operands: list[ir.Value], value: ir.Value, axis: int) -> int | Dim | None:
        rank = value.type.rank  # type: ignore[attr-defined]
        found: list[int | Dim] = []
        for operand in operands:
            if is_absent(operand) or not isinstance(operand.type, ir.RankedTensorType):
                return None
            own = axis - (rank - operand.type.rank)
            if own >= 0 and (operand.type.is_dynamic_dim(own) or operand.type.get_dim_size(own) != 1):
                found.append(self.origin(operand, own))
        return found[0] if found and all(entry == found[0] for entry in found) else None

    def _before_transpose(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim:
        order = op.attr("perm") or list(reversed(range(value.type.rank)))  # type: ignore[attr-defined]
        return Dim(data, order[axis])

    def _before_matmul(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> int | Dim | None:
        other = op.operation.operands[1] if op.operation else data
        left, right, rank = data.type.rank, other.type.rank, value.type.rank  # type: ignore[attr-defined]
        if left < 2 or right < 2:
            return None
        if axis == rank - 1:
            return Dim(other, right - 1)
        if axis == rank - 2:
            return Dim(data, left - 2)
        return self._broadcast([data, other], value, axis)

    def _before_gemm(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim:
        assert op.operation is not None
        if axis == 0:
            return Dim(data, 1 if op.attr("transA") else 0)
        return Dim(op.operation.operands[1], 0 if op.attr("transB") else 1)

    def _before_lstm(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim | None:
        """The steps and the batch, of all hidden states or of the last ones."""
        whole = value.type.rank == 4  # type: ignore[attr-defined]
        if op.attr("layout"):
            return Dim(data, axis) if axis < 1 + whole else None
        before = {0: 0, 2: 1} if whole else {1: 1}
        return Dim(data, before[axis]) if axis in before else None

    _before_gru = _before_rnn = _before_lstm

    def _before_concat(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim | None:
        rank = value.type.rank  # type: ignore[attr-defined]
        return None if axis == (op.attr("axis") or 0) % rank else Dim(data, axis)

    def _before_reshape(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> int | Dim | None:
        assert op.operation is not None
        target = self.elements(op.operation.operands[1]) if len(op.operation.operands) > 1 else None
        entry = target[axis] if target is not None and axis < len(target) else None
        if entry == 0 and not op.attr("allowzero"):
            return Dim(data, axis)
        return entry if isinstance(entry, Dim) else None

    def _before_unsqueeze(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim | None:
        axes = self._axes(op, value.type.rank)  # type: ignore[attr-defined]
        return None if axes is None else Dim(data, axis - sum(1 for a in axes if a < axis))

    def _before_squeeze(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim | None:
        rank = data.type.rank  # type: ignore[attr-defined]
        axes = self._axes(op, rank)
        if axes is None:
            return None
        kept = [n for n in range(rank) if n not in axes]
        return Dim(data, kept[axis])

    def _before_slice(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim | None:
        axes = self._axes(op, data.type.rank, 3)  # type: ignore[attr-defined]
        return Dim(data, axis) if axes is not None and axis not in axes else None

    def _before_gather(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim:
        assert op.operation is not None
        indices = op.operation.operands[1]
        at = (op.attr("axis") or 0) % data.type.rank  # type: ignore[attr-defined]
        width = indices.type.rank  # type: ignore[attr-defined]
        if axis < at:
            return Dim(data, axis)
        return Dim(indices, axis - at) if axis < at + width else Dim(data, axis - width + 1)

    def _before_split(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim | None:
        rank = value.type.rank  # type: ignore[attr-defined]
        return None if axis == (op.attr("axis") or 0) % rank else Dim(data, axis)

    def _axes(self, op: Op, rank: int, operand: int = 1) -> list[int] | None:
        axes = op.attr("axes")
        if axes is None and op.operation is not None and len(op.operation.operands) > operand:
            value = op.operation.operands[operand]
            array = None if is_absent(value) else constant_value(value, self._weights)
            axes = None if array is None else [int(v) for v in array.reshape(-1)]
        return None if axes is None else [a % rank for a in axes]
