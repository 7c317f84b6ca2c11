"""Parts of tensors: slice, split, concat."""

from __future__ import annotations

from torch_mlir import ir

from .emitter import Emitter
from .entries import Entry, add, entries_of, floor_divide, known, maximum, minimum, near, subtract
from .node import Node, Refused, converter, rank_of, shape_of
from .shape_values import Dim

__all__: list[str] = []

_END = 2**31 - 1


@converter("Concat")
def _concat(node: Node, emit: Emitter) -> ir.Value:
    axis = node.axis(node.attr("axis", 1))
    values = [value for value in node.inputs if value is not None]
    filled = [value for value in values if shape_of(value)[axis] != 0]  # empty ones bring nothing
    return emit.concat(filled or values[:1], axis)


@converter("Split")
def _split(node: Node, emit: Emitter) -> list[ir.Value | None]:
    x = node[0]
    axis = node.axis(node.attr("axis", 0))
    lengths = [node.declared(rank_of(x), n)[axis] for n in range(len(node.results))]
    if node.attr("split") is not None:
        lengths = list(node.attr("split"))
    elif node.opset >= 13 and node.input(1) is not None:
        lengths = list(node.ints(1, "split") or [])
    if None in lengths or len(lengths) < len(node.results):
        raise Refused("the lengths of the parts are dynamic")
    parts: list[ir.Value | None] = []
    start = 0
    for length in lengths:
        size: list[Entry] = list(emit.sizes(x))
        size[axis] = length or 0
        at = [0] * rank_of(x)
        at[axis] = start
        parts.append(emit.slice(x, at, size) if node.is_read(len(parts)) else None)
        start += length or 0
    return parts


@converter("Slice")
def _slice(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    rank = rank_of(x)
    starts, ends, axes, steps = _bounds(node, emit)
    given = node.declared(rank)
    start: list[Entry] = [0] * rank
    size: list[Entry] = list(emit.sizes(x))
    stride = [1] * rank
    for n, axis in enumerate(axes):
        stride[axis] = steps[n]
        bounds = (near(node, x, starts[n], axis), near(node, x, ends[n], axis))
        part = _forward if steps[n] > 0 else _backward
        start[axis], length = part(emit, size[axis], *bounds, abs(steps[n]))
        declared = given[axis]
        size[axis] = length if declared is None else declared
    fixed = known(start)
    return emit.slice(x, emit.vector(start) if fixed is None else fixed, size, stride)


def _bounds(node: Node, emit: Emitter) -> tuple[list[Entry], list[Entry], list[int], list[int]]:
    """Starts, ends, axes from the front, and steps."""
    if node.opset < 10:
        starts, ends = list(node.attr("starts")), list(node.attr("ends"))
        axes, steps = node.attr("axes"), None
    else:
        starts, ends = entries_of(node, emit, 1, "starts"), entries_of(node, emit, 2, "ends")
        axes, steps = node.ints(3, "axes"), node.ints(4, "steps")
    axes = list(range(len(starts))) if axes is None else [node.axis(a) for a in axes]
    return starts, ends, axes, [1] * len(starts) if steps is None else steps


def _forward(emit: Emitter, length: Entry, start: Entry, end: Entry, step: int) -> tuple[Entry, Entry]:
    """The first position and the number of elements, with ONNX's clamping."""
    first = _clamped(emit, length, start)
    last = length if isinstance(end, int) and end >= _END else _clamped(emit, length, end)
    distance = subtract(emit, last, first)
    count = floor_divide(emit, add(emit, distance, step - 1), step)
    bounded = (isinstance(first, int) and first == 0) or last is length
    return first, count if bounded else maximum(emit, count, 0)


def _clamped(emit: Emitter, length: Entry, position: Entry) -> Entry:
    """A position between 0 and the length; a negative one counts from the end."""
    if isinstance(position, int):
        if position >= 0:
            return minimum(emit, position, length) if position else 0
        return maximum(emit, add(emit, length, position), 0)
    if isinstance(position, Dim):
        return minimum(emit, position, length)
    return minimum(emit, maximum(emit, _from_front(emit, length, position), 0), length)


def _from_front(emit: Emitter, length: Entry, position: ir.Value) -> ir.Value:
    """A computed position, counted from the end where it is negative."""
    shifted = emit.binary("kSUM", position, emit.scalar(length))
    return emit.select(emit.with_number("kLESS", position, 0), shifted, position)


def _backward(emit: Emitter, length: Entry, start: Entry, end: Entry, step: int) -> tuple[Entry, Entry]:
    """From `start` down to the element after `end`, in steps of `step`; -1 stands before the first element."""
    top = subtract(emit, length, 1)
    first = (
        top if isinstance(start, int) and (start == -1 or start >= _END) else _below(emit, length, top, start)
    )
    last = -1 if isinstance(end, int) and end <= -_END else _below(emit, length, top, end)
    if first is top and isinstance(last, int) and last == -1 and step == 1:
        return first, length
    distance = subtract(emit, first, last)
    count = floor_divide(emit, add(emit, distance, step - 1), step)
    return first, maximum(emit, count, 0)


def _below(emit: Emitter, length: Entry, top: Entry, position: Entry) -> Entry:
    """A position between -1 and the last one."""
    if isinstance(position, int):
        if position >= 0:
            return minimum(emit, top, position)
        return maximum(emit, add(emit, length, position), -1)
    if isinstance(position, Dim):
        return minimum(emit, top, position)
    return minimum(emit, maximum(emit, _from_front(emit, length, position), -1), top)


@converter("ReverseSequence")
def _reverse_sequence(node: Node, emit: Emitter) -> ir.Value:
    attributes = {"batchAxis": node.attr("batch_axis", 1), "sequenceAxis": node.attr("time_axis", 0)}
    return emit.op("reverse_sequence", [node[0], node[1]], attributes, node[0].type)
