"""Builds tensorrt ops for the onnx op at hand: one method per kind of op, with shapes worked out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch_mlir import ir

from .node import Refused, constant_attribute, element, rank_of, shape_of
from .shape_values import Dim
from .values import Shape, Values

__all__ = ["Emitter", "Shape", "broadcast"]

_COMPARISONS = frozenset({"kEQUAL", "kGREATER", "kLESS"})
_PREDICATES = frozenset({"kISNAN", "kISINF"})


class Emitter(Values):
    """Makes ops before the onnx op that `begin` was given."""

    # Element by element

    def unary(self, kind: str, x: ir.Value) -> ir.Value:
        """A unary op; of type i1 where it asks something of each element."""
        result = self.type(shape_of(x), "i1") if kind in _PREDICATES else x.type
        return self.op("unary", [x], {"unaryOperation": kind}, result)

    def activation(
        self, kind: str, x: ir.Value, alpha: float | None = None, beta: float | None = None
    ) -> ir.Value:
        """An activation, with those of its two parameters that it has."""
        return self.op("activation", [x], {"activationType": kind, "alpha": alpha, "beta": beta}, x.type)

    def binary(self, kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """An element_wise op; operands of lower rank get leading unit dimensions, as ONNX has it."""
        a, b = self.aligned(a, b)
        dims = broadcast(shape_of(a), shape_of(b))
        result = self.type(dims, "i1" if kind in _COMPARISONS else element(a))
        return self.op("element_wise", [a, b], {"elementwiseOperation": kind}, result)

    def with_number(self, kind: str, x: ir.Value, number: float) -> ir.Value:
        """An element_wise op of `x` and one number of its element type."""
        return self.binary(kind, x, self.filled(number, element(x), (1,) * rank_of(x)))

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a` where `condition` holds, else `b`."""
        condition, a, b = self.aligned(condition, a, b)
        dims = broadcast(broadcast(shape_of(condition), shape_of(a)), shape_of(b))
        return self.op("select", [condition, a, b], None, self.type(dims, element(a)))

    def cast(self, x: ir.Value, kind: str) -> ir.Value:
        """`x` with element type `kind`; `x` itself if it has that."""
        return x if element(x) == kind else self.op("cast", [x], None, self.type(shape_of(x), kind))

    def aligned(self, *values: ir.Value) -> list[ir.Value]:
        """The values with leading unit dimensions, so that all have the highest rank among them."""
        rank = max(rank_of(value) for value in values)
        return [self.expanded(value, rank) for value in values]

    def expanded(self, value: ir.Value, rank: int) -> ir.Value:
        """`value` with leading unit dimensions up to `rank`."""
        missing = rank - rank_of(value)
        return self.unsqueeze(value, list(range(missing))) if missing > 0 else value

    # Reductions

    def reduce(self, kind: str, x: ir.Value, axes: Sequence[int], keep: bool = True) -> ir.Value:
        """A reduction over `axes`, which count from the front; `x` itself over none."""
        if not axes:
            return x
        drop = set(axes)
        dims = [1 if n in drop else d for n, d in enumerate(shape_of(x)) if keep or n not in drop]
        attributes = {"reduceAxes": sorted(drop), "keepDimensions": keep, "reduceOperation": kind}
        return self.op("reduce", [x], attributes, self.type(dims, element(x)))

    def softmax(self, x: ir.Value, axis: int) -> ir.Value:
        """The softmax along `axis`, which counts from the front."""
        if rank_of(x) == 1:  # the layer takes two dimensions or more
            return self.squeeze(self.softmax(self.unsqueeze(x, [0]), 1), [0])
        return self.op("softmax", [x], {"axis": axis}, x.type)

    # Shape

    def unsqueeze(self, x: ir.Value, axes: Sequence[int]) -> ir.Value:
        """`x` with unit dimensions at `axes` of the result, which count from the front."""
        if not axes:
            return x
        dims = list(shape_of(x))
        for axis in sorted(axes):
            dims.insert(axis, 1)
        return self._regrouped("expand_rank", x, dims)

    def squeeze(self, x: ir.Value, axes: Sequence[int]) -> ir.Value:
        """`x` without `axes`, which count from the front."""
        if not axes:
            return x
        dims = [d for n, d in enumerate(shape_of(x)) if n not in set(axes)]
        if any(shape_of(x)[axis] is None for axis in axes):
            return self.op("squeeze", [x], {"axes": sorted(axes)}, self.type(dims, element(x)))
        return self._regrouped("collapse_rank", x, dims)

    def _regrouped(self, name: str, x: ir.Value, dims: list[int | None]) -> ir.Value:
        """Only unit dimensions come or go: a constant is renamed, other values get an op."""
        if constant_attribute(x) is not None and x not in self._converted:
            return self._constant_of(x, tuple(d for d in dims if d is not None))
        array = self.array(x)
        if array is not None:
            return self.constant(array.reshape([d for d in dims if d is not None]))
        return self.op(name, [x], None, self.type(dims, element(x)))

    def transpose(self, x: ir.Value, order: Sequence[int]) -> ir.Value:
        """`x` with dimension `order[i]` at place i."""
        if list(order) == list(range(rank_of(x))):
            return x
        dims = shape_of(x)
        attributes = {"first_transpose": list(order), "second_transpose": list(range(len(order)))}
        return self.op("shuffle", [x], attributes, self.type([dims[n] for n in order], element(x)))

    def reshape(
        self, x: ir.Value, target: Sequence[int | Dim | ir.Value], order: Sequence[int] | None = None
    ) -> ir.Value:
        """`x` with the dimensions `target` (numbers, dimensions, or computed values), then permuted by `order`.

        Needs no computation at run time if at most one dimension is neither a number nor in its old place.
        """
        order = list(range(len(target))) if order is None else list(order)
        dims: list[int | None] = [d if isinstance(d, int) else None for d in target]
        result = self.type([dims[n] for n in order], element(x))
        static = static_reshape(rank_of(x), target, lambda dim, axis: self.same(dim, x, axis))
        attributes: dict[str, Any] = {
            "first_transpose": list(range(rank_of(x))),
            "second_transpose": order,
        }
        if static is not None:
            attributes["reshape"] = static
            attributes["zero_is_placeholder"] = 0 not in dims
            return self.op("shuffle", [x], attributes, result)
        attributes["zero_is_placeholder"] = False
        return self.op("shuffle", [x, self.vector(target)], attributes, result)

    def same(self, dim: Dim, value: ir.Value, axis: int) -> bool:
        """Whether `dim` is dimension `axis` of `value`."""
        return dim.axis == axis and self.value(dim.value) == self.value(value)

    def concat(self, values: Sequence[ir.Value], axis: int) -> ir.Value:
        """The values joined along `axis`, which counts from the front."""
        if len(values) == 1:
            return values[0]
        shapes = [shape_of(value) for value in values]
        along = [shape[axis] for shape in shapes]
        dims = [next((s[n] for s in shapes if s[n] is not None), None) for n in range(len(shapes[0]))]
        dims[axis] = None if None in along else sum(d for d in along if d is not None)
        return self.op("concatenation", [list(values)], {"axis": axis}, self.type(dims, element(values[0])))

    def slice(
        self,
        x: ir.Value,
        start: Sequence[int] | ir.Value,
        size: Sequence[int | Dim | ir.Value],
        stride: Sequence[int] | None = None,
        mode: str = "kDEFAULT",
        fill: ir.Value | None = None,
    ) -> ir.Value:
        """A part of `x`; `mode` says what stands outside of it."""
        dims: list[int | None] = [d if isinstance(d, int) else None for d in size]
        stride = [1] * len(dims) if stride is None else list(stride)
        fixed = None not in dims
        moving = isinstance(start, ir.Value)
        attributes = {
            "static_start": None if moving else list(start),  # type: ignore[arg-type]
            "static_size": dims if fixed else None,
            "static_stride": stride,
            "mode": mode,
        }
        operands = [x, fill, start if moving else None, None if fixed else self.vector(size)]
        return self.op("slice", operands, attributes, self.type(dims, element(x)))  # type: ignore[arg-type]

    # Shapes as values

    def shape(self, x: ir.Value) -> ir.Value:
        """The shape of `x` as an i64 vector."""
        x = self.value(x)
        found = self._shapes.get(x)
        if found is None:
            found = self.op("shape", [x], None, self.type([rank_of(x)], "i64"))
            self._keep(self._shapes, x, found)
        return found

    def dim(self, x: ir.Value, axis: int) -> ir.Value:
        """One dimension of `x` as an i64 vector of one."""
        if rank_of(x) == 1:
            return self.shape(x)
        return self.slice(self.shape(x), [axis], [1])

    def vector(self, elements: Sequence[int | Dim | ir.Value]) -> ir.Value:
        """An i64 vector of numbers, dimensions, and computed vectors of one."""
        whole = self._whole_shape(elements)
        if whole is not None:
            return whole
        parts: list[ir.Value] = []
        numbers: list[int] = []
        for entry in elements:
            if isinstance(entry, int):
                numbers.append(entry)
                continue
            if numbers:
                parts.append(self.constant(np.array(numbers, np.int64)))
                numbers = []
            parts.append(self.dim(entry.value, entry.axis) if isinstance(entry, Dim) else entry)
        if numbers or not parts:
            parts.append(self.constant(np.array(numbers, np.int64)))
        return self.concat(parts, 0)

    def _whole_shape(self, elements: Sequence[int | Dim | ir.Value]) -> ir.Value | None:
        """The shape of one tensor, where the elements are just that."""
        first = next((entry for entry in elements if isinstance(entry, Dim)), None)
        if first is None or rank_of(first.value) != len(elements):
            return None
        dims = shape_of(first.value)
        for axis, entry in enumerate(elements):
            if isinstance(entry, Dim):
                if entry.value != first.value or entry.axis != axis:
                    return None
            elif dims[axis] is None or entry != dims[axis]:
                return None
        return self.shape(first.value)

    def sizes(self, x: ir.Value) -> list[int | Dim]:
        """The dimensions of `x`: numbers, and `Dim`s where dynamic."""
        return [Dim(x, n) if d is None else d for n, d in enumerate(shape_of(x))]

    def scalar(self, entry: int | Dim | ir.Value) -> ir.Value:
        """An element of a shape as an i64 vector of one."""
        return self.vector([entry])

    def positions(self, count: int | Dim, axis: int, rank: int) -> ir.Value:
        """0, 1, 2, ... as i64 along one axis of `rank`."""
        if isinstance(count, int):
            shape = [1] * rank
            shape[axis] = count
            return self.constant(np.arange(count, dtype=np.int64).reshape(shape), "positions")
        steps = {"static_start": 0.0, "static_step": 1.0}
        line = self.op("linspace", [self.scalar(count), None, None], steps, self.type([None], "i64"))
        return self.unsqueeze(line, [n for n in range(rank) if n != axis])


