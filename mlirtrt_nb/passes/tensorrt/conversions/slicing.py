"""Parts of tensors: slice, split, concat."""

from __future__ import annotations

from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, rank_of
from .shape_values import Dim

__all__: list[str] = []

_END = 2**31 - 1


@converter("Concat")
def _concat(node: Node, emit: Emitter) -> ir.Value:
    values = [value for value in node.inputs if value is not None]
    return emit.concat(values, node.axis(node.attr("axis", 1)))


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
        size: list[int | Dim | ir.Value] = list(emit.sizes(x))
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
    starts, ends, axes, steps = _bounds(node)
    dims = emit.sizes(x)
    given = node.declared(rank)
    start: list[int | Dim | ir.Value] = [0] * rank
    size: list[int | Dim | ir.Value] = list(dims)
    stride = [1] * rank
    for n, axis in enumerate(axes):
        stride[axis] = steps[n]
        first, length = _part(emit, dims[axis], starts[n], ends[n], steps[n])
        known = given[axis]
        start[axis], size[axis] = first, length if known is None else known
    if all(isinstance(entry, int) for entry in start):
        return emit.slice(x, [entry for entry in start if isinstance(entry, int)], size, stride)
    return emit.slice(x, emit.vector(start), size, stride)


def _bounds(node: Node) -> tuple[list[int], list[int], list[int], list[int]]:
    if node.opset < 10:
        starts, ends = list(node.attr("starts")), list(node.attr("ends"))
        axes = node.attr("axes")
        steps = None
    else:
        starts, ends = node.ints(1, "starts") or [], node.ints(2, "ends") or []
        axes = node.ints(3, "axes")
        steps = node.ints(4, "steps")
    axes = list(range(len(starts))) if axes is None else [node.axis(a) for a in axes]
    return starts, ends, axes, [1] * len(starts) if steps is None else steps


def _part(
    emit: Emitter, dim: int | Dim, start: int, end: int, step: int
) -> tuple[int | Dim | ir.Value, int | ir.Value | Dim]:
    """The start and the number of elements of one axis, with ONNX's clamping."""
    if isinstance(dim, int):
        first, last, _ = slice(start, end if end >= -_END else None, step).indices(dim)
        count = len(range(first, last, step))
        return (first if count else 0), count
    if step < 0:
        return _backward_part(emit, dim, start, end, -step)
    return _forward_part(emit, dim, start, end, step)


def _forward_part(
    emit: Emitter, dim: Dim, start: int, end: int, step: int
) -> tuple[int | Dim | ir.Value, ir.Value | Dim]:
    if start == 0 and end >= _END and step == 1:
        return 0, dim
    length = emit.scalar(dim)
    first: int | ir.Value = 0
    if start > 0:
        first = emit.with_number("kMIN", length, start)
    elif start < 0:
        first = emit.with_number("kMAX", emit.with_number("kSUM", length, start), 0)
    last: ir.Value = length
    if end < 0:
        last = emit.with_number("kMAX", emit.with_number("kSUM", length, end), 0)
    elif end < _END:
        last = emit.with_number("kMIN", length, end)
    count = last if isinstance(first, int) else emit.binary("kSUB", last, first)
    if step > 1:
        count = emit.with_number("kFLOOR_DIV", emit.with_number("kSUM", count, step - 1), step)
    if not isinstance(first, int) and not (end >= _END):
        count = emit.with_number("kMAX", count, 0)
    return first, count


def _backward_part(emit: Emitter, dim: Dim, start: int, end: int, step: int) -> tuple[ir.Value, ir.Value | Dim]:
    """From `start` down to the element after `end`, in steps of `step`; -1 stands before the first element."""
    length = emit.scalar(dim)
    top = emit.with_number("kSUB", length, 1)
    first = top
    if 0 <= start < _END:
        first = emit.with_number("kMIN", top, start)
    elif start < -1:
        first = emit.with_number("kMAX", emit.with_number("kSUM", length, start), -1)
    if first is top and end <= -_END and step == 1:
        return first, dim
    distance = emit.with_number("kSUM", first, 1)
    if end >= 0:
        distance = emit.binary("kSUB", first, emit.with_number("kMIN", top, end))
    elif end > -_END:
        last = emit.with_number("kMAX", emit.with_number("kSUM", length, end), -1)
        distance = emit.binary("kSUB", first, last)
    if step > 1:
        distance = emit.with_number("kFLOOR_DIV", emit.with_number("kSUM", distance, step - 1), step)
    return first, emit.with_number("kMAX", distance, 0)


@converter("ReverseSequence")
def _reverse_sequence(node: Node, emit: Emitter) -> ir.Value:
    attributes = {"batchAxis": node.attr("batch_axis", 1), "sequenceAxis": node.attr("time_axis", 0)}
    return emit.op("reverse_sequence", [node[0], node[1]], attributes, node[0].type)
