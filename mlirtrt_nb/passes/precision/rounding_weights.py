"""Weights in a small type with the scales that go with it: per channel, per tensor, or in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...ir import dtypes

__all__ = ["Rounded", "block_of", "in_blocks", "per_channel", "per_tensor"]

# The largest magnitude that is used of each type. Of i8 and i4 the one value more on the negative side is
# left out, so that a range is symmetric.
LIMITS = {"i8": 127.0, "i4": 7.0, "f8E4M3FN": 448.0}
_CHUNK = 1 << 22  # elements that are converted at a time, to bound the memory that this takes


@dataclass(frozen=True)
class Rounded:
    """`weights` of the small type; `scale` as float32: real = weights * scale. `axis` is the dimension with a
    scale for each position; None for one scale in all, or for blocks."""

    weights: np.ndarray
    scale: np.ndarray
    axis: int | None = None


def per_channel(array: np.ndarray, kind: str, axis: int, least: float) -> Rounded:
    """A scale for each position along `axis`; none is smaller than `least`."""
    moved = np.moveaxis(array, axis, 0)
    amax = np.array([_amax(part) for part in moved], np.float32)
    scale = np.maximum(amax / np.float32(LIMITS[kind]), np.float32(least))
    shape = [1] * array.ndim
    shape[axis] = -1
    return Rounded(_rounded(array, scale.reshape(shape), kind), scale, axis)


def per_tensor(array: np.ndarray, kind: str, least: float) -> Rounded:
    """One scale, of rank 0."""
    scale = np.float32(max(_amax(array) / LIMITS[kind], least))
    return Rounded(_rounded(array, np.reshape(scale, [1] * array.ndim), kind), np.array(scale, np.float32))


def block_of(depth: int, block: int) -> int | None:
    """The largest number of values up to `block` into which `depth` divides; None if it is under 16."""
    found = next(size for size in range(min(block, depth), 0, -1) if depth % size == 0)
    return found if found >= 16 else None


def in_blocks(array: np.ndarray, kind: str, axis: int, block: int, least: float) -> Rounded:
    """A scale for each `block` values along `axis`; the scale has the array's rank.

    Of some scales, below and at the largest value, each block takes that with the least squared error.
    """
    shape = [*array.shape[:axis], array.shape[axis] // block, block, *array.shape[axis + 1 :]]
    parts = array.reshape(shape)
    amax = np.maximum(parts.max(axis + 1), -parts.min(axis + 1)).astype(np.float32)
    top = np.maximum(amax / np.float32(LIMITS[kind]), np.float32(least))
    scale = _least_error(parts, top, kind, axis + 1, least)
    return Rounded(_rounded(array, np.repeat(scale, block, axis), kind), scale)


_SHRUNK = (1.0, 0.92, 0.84, 0.76)


def _least_error(parts: np.ndarray, top: np.ndarray, kind: str, axis: int, least: float) -> np.ndarray:
    best, lowest = top, np.full(top.shape, np.inf, np.float32)
    for factor in _SHRUNK:
        scale = np.maximum(top * np.float32(factor), np.float32(least))
        wide = np.expand_dims(scale, axis)
        limit = np.float32(LIMITS[kind])
        error = parts - np.clip(np.rint(parts / wide), -limit, limit) * wide
        squares = np.square(error, out=error).sum(axis)
        better = squares < lowest
        best, lowest = np.where(better, scale, best), np.where(better, squares, lowest)
    return best


def _amax(array: np.ndarray) -> float:
    return float(max(array.max(), -array.min())) if array.size else 0.0


def _rounded(array: np.ndarray, scale: np.ndarray, kind: str) -> np.ndarray:
    """array / scale in `kind`, to nearest and within the limits; `scale` broadcasts to the array."""
    made = np.empty(array.shape, dtypes.by_mlir(kind).np)
    limit = np.float32(LIMITS[kind])
    whole = kind in ("i8", "i4")
    for rows in _slices(array):
        part = array[rows] / (scale if scale.shape[0] == 1 else scale[rows])
        if whole:
            np.rint(part, out=part)
        np.clip(part, -limit, limit, out=part)
        # By way of i8, since ml_dtypes casts to 4 bits an element at a time.
        made[rows] = (part.astype(np.int8) if kind == "i4" else part).astype(made.dtype)
    return made


def _slices(array: np.ndarray) -> Iterator[slice]:
    """Ranges of the first dimension with a bounded number of elements each."""
    rows = array.shape[0]
    step = max(1, _CHUNK * rows // max(1, array.size))
    yield from (slice(start, start + step) for start in range(0, rows, step))
