"""Ops that keep the elements and change the shape, or the order of dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of
from .shape_values import Dim

__all__ = ["target_of"]


def target_of(node: Node, emit: Emitter, index: int, what: str) -> list[int | Dim | ir.Value]:
    """The elements of the shape that input `index` holds: numbers, dimensions, or computed values."""
    value = node[index]
    rank = shape_of(value)[0]
    if rank is None:
        raise Refused(f"{what} of unknown length")
    known = node.dims.elements(value) or (None,) * rank
    given = node.declared(rank)
    found: list[int | Dim | ir.Value] = []
    for n, entry in enumerate(known):
        size = given[n]
        if entry is not None and not isinstance(entry, Dim):
            found.append(entry)
        elif size is not None:  # shape inference knows it
            found.append(size)
        else:
            found.append(
                entry if entry is not None else emit.slice(_shape_value(node, emit, value, what), [n], [1])
            )
    return found


def _shape_value(node: Node, emit: Emitter, value: ir.Value, what: str) -> ir.Value:
    if not node.dims.is_shape(value):
        raise Refused(f"{what} is computed from data")
    return emit.cast(value, "i64")


def _near(node: Node, x: ir.Value, entry: int | Dim | ir.Value, axis: int) -> int | Dim | ir.Value:
    """`entry` as a dimension of `x` itself where it equals one, best the one at `axis`."""
    if not isinstance(entry, Dim):
        return entry
    own = node.dims.of(x)
    order = [axis, *range(len(own))] if axis < len(own) else list(range(len(own)))
    return next((Dim(x, n) for n in order if own[n] == entry), entry)


@converter("Reshape")
def _reshape(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    if node.opset < 5:
        target: list[int | Dim | ir.Value] = list(node.attr("shape"))
    else:
        target = target_of(node, emit, 1, "shape")
    own = emit.sizes(x)
    if not node.attr("allowzero"):
        target = [own[n] if entry == 0 and isinstance(entry, int) else entry for n, entry in enumerate(target)]
    target = [_near(node, x, entry, n) for n, entry in enumerate(target)]
    return _reshaped(node, emit, x, target)


def _reshaped(node: Node, emit: Emitter, x: ir.Value, target: list[int | Dim | ir.Value]) -> ir.Value:
    """Reshape with at most one -1 among the numbers, which is worked out as far as it can be."""
    dims = node.declared(len(target))
    if -1 in [entry for entry in target if isinstance(entry, int)]:
        at = next(n for n, entry in enumerate(target) if isinstance(entry, int) and entry == -1)
        size = dims[at]
        if size is None:
            size = _rest(emit.sizes(x), target, at)
        if size is None:
            return _inferred(node, emit, x, target, at)
        target[at] = size
    return emit.reshape(x, target)


def _rest(own: Sequence[int | Dim], target: Sequence[int | Dim | ir.Value], at: int) -> int | None:
    """The length of dimension `at` if the other dynamic ones are the same before and after."""
    moving = [entry for entry in target if not isinstance(entry, int)]
    if sorted(map(repr, moving)) != sorted(repr(d) for d in own if not isinstance(d, int)):
        return None
    before = int(np.prod([d for d in own if isinstance(d, int)], dtype=np.int64))
    after = int(np.prod([d for n, d in enumerate(target) if isinstance(d, int) and n != at], dtype=np.int64))
    return before // after if after else None


def _inferred(node: Node, emit: Emitter, x: ir.Value, target: list[int | Dim | ir.Value], at: int) -> ir.Value:
    """A reshape whose dimension `at` the layer works out."""
    kept = []
    for n, entry in enumerate(target):
        if n == at:
            kept.append(-1)
        elif isinstance(entry, int):
            kept.append(entry)
        elif isinstance(entry, Dim) and n < rank_of(x) and emit.same(entry, x, n):
            kept.append(0)
        else:
            kept.append(None)  # type: ignore[arg-type]
    attributes = {
        "first_transpose": list(range(rank_of(x))),
        "second_transpose": list(range(len(target))),
    }
    known = [entry if isinstance(entry, int) and entry != -1 else None for entry in target]
    result = emit.type(known, element(x))
    numbers = [entry for entry in target if isinstance(entry, int)]
    if None not in kept and 0 not in numbers:
        return emit.op("shuffle", [x], {**attributes, "reshape": kept}, result)
    if 0 in numbers:
        raise Refused("a reshape to a length of 0 beside one that is inferred")
    return emit.op("shuffle", [x, emit.vector(target)], {**attributes, "zero_is_placeholder": False}, result)


@converter("Flatten")
def _flatten(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    rank = rank_of(x)
    axis = node.attr("axis", 1)
    if not -rank <= axis <= rank:
        raise Refused(f"axis {axis} is out of range for rank {rank}")
    axis = axis + rank if axis < 0 else axis
    dims = emit.sizes(x)
    return emit.reshape(x, [_volume(emit, dims[:axis]), _volume(emit, dims[axis:])])


def _volume(emit: Emitter, dims: Sequence[int | Dim]) -> int | Dim | ir.Value:
    """The product of dimensions: a number, one dimension, or a computed vector of one."""
    number = int(np.prod([d for d in dims if isinstance(d, int)], dtype=np.int64))
    moving: list[int | Dim | ir.Value] = [d for d in dims if not isinstance(d, int)]
    if not moving:
        return number
    if len(moving) == 1 and number == 1:
        return moving[0]
    total = emit.scalar(moving[0])
    for entry in moving[1:]:
        total = emit.binary("kPROD", total, emit.scalar(entry))
    return total if number == 1 else emit.with_number("kPROD", total, number)


@converter("Transpose")
def _transpose(node: Node, emit: Emitter) -> ir.Value:
    return emit.transpose(node[0], node.attr("perm") or list(reversed(range(rank_of(node[0])))))


@converter("Unsqueeze")
def _unsqueeze(node: Node, emit: Emitter) -> ir.Value:
    given = node.attr("axes")
    axes = list(given) if given is not None else node.ints(1, "axes") or []
    rank = rank_of(node[0]) + len(axes)
    return emit.unsqueeze(node[0], sorted(node.axis(a, rank) for a in axes))


@converter("Squeeze")
def _squeeze(node: Node, emit: Emitter) -> ir.Value:
    given = node.attr("axes")
    axes = list(given) if given is not None else node.ints(1, "axes")
    dims = shape_of(node[0])
    if axes is None:
        if None in dims:
            raise Refused("no axes, and dynamic dimensions that may be 1")
        return emit.squeeze(node[0], [n for n, d in enumerate(dims) if d == 1])
    return emit.squeeze(node[0], sorted(node.axis(a) for a in axes))


@converter("DepthToSpace")
def _depth_to_space(node: Node, emit: Emitter) -> ir.Value:
    n, c, h, w = _four(node, emit)
    block = node.attr("blocksize")
    depth = _channels(c) // (block * block)
    if node.attr("mode", "DCR") == "DCR":
        parts, order = [n, block, block, depth, h, w], [0, 3, 4, 1, 5, 2]
    else:
        parts, order = [n, depth, block, block, h, w], [0, 1, 4, 2, 5, 3]
    mixed = emit.reshape(node[0], parts, order)
    return emit.reshape(mixed, [n, depth, _times(emit, h, block), _times(emit, w, block)])


@converter("SpaceToDepth")
def _space_to_depth(node: Node, emit: Emitter) -> ir.Value:
    n, c, h, w = _four(node, emit)
    block = node.attr("blocksize")
    if not isinstance(h, int) or not isinstance(w, int):
        raise Refused("dynamic height or width")
    parts = [n, c, h // block, block, w // block, block]
    mixed = emit.reshape(node[0], parts, [0, 3, 5, 1, 2, 4])
    return emit.reshape(mixed, [n, _channels(c) * block * block, h // block, w // block])


def _four(node: Node, emit: Emitter) -> list[int | Dim]:
    if rank_of(node[0]) != 4:
        raise Refused(f"rank {rank_of(node[0])}")
    return emit.sizes(node[0])


def _channels(size: int | Dim) -> int:
    if not isinstance(size, int):
        raise Refused("a dynamic number of channels")
    return size


def _times(emit: Emitter, size: int | Dim, factor: int) -> int | Dim | ir.Value:
    if isinstance(size, int):
        return size * factor
    return emit.with_number("kPROD", emit.scalar(size), factor)