def broadcast(a: Shape, b: Shape) -> list[int | None]:
    """The dimensions of two shapes of one rank together. Refuses if they cannot be."""
    dims: list[int | None] = []
    for x, y in zip(a, b, strict=True):
        if x == 1:
            dims.append(y)
        elif y == 1 or x == y:
            dims.append(x)
        elif x is None or y is None:
            dims.append(y if x is None else x)
        else:
            raise Refused(f"dimensions {x} and {y} do not broadcast")
    return dims


def static_reshape(
    rank: int, target: Sequence[int | Dim | ir.Value], kept: Callable[[Dim, int], bool]
) -> list[int] | None:
    """`target` as numbers, with 0 for a dimension kept in its place and -1 for one to be worked out.

    `kept(dim, axis)` says whether `dim` is dimension `axis` of the tensor, of rank `rank`, that is reshaped.
    None if the layer could not work it out: more than one open dimension, or a length of 0 among the rest.
    """
    found: list[int] = []
    for axis, entry in enumerate(target):
        if isinstance(entry, int):
            found.append(entry)
        else:
            found.append(0 if isinstance(entry, Dim) and axis < rank and kept(entry, axis) else -1)
    moving = any(not isinstance(entry, int) for entry in target)
    if found.count(-1) > 1 or (moving and 0 in [entry for entry in target if isinstance(entry, int)]):
        return None
    return found
