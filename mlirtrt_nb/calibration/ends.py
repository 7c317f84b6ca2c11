"""The ends of a tensor, found where it is made, so that little of it has to be handed over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from ..dialects.tensorrt.number_flow import is_nonnegative
from ..ir import shapes
from ..ir.builder import create

__all__ = ["ends_in", "ends_of"]


def ends_of(value: ir.Value) -> list[ir.Value]:
    """Values in which the largest number of `value` is, its least unless it has none below 0, and, last, some
    that are NaN if it has a NaN, which ONNX Runtime's largest and least are not.

    What convolutions make is reduced for each channel by itself, as pooling can do that in the blocked layout
    that they write; the whole tensor would have to be put into another order first.
    """
    blocked = ir.RankedTensorType(value.type).rank == 4
    least = [] if is_nonnegative(value) else [_reduced(value, "kMIN", False)]
    average = "kAVG" if blocked else "kSUM"
    return [_reduced(value, "kMAX", blocked), *least, _reduced(value, average, blocked)]


def ends_in(given: Sequence[np.ndarray]) -> np.ndarray:
    """The numbers among which the ends are, by what `ends_of` gave; with a NaN if the tensor has any."""
    *ends, total = (array.reshape(-1) for array in given)
    return np.concatenate([*ends, total[np.isnan(total)]])


def _reduced(value: ir.Value, kind: str, by_channel: bool) -> ir.Value:
    """`value` reduced to one number, or to one for each channel of each sample."""
    shaped, maker = ir.RankedTensorType(value.type), value.owner.operation
    axes = list(range(2 if by_channel else 0, shaped.rank))
    shape = [*list(shaped.shape)[:2], 1, 1] if by_channel else []
    made = create(
        "tensorrt.reduce",
        [value],
        {"reduceAxes": axes, "reduceOperation": kind, "keepDimensions": by_channel},
        [shapes.tensor(shape, shaped.element_type)],
        loc=maker.location,
        ip=ir.InsertionPoint.after(maker),
    )
    return made.results[0]
