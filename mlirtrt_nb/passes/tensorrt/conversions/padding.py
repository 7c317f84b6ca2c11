"""Padding: a slice that begins before its input and ends after it."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of
from .shape_values import Dim

__all__: list[str] = []

_MODES = {"constant": "kFILL", "reflect": "kREFLECT", "edge": "kCLAMP", "wrap": "kWRAP"}


@converter("Pad")
def _pad(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    rank = rank_of(x)
    mode = node.attr("mode", "constant")
    if mode not in _MODES:
        raise Refused(f"mode = {mode!r}")
    before, after = _amounts(node, rank)
    start = [-b for b in before]
    size: list[int | Dim | ir.Value] = []
    for dim, b, a in zip(emit.sizes(x), before, after, strict=True):
        if isinstance(dim, int):
            size.append(dim + b + a)
        else:
            size.append(dim if a + b == 0 else emit.with_number("kSUM", emit.scalar(dim), a + b))
    if not any(before) and not any(after):
        return x
    if all(b <= 0 for b in before) and all(a <= 0 for a in after):
        return emit.slice(x, start, size)  # only trims
    return emit.slice(x, start, size, mode=_MODES[mode], fill=_fill(node, emit, mode))


def _amounts(node: Node, rank: int) -> tuple[list[int], list[int]]:
    if node.opset < 11:
        pads = list(node.attr("pads") or node.attr("paddings") or [])
        axes = list(range(rank))
    else:
        pads = node.ints(1, "pads") or []
        given = node.ints(3, "axes")
        axes = list(range(rank)) if given is None else [node.axis(a) for a in given]
    if len(pads) != 2 * len(axes):
        raise Refused(f"{len(pads)} pads for {len(axes)} axes")
    before, after = [0] * rank, [0] * rank
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
