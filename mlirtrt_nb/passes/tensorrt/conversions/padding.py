"""Padding: a slice that begins before its input and ends after it."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from .emitter import Emitter
from .entries import Entry, add, entries_of, known
from .node import Node, Refused, converter, element, rank_of

__all__: list[str] = []

_MODES = {"constant": "kFILL", "reflect": "kREFLECT", "edge": "kCLAMP", "wrap": "kWRAP"}


@converter("Pad")
def _pad(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    rank = rank_of(x)
    mode = node.attr("mode", "constant")
    if mode not in _MODES:
        raise Refused(f"mode = {mode!r}")
    before, after = _amounts(node, emit, rank)
    size: list[Entry] = [
        add(emit, dim, add(emit, b, a)) for dim, b, a in zip(emit.sizes(x), before, after, strict=True)
    ]
    numbers = known([*before, *after])
    if numbers is not None and not any(numbers):
        return x
    fixed = known(before)
    start = emit.unary("kNEG", emit.vector(before)) if fixed is None else [-b for b in fixed]
    if numbers is not None and all(n <= 0 for n in numbers):
        return emit.slice(x, start, size)  # only trims
    return emit.slice(x, start, size, mode=_MODES[mode], fill=_fill(node, emit, mode))


def _amounts(node: Node, emit: Emitter, rank: int) -> tuple[list[Entry], list[Entry]]:
    """What to add before and after each dimension."""
    pads: list[Entry]
    axes = list(range(rank))
    if node.opset < 11:
        pads = list(node.attr("pads") or node.attr("paddings") or [])
    else:
        pads = entries_of(node, emit, 1, "pads")
        given = node.ints(3, "axes")
        axes = axes if given is None else [node.axis(a) for a in given]
    if len(pads) != 2 * len(axes):
        raise Refused(f"{len(pads)} pads for {len(axes)} axes")
    before: list[Entry] = [0] * rank
    after: list[Entry] = [0] * rank
    for n, axis in enumerate(axes):
        before[axis], after[axis] = pads[n], pads[n + len(axes)]
    return before, after


def _fill(node: Node, emit: Emitter, mode: str) -> ir.Value | None:
    """The value around the input; None for zero, which the layer has by itself."""
    if mode != "constant":
        return None
    if node.opset < 11:
        number = node.attr("value", 0.0)
        return emit.filled(number, element(node[0])) if number else None
    value = node.input(2)
    array = node.array(2)
    if value is None or (array is not None and not np.any(array)):
        return None
    return value if rank_of(value) == 0 else emit.reshape(value, [])
