"""What shape values hold: numbers and dimensions, read off the ops that compute them.

ONNX computes shapes with ordinary ops (Shape, Gather, Concat). Reading those chains backwards tells what
a reshape means without any computation at run time.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from ....dialects.onnx.ops import constant_value, is_absent
from ....dialects.onnx.schemas import identity
from ....ir.builder import Op

__all__ = ["Dim", "Element", "ShapeValues", "producer"]


@dataclass(frozen=True)
class Dim:
    """The length of dimension `axis` of `value`, not known before run time."""

    value: ir.Value
    axis: int


# One element of a shape value; None where it is neither a number nor a dimension.
Element = int | Dim | None

# What may lie between a shape and a layer's shape input.
_ON_HOST_OPS = (
    "Abs Add Cast Ceil Concat Div Equal Expand Floor Gather Greater Identity Less Max Min Mod Mul Neg Not "
    "ReduceMax ReduceMin ReduceProd ReduceSum Reshape Slice Squeeze Sub Unsqueeze Where"
)
_ON_HOST = frozenset(_ON_HOST_OPS.split())
# Longer constants are no shapes.
_MOST = 64


class ShapeValues:
    """Reads integer tensors of rank 0 and 1. A subclass knows the dimensions of tensors."""

    def __init__(self, weights: MutableMapping[str, np.ndarray]) -> None:
        self._weights = weights
        self._elements: dict[ir.Value, tuple[Element, ...] | None] = {}
        self._computed: dict[ir.Value, bool] = {}

    def of(self, value: ir.Value) -> tuple[int | Dim, ...]:
        """The dimensions of `value`, each a number or a `Dim`."""
        dims = value.type
        return tuple(
            Dim(value, n) if dims.is_dynamic_dim(n) else dims.get_dim_size(n)  # type: ignore[attr-defined]
            for n in range(dims.rank)  # type: ignore[attr-defined]
        )

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
        operation = producer(value)
        if operation is None:
            return False
        kind = identity(operation.name)[1]
        if kind in ("Shape", "Size"):
            return True
        return kind in _ON_HOST and all(self.is_shape(operand) for operand in operation.operands)

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
        operation = producer(value)
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
                kind = operand.type
                if not isinstance(kind, ir.RankedTensorType) or kind.is_dynamic_dim(0):
                    return None
                part = (None,) * kind.get_dim_size(0)
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


def _fold(name: str, a: Element, b: Element) -> Element:
    """An arithmetic op on two elements; a dimension only survives a neutral number."""
    if isinstance(a, int) and isinstance(b, int):
        if name == "onnx.div":
            return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else None  # towards zero
        return {"onnx.add": a + b, "onnx.sub": a - b, "onnx.mul": a * b}[name]
    neutral = 1 if name in ("onnx.mul", "onnx.div") else 0
    if b == neutral:
        return a
    return b if a == neutral and name in ("onnx.mul", "onnx.add") else None


def producer(value: ir.Value) -> ir.Operation | None:
    """The onnx op that computes `value`; None for arguments, constants and ops of other kinds."""
    owner = value.owner
    if not isinstance(owner, ir.OpView | ir.Operation):
        return None
    operation = owner.operation
    if not operation.name.startswith("onnx.") or operation.name in _OWN:
        return None
    return operation


_OWN = frozenset({"onnx.constant", "onnx.novalue", "onnx.custom", "onnx.yield"})
