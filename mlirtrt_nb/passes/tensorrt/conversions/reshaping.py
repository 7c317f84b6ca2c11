"""Ops that keep the elements and change the shape, or the order of dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from .emitter import Emitter
from .entries import Entry, entries_of, multiply, near
from .node import Node, Refused, converter, element, rank_of, shape_of
from .shape_values import Dim

__all__ = ["target_of"]


def target_of(node: Node, emit: Emitter, index: int, what: str) -> list[Entry]:
    """The elements of the shape that input `index` holds, filled in by what shape inference knows."""
    value = node[index]
    rank = shape_of(value)[0]
    if rank is None:
        raise Refused(f"{what} of unknown length")
    elements = node.dims.elements(value) or (None,) * rank
    given = node.declared(rank)
    merged = [
        d if d is not None and not isinstance(e, int) else e for d, e in zip(given, elements, strict=True)
    ]
    if None not in merged:
        return [entry for entry in merged if entry is not None]
    computed = entries_of(node, emit, index, what)
    return [c if m is None else m for m, c in zip(merged, computed, strict=True)]


@converter("Reshape")
def _reshape(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    if node.opset < 5:
        target: list[Entry] = list(node.attr("shape"))
    else:
        target = target_of(node, emit, 1, "shape")
    own = emit.sizes(x)
    if not node.attr("allowzero"):
        target = [own[n] if entry == 0 and isinstance(entry, int) else entry for n, entry in enumerate(target)]
    target = [near(node, x, entry, n) for n, entry in enumerate(target)]
    return _reshaped(node, emit, x, target)


def _reshaped(node: Node, emit: Emitter, x: ir.Value, target: list[Entry]) -> ir.Value:
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


def _rest(own: Sequence[int | Dim], target: Sequence[Entry], at: int) -> int | None:
    """The length of dimension `at` if the other dynamic ones are the same before and after."""
    moving = [entry for entry in target if not isinstance(entry, int)]
    if sorted(map(repr, moving)) != sorted(repr(d) for d in own if not isinstance(d, int)):
        return None
    before = int(np.prod([d for d in own if isinstance(d, int)], dtype=np.int64))
    after = int(np.prod([d for n, d in enumerate(target) if isinstance(d, int) and n != at], dtype=np.int64))
    return before // after if after else None


def _inferred(node: Node, emit: Emitter, x: ir.Value, target: list[Entry], at: int) -> ir.Value:
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


def _volume(emit: Emitter, dims: Sequence[int | Dim]) -> Entry:
    """The product of dimensions."""
    total: Entry = int(np.prod([d for d in dims if isinstance(d, int)], dtype=np.int64))
    for entry in dims:
        if not isinstance(entry, int):
            total = multiply(emit, total, entry)
    return total


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
    return emit.reshape(mixed, [n, depth, multiply(emit, h, block), multiply(emit, w, block)])


@converter("SpaceToDepth")
def _space_to_depth(node: Node, emit: Emitter) -> ir.Value:
    n, c, h, w = _four(node, emit)
    block = node.attr("blocksize")
    if not isinstance(h, int) or not isinstance(w, int):
        raise Refused("dynamic height or width")
    parts = [n, c, h // block, block, w // block, block]
    order = [0, 3, 5, 1, 2, 4] if node.attr("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    mixed = emit.reshape(node[0], parts, order)
    return emit.reshape(mixed, [n, _channels(c) * block * block, h // block, w // block])


def _four(node: Node, emit: Emitter) -> list[int | Dim]:
    if rank_of(node[0]) != 4:
        raise Refused(f"rank {rank_of(node[0])}")
    return emit.sizes(node[0])


def _channels(size: int | Dim) -> int:
    if not isinstance(size, int):
        raise Refused("a dynamic number of channels")
    return size
