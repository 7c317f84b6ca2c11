"""slice, broadcast, concatenation and reverse_sequence."""

from __future__ import annotations

import numpy as np

from ....ir.builder import Op
from ..scope import Scope
from .dims import dims_of, range_to, rank_of, refuse, reshape, size_of, transpose, vector
from .growth import growths
from .registry import emits

__all__: list[str] = []

_LOWEST = np.iinfo(np.int64).min
_PAD_MODES = {"kFILL": "constant", "kCLAMP": "edge", "kREFLECT": "reflect", "kWRAP": "wrap"}


@emits("slice")
def slice_op(op: Op, scope: Scope) -> None:
    value, result = op.operand("input"), op.operation.results[0]
    mode = op.attr("mode")
    start, size, stride = (_numbers(op, scope, name) for name in ("start", "size", "stride"))
    name = scope.tensor(value)
    if rank_of(value) == 0:
        scope.set(result, name)
    elif stride is None or 0 in stride:
        scope.set(result, _by_index(op, scope, name, mode))
    elif mode == "kDEFAULT" and start is not None and size is not None:
        scope.set(result, _static(scope, name, dims_of(value), start, size, stride))
    elif mode == "kDEFAULT":
        scope.set(result, _dynamic(op, scope, name, stride))
    elif start is not None and size is not None and _is_padded(dims_of(value), mode):
        scope.set(result, _padded(op, scope, name, mode, start, size, stride))
    else:
        pads = None if start is None or set(stride) != {1} else _pads(op, scope, mode, start)
        scope.set(result, _by_index(op, scope, name, mode) if pads is None else _pad(op, scope, name, pads))


def _is_padded(dims: list[int], mode: str) -> bool:
    """Whether padding by numbers gives an input of these dimensions what is outside it."""
    return -1 not in dims and (0 not in dims or mode == "kFILL")


def _pads(op: Op, scope: Scope, mode: str, start: list[int]) -> list[int] | None:
    """What a slice adds before and after each axis, if it only adds, and known numbers."""
    if mode not in ("kFILL", "kCLAMP"):
        return None
    known = [more for more in growths(op, scope) if more is not None]
    if len(known) < len(start):
        return None
    pads = [-first for first in start] + [more + first for more, first in zip(known, start, strict=True)]
    return pads if min(pads) >= 0 else None


def _pad(op: Op, scope: Scope, name: str, pads: list[int]) -> str:
    mode, filler = op.attr("mode"), op.operand("fill")
    fill = scope.tensor(filler) if filler is not None and mode == "kFILL" else None
    return scope.op("Pad", [name, scope.literal(pads), fill], mode=_PAD_MODES[mode])


def _numbers(op: Op, scope: Scope, name: str) -> list[int] | None:
    """A start, size or stride per dimension where it is known."""
    static = op.attr(f"static_{name}")
    if static is not None:
        return list(static)
    found = scope.constant(op.operand(name))
    if found is not None:
        return [int(n) for n in found.array]
    if name == "size" and -1 not in dims_of(op.operation.results[0]):
        return dims_of(op.operation.results[0])
    return None


def _as_vector(op: Op, scope: Scope, name: str) -> str:
    known = _numbers(op, scope, name)
    return scope.literal(known) if known is not None else vector(scope, op.operand(name))


def _end(start: int, size: int, stride: int) -> int:
    """Where ONNX stops: past the last element; before the front it needs a number below every index."""
    end = start + size * stride
    return _LOWEST if end < 0 else end


def _static(
    scope: Scope, name: str, dims: list[int], start: list[int], size: list[int], stride: list[int]
) -> str:
    axes = [
        n
        for n, (dim, first, count, step) in enumerate(zip(dims, start, size, stride, strict=True))
        if (first, count, step) != (0, dim, 1)
    ]
    if not axes:
        return name
    ends = [_end(start[n], size[n], stride[n]) for n in axes]
    steps = [stride[n] for n in axes]
    inputs = [scope.literal([start[n] for n in axes]), scope.literal(ends), scope.literal(axes)]
    if any(step != 1 for step in steps):
        inputs.append(scope.literal(steps))
    return scope.op("Slice", [name, *inputs])


def _dynamic(op: Op, scope: Scope, name: str, stride: list[int]) -> str:
    """Start or size are tensors; strides are numbers."""
    start, size = _as_vector(op, scope, "start"), _as_vector(op, scope, "size")
    steps = scope.literal(stride)
    extent = size if all(n == 1 for n in stride) else scope.op("Mul", [size, steps])
    end = scope.op("Add", [start, extent])
    if any(n < 0 for n in stride):
        below = scope.op("Less", [end, scope.literal(0)])
        end = scope.op("Where", [below, scope.literal(_LOWEST), end])
    return scope.op("Slice", [name, start, end, scope.literal(list(range(len(stride)))), steps])


