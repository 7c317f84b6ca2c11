"""Pooling whose windows have gaps, for which there is no layer: one strided slice per element of the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import inf

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from .emitter import Emitter
from .entries import Entry
from .node import Refused, element, shape_of

__all__ = ["DilatedWindow", "average", "maximum"]

# More slices than this are slower than running the op on the host.
_MOST_SLICES = 64


@dataclass(frozen=True)
class DilatedWindow:
    """A window per spatial dimension: size, stride, dilation, padding at both ends, and the result's size."""

    size: Sequence[int]
    stride: Sequence[int]
    dilation: Sequence[int]
    before: Sequence[int]
    after: Sequence[int]
    counts: Sequence[int]


def maximum(emit: Emitter, x: ir.Value, window: DilatedWindow) -> ir.Value:
    kind = element(x)
    lowest = -inf if kind in ("f32", "f16", "bf16") else float(np.iinfo(dtypes.by_mlir(kind).np).min)
    return _combined(emit, x, window, "kMAX", emit.filled(lowest, kind))


def average(
    emit: Emitter, x: ir.Value, window: DilatedWindow, counted: tuple[Sequence[int], Sequence[int]]
) -> ir.Value:
    """The mean over each window; of the padding, `counted` elements count before and after each dimension."""
    total = _combined(emit, x, window, "kSUM", None)
    share = np.ones([1] * len(window.size))
    for axis, size in enumerate(shape_of(x)[2:]):
        ones = np.zeros((size or 0) + window.before[axis] + window.after[axis])
        begin, end = window.before[axis], window.before[axis] + (size or 0)
        ones[begin - counted[0][axis] : end + counted[1][axis]] = 1
        reach = [
            sum(ones[n * window.stride[axis] + o * window.dilation[axis]] for o in range(window.size[axis]))
            for n in range(window.counts[axis])
        ]
        shape = [1] * len(window.size)
        shape[axis] = -1
        share = share * np.reshape(reach, shape)
    divisor = emit.constant(share[None, None].astype(dtypes.by_mlir(element(x)).np), "window_sizes")
    return emit.binary("kDIV", total, divisor)


def _combined(emit: Emitter, x: ir.Value, window: DilatedWindow, kind: str, fill: ir.Value | None) -> ir.Value:
    sizes = shape_of(x)[2:]
    if None in sizes:
        raise Refused("dilated pooling over a dynamic dimension")
    if np.prod(window.size) > _MOST_SLICES:
        raise Refused(f"dilated pooling over windows of {int(np.prod(window.size))} elements")
    outer: list[Entry] = list(emit.sizes(x)[:2])
    if any(window.before) or any(window.after):
        padded = [(d or 0) + b + a for d, b, a in zip(sizes, window.before, window.after, strict=True)]
        x = emit.slice(x, [0, 0, *(-b for b in window.before)], [*outer, *padded], mode="kFILL", fill=fill)
    total: ir.Value | None = None
    for offsets in product(*(range(k) for k in window.size)):
        start = [0, 0, *(o * d for o, d in zip(offsets, window.dilation, strict=True))]
        part = emit.slice(x, start, [*outer, *window.counts], [1, 1, *window.stride])
        total = part if total is None else emit.binary(kind, total, part)
    assert total is not None
    return total
