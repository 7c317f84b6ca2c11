"""The ends of a tensor, found where it is made, so that little of it has to be handed over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from ..dialects.tensorrt.number_flow import is_nonnegative
from ..ir import shapes
from ..ir.builder import create

__all__ = ["ends_in", "ends_of", "total_of"]


def ends_of(value: ir.Value) -> list[ir.Value]:
    """Values in which the largest number of `value` is, and its least unless it has none below 0."""
    most = _reduced(value, "kMAX", _by_channel(value))
    return [most] if is_nonnegative(value) else [most, _reduced(value, "kMIN", False)]


def total_of(value: ir.Value) -> ir.Value:
    """A value that has a NaN if `value` has one; ONNX Runtime's largest and least may pass it over."""
    by_channel = _by_channel(value)
    return _reduced(value, "kAVG" if by_channel else "kSUM", by_channel)


def ends_in(given: Sequence[np.ndarray], total: np.ndarray | None) -> np.ndarray:
    """The numbers among which the ends are, by what `ends_of` and, if at all, `total_of` gave; with a NaN if
    that has any."""
    # Of a total nothing else counts: it may be larger than any number of the tensor.
    found = [*given] if total is None else [*given, total[np.isnan(total)]]
    return np.concatenate([array.reshape(-1) for array in found])


def _by_channel(value: ir.Value) -> bool:
    """Whether pooling is to reduce `value`, which it can in the blocked layout that convolutions write. There
    is no pooling to the least number: where that is wanted too, all is put into another order for it anyway.
    """
    return ir.RankedTensorType(value.type).rank == 4 and is_nonnegative(value)


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
