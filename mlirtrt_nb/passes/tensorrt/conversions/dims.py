"""What is known of dynamic dimensions: which ones are the same, and which values are made of them.

ONNX computes shapes with ordinary ops (Shape, Gather, Concat). Reading those chains backwards tells what
a reshape means without any computation at run time: `elements` gives a shape value as numbers and
dimensions, `origin` traces a dimension to where it first appears.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from ....dialects.onnx.families import BROADCASTING, SAME_SHAPE
from ....dialects.onnx.ops import constant_value, is_absent
from ....dialects.onnx.schemas import identity
from ....ir.builder import Op

__all__ = ["Dim", "Dims", "Element"]


@dataclass(frozen=True)
class Dim:
    """The length of dimension `axis` of `value`, not known before run time."""

    value: ir.Value
    axis: int


# One element of a shape value; None where it is neither a number nor a dimension.
Element = int | Dim | None

# What may lie between a shape and a layer's shape input.
_ON_HOST = frozenset(
    [
        "Abs",
        "Add",
        "Cast",
        "Ceil",
        "Concat",
        "Div",
        "Equal",
        "Expand",
        "Floor",
        "Gather",
        "Greater",
        "Identity",
        "Less",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "Not",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "Reshape",
        "Slice",
        "Squeeze",
        "Sub",
        "Unsqueeze",
        "Where",
    ]
)
_WINDOWED = frozenset(
    ["AveragePool", "Conv", "ConvTranspose", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "MaxPool"]
)


class Dims:
    """Analysis of one function's onnx ops. Answers are kept, so the ops must not change meanwhile."""

    def __init__(self, weights: MutableMapping[str, np.ndarray], opset: int) -> None:
        self._weights = weights
        self._opset = opset
        self._elements: dict[ir.Value, tuple[Element, ...] | None] = {}
        self._computed: dict[ir.Value, bool] = {}
        self._origins: dict[tuple[ir.Value, int], int | Dim] = {}

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

    def elements(self, value: ir.Value) -> tuple[Element, ...] | None:
        """What an integer tensor of rank 0 or 1 holds; None if nothing is known of it."""
        if value not in self._elements:
            self._elements[value] = None  # an op that reads itself cannot be; this also ends cycles
            self._elements[value] = self._read(value)
        return self._elements[value]

    def is_shape(self, value: ir.Value) -> bool:
        """Whether `value` is computed from shapes and constants only, so that the host can work it out."""
        found = self._computed.get(value)
        if found is None:
            self._computed[value] = False
            found = self._computed[value] = self._is_shape(value)
        return found

    def _is_shape(self, value: ir.Value) -> bool:
        if is_absent(value) or constant_value(value, self._weights) is not None:
            return True
        operation = _producer(value)
        if operation is None:
            return False
        kind = identity(operation.name)[1]
        if kind in ("Shape", "Size"):
            return True
        return kind in _ON_HOST and all(self.is_shape(operand) for operand in operation.operands)

    # Where a dimension comes from

    def _before(self, value: ir.Value, axis: int) -> int | Dim | None:
        """One step back: a dimension of an operand of the op that made `value`."""
        operation = _producer(value)
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
        return self._broadcast_outer(data, other, rank, axis)

    def _broadcast_outer(self, a: ir.Value, b: ir.Value, rank: int, axis: int) -> int | Dim | None:
        found = []
        for operand in (a, b):
            own = axis - (rank - operand.type.rank)  # type: ignore[attr-defined]
            if own >= 0:
                entry = self.origin(operand, own)
                if entry != 1:
                    found.append(entry)
        return found[0] if found and all(entry == found[0] for entry in found) else None

    def _before_gemm(self, op: Op, data: ir.Value, value: ir.Value, axis: int) -> Dim:
        assert op.operation is not None
        if axis == 0:
            return Dim(data, 1 if op.attr("transA") else 0)
        return Dim(op.operation.operands[1], 0 if op.attr("transB") else 1)

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

    # What a shape value holds

    def _read(self, value: ir.Value) -> tuple[Element, ...] | None:
        kind = value.type
        if (
            not isinstance(kind, ir.RankedTensorType)
            or kind.rank > 1
            or str(kind.element_type) not in ("i64", "i32")
        ):
            return None
        array = constant_value(value, self._weights)
        if array is not None:
            return tuple(int(v) for v in array.reshape(-1)) if array.size <= _MOST else None
        operation = _producer(value)
        if operation is None:
            return None
        handler = getattr(self, f"_read_{identity(operation.name)[1].lower()}", None)
        return handler(Op.of(operation), list(operation.operands)) if handler else None

    def _read_shape(self, op: Op, operands: list[ir.Value]) -> tuple[Element, ...] | None:
        if not isinstance(operands[0].type, ir.RankedTensorType):
            return None
        dims = self.of(operands[0])
        end = op.attr("end")
        return dims[slice(op.attr("start") or 0, None if end is None else end)]

    def _read_size(self, op: Op, operands: list[ir.Value]) -> tuple[Element, ...] | None:
        if not isinstance(operands[0].type, ir.RankedTensorType):
            return None
        dims = self.of(operands[0])
        numbers = [entry for entry in dims if isinstance(entry, int)]
        rest = [entry for entry in dims if isinstance(entry, Dim)]
        volume = int(np.prod(numbers, dtype=np.int64))
        if not rest:
            return (volume,)
        return (rest[0],) if len(rest) == 1 and volume == 1 else None

    def _read_same(self, op: Op, operands: list[ir.Value]) -> tuple[Element, ...] | None:
        return self.elements(operands[0])

    _read_identity = _read_cast = _read_unsqueeze = _read_squeeze = _read_same

    def _read_reshape(self, op: Op, operands: list[ir.Value]) -> tuple[Element, ...] | None:
        return self.elements(operands[0])

    def _read_concat(self, op: Op, operands: list[ir.Value]) -> tuple[Element, ...] | None:
        found: list[Element] = []
        for operand in operands:
            part = self.elements(operand)
            if part is None:
                length = None if operand.type.is_dynamic_dim(0) else operand.type.get_dim_size(0)  # type: ignore[attr-defined]
                if length is None:
                    return None
                part = (None,) * length
            found += part
        return tuple(found)

    def _read_gather(self, op: Op, operands: list[ir.Value]) -> tuple[Element, ...] | None:
        data, indices = self.elements(operands[0]), self.elements(operands[1])
        if data is None or indices is None:
            return None
        numbers = [n for n in indices if isinstance(n, int) and -len(data) <= n < len(data)]
        return tuple(data[n] for n in numbers) if len(numbers) == len(indices) else None

    def _read_slice(self, op: Op, operands: list[ir.Value]) -> tuple[Element, ...] | None:
        data = self.elements(operands[0])
        if data is None:
            return None
        if op.attr("starts") is not None:
            bounds = [list(op.attr("starts")), list(op.attr("ends")), [1]]
        else:
            given = [self.elements(v) if not is_absent(v) else (1,) for v in (*operands[1:3], *operands[4:5])]
            bounds = [[n for n in part or () if isinstance(n, int)] for part in given]
            bounds += [[1]] * (3 - len(bounds))
        if any(len(part) != 1 for part in bounds):
            return None
        (start,), (end,), (step,) = bounds
        if not -len(data) <= start < len(data):
            return None
        return data[start : end if abs(end) <= len(data) else None : step]

    def _read_arithmetic(self, op: Op, operands: list[ir.Value]) -> tuple[Element, ...] | None:
        a, b = self.elements(operands[0]), self.elements(operands[1])
        if a is None or b is None:
            return None
        length = max(len(a), len(b))
        if {len(a), len(b)} - {1, length}:
            return None
        a, b = a * (length // len(a)), b * (length // len(b))
        return tuple(_fold(op.name, x, y) for x, y in zip(a, b, strict=True))

    _read_add = _read_sub = _read_mul = _read_div = _read_arithmetic


_MOST = 64


def _fold(name: str, a: Element, b: Element) -> Element:
    """An arithmetic op on two elements; a dimension only survives a neutral number."""
    if isinstance(a, int) and isinstance(b, int):
        if name == "onnx.div":
            return int(a / b) if b else None
        return {"onnx.add": a + b, "onnx.sub": a - b, "onnx.mul": a * b}[name]
    neutral = 1 if name in ("onnx.mul", "onnx.div") else 0
    if b == neutral:
        return a
    return b if a == neutral and name in ("onnx.mul", "onnx.add") else None


def _producer(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    if not isinstance(owner, ir.OpView | ir.Operation):
        return None
    operation = owner.operation
    if not operation.name.startswith("onnx.") or operation.name in _OWN:
        return None
    return operation


_OWN = frozenset({"onnx.constant", "onnx.novalue", "onnx.custom", "onnx.yield"})