def _padded(
    op: Op, scope: Scope, name: str, mode: str, start: list[int], size: list[int], stride: list[int]
) -> str:
    """Pad so that nothing is outside, then slice: ONNX Runtime fuses a zero Pad into a convolution."""
    dims = dims_of(op.operand("input"))
    before, after = [], []
    for dim, first, count, step in zip(dims, start, size, stride, strict=True):
        ends = (first, first + max(count - 1, 0) * step)
        before.append(max(0, -min(ends)))
        after.append(max(0, max(ends) - (dim - 1)))
    if mode == "kREFLECT" and any(b >= d or a >= d for b, a, d in zip(before, after, dims, strict=True)):
        return _by_index(op, scope, name, mode)  # reflects more than once
    if not any(before + after):
        return _static(scope, name, dims, start, size, stride)
    padded = _pad(op, scope, name, before + after)
    grown = [d + b + a for d, b, a in zip(dims, before, after, strict=True)]
    moved = [first + b for first, b in zip(start, before, strict=True)]
    return _static(scope, padded, grown, moved, size, stride)


def _by_index(op: Op, scope: Scope, name: str, mode: str) -> str:
    """Any slice, one axis at a time: gather at start + n * stride, with the mode's rule for outside."""
    vectors = {key: _as_vector(op, scope, key) for key in ("start", "size", "stride")}
    same = _unchanged(op, scope)
    outside: list[str] = []
    rank = rank_of(op.operand("input"))
    current = name
    for axis in range(rank):
        if axis in same:
            continue
        first, count, step = (_entry(scope, vectors[key], axis) for key in ("start", "size", "stride"))
        index = scope.op("Add", [first, scope.op("Mul", [range_to(scope, count), step])])
        length = size_of(scope, name, axis)
        inside, index = _inside(scope, index, length, mode)
        current = scope.op("Gather", [current, index], axis=axis)
        if inside is not None:
            outside.append(reshape(scope, inside, [-1] + [1] * (rank - axis - 1)))
    if not outside:
        return current
    keep = outside[0]
    for mask in outside[1:]:
        keep = scope.op("And", [keep, mask])
    filler = op.operand("fill")
    fill = scope.like(0, name) if filler is None else scope.tensor(filler)
    return scope.op("Where", [keep, current, fill])


def _unchanged(op: Op, scope: Scope) -> set[int]:
    """The axes that are taken whole, whatever their lengths."""
    start, stride = _numbers(op, scope, "start"), _numbers(op, scope, "stride")
    if start is None or stride is None:
        return set()
    steps = zip(growths(op, scope), start, stride, strict=True)
    return {axis for axis, step in enumerate(steps) if step == (0, 0, 1)}


def _entry(scope: Scope, numbers: str, axis: int) -> str:
    return scope.op("Slice", [numbers, scope.literal([axis]), scope.literal([axis + 1])])


def _inside(scope: Scope, index: str, length: str, mode: str) -> tuple[str | None, str]:
    """Whether each index is inside (for kFILL), and the index moved inside."""
    zero, one = scope.literal(0), scope.literal(1)
    last = scope.op("Sub", [length, one])
    clamped = scope.op("Max", [scope.op("Min", [index, last]), zero])
    if mode == "kFILL":
        return scope.op("Equal", [index, clamped]), clamped
    if mode == "kCLAMP":
        return None, clamped
    if mode == "kWRAP":
        # Of an empty axis there are no indices, but a division by its length would fail all the same.
        return None, scope.op("Mod", [index, scope.op("Max", [length, one])])
    if mode == "kREFLECT":
        # There and back again is 2 * (length - 1) steps; the way back is counted from the far end.
        period = scope.op("Max", [scope.op("Mul", [last, scope.literal(2)]), one])
        place = scope.op("Mod", [index, period])
        return None, scope.op("Min", [place, scope.op("Sub", [period, place])])
    return None, index


@emits("broadcast")
def broadcast(op: Op, scope: Scope) -> None:
    value, result = op.operand("input"), op.operation.results[0]
    places, dims = list(op.attr("broadcast_dims")), dims_of(result)
    order = sorted(range(len(places)), key=places.__getitem__)
    name = transpose(scope, scope.tensor(value), order)
    missing = [n for n in range(len(dims)) if n not in places]
    if missing:
        name = scope.op("Unsqueeze", [name, scope.literal(missing)])
    if op.operand("shape") is not None:
        target = vector(scope, op.operand("shape"))
    elif -1 not in dims:
        target = scope.literal(dims)
    else:
        # 1 keeps what the input has along that dimension.
        target = scope.literal([1 if n == -1 else n for n in dims])
    scope.set(result, scope.op("Expand", [name, target]))


@emits("concatenation")
def concatenation(op: Op, scope: Scope) -> None:
    names = [scope.tensor(value) for value in op.group("inputs")]
    axis = op.attr("axis")
    scope.set(op.operation.results[0], names[0] if len(names) == 1 else scope.op("Concat", names, axis=axis))


@emits("reverse_sequence")
def reverse_sequence(op: Op, scope: Scope) -> None:
    value = op.operand("input")
    batch, time = op.attr("batchAxis"), op.attr("sequenceAxis")
    if batch == time:
        raise refuse("the batch and the sequence axis are the same")
    rank = rank_of(value)
    # ONNX wants the two axes in front.
    order = [time, batch, *(n for n in range(rank) if n not in (time, batch))]
    lengths = scope.cast(scope.tensor(op.operand("sequenceLens")), "i64")
    moved = transpose(scope, scope.tensor(value), order)
    made = scope.op("ReverseSequence", [moved, lengths], time_axis=0, batch_axis=1)
    scope.set(op.operation.results[0], transpose(scope, made, [order.index(n) for n in range(rank)]))
