"""Bounds of the results of ops that take a length as a number: Slice, TopK, Split, Tile and Range.

Whatever the number is, a slice is no longer than the axis that is cut; a repetition or a range has bounds where
the number has.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf

from onnx import NodeProto

from .value_bounds import Bounds, ValueBounds

__all__ = ["LENGTHS", "along"]

Dims = tuple[int, ...]
Shape = Callable[[str], Dims | None]
# (least, largest) shape of an output.
Range = tuple[Dims, Dims]


def along(x: Dims, axis: int, least: int, most: int) -> Range:
    """The shape `x` with a length from `least` to `most` along an axis."""
    at = axis % len(x)
    return (*x[:at], least, *x[at + 1 :]), (*x[:at], most, *x[at + 1 :])


def _attribute(node: NodeProto, name: str, default: int) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), default)


def _within(bounds: Bounds, size: int) -> tuple[int, int]:
    """What a length may be that is at least 0 and at most `size`."""
    return int(min(max(bounds[0], 0), size)), int(min(max(bounds[1], 0), size))


def _slice(node: NodeProto, shape: Shape, values: ValueBounds) -> list[Range] | None:
    x = shape(node.input[0])
    starts, ends, axes, steps = [*node.input, "", "", "", ""][1:5]
    count = shape(starts)
    if x is None or not count:
        return None
    which = list(range(count[0])) if not axes else values.constant(axes)
    stride = [1] * count[0] if not steps else values.constant(steps)
    if which is None or stride is None:
        return None
    least, most = list(x), list(x)
    first, last = values.elements(starts, count[0]), values.elements(ends, count[0])
    for axis, step, begin, end in zip(which, stride, first, last, strict=True):
        at = int(axis) % len(x)
        least[at], most[at] = _cut(x[at], int(step), begin, end)
    return [(tuple(least), tuple(most))]


def _cut(size: int, step: int, begin: Bounds, end: Bounds) -> tuple[int, int]:
    """How many elements a slice takes of an axis."""
    if step < 0:
        return 0, ceil(size / -step)
    from_, to = _position(begin, size), _position(end, size)
    return max(0, ceil((to[0] - from_[1]) / step)), max(0, ceil((to[1] - from_[0]) / step))


def _position(bounds: Bounds, size: int) -> tuple[int, int]:
    """Where on an axis an index may lie, which counts from the end if it is negative."""
    low, high = bounds
    if high < 0:
        return _within((low + size, high + size), size)
    return _within(bounds, size) if low >= 0 else (0, size)


def _top_k(node: NodeProto, shape: Shape, values: ValueBounds) -> list[Range] | None:
    x = shape(node.input[0])
    if not x:
        return None
    axis = _attribute(node, "axis", -1)
    return [along(x, axis, *_within(values.of(node.input[1]), x[axis]))] * 2


def _split(node: NodeProto, shape: Shape, values: ValueBounds) -> list[Range] | None:
    x = shape(node.input[0])
    if not x or len(node.input) < 2:
        return None
    axis = _attribute(node, "axis", 0)
    return [
        along(x, axis, *_within(bounds, x[axis])) for bounds in values.elements(node.input[1], len(node.output))
    ]


def _tile(node: NodeProto, shape: Shape, values: ValueBounds) -> list[Range] | None:
    x = shape(node.input[0])
    if x is None:
        return None
    times = values.elements(node.input[1], len(x))
    if any(high == inf for _, high in times):
        return None
    least = tuple(size * int(max(low, 0)) for size, (low, _) in zip(x, times, strict=True))
    return [(least, tuple(size * int(max(high, 0)) for size, (_, high) in zip(x, times, strict=True)))]


def _range(node: NodeProto, shape: Shape, values: ValueBounds) -> list[Range] | None:
    start, limit, delta = (values.of(name) for name in node.input)
    step = delta[0]
    if step != delta[1] or not step:
        return None
    ends = [(limit[a] - start[1 - a]) / step for a in ((0, 1) if step > 0 else (1, 0))]
    if ends[1] == inf:
        return None
    least, most = (ceil(max(end, 0)) for end in ends)
    return [((least,), (most,))]


# By op: the (least, largest) shape of each output; None where the number has no bounds.
LENGTHS: dict[str, Callable[[NodeProto, Shape, ValueBounds], list[Range] | None]] = {
    "Range": _range,
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
    "TopK": _top_k,
}
