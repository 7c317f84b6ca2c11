"""From a histogram of magnitudes to the largest one that is worth representing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from .histogram import BINS, Histogram

__all__ = ["PERCENTILE", "threshold"]

PERCENTILE = 99.99  # per cent of the values that stay in range
_LEVELS = 128  # magnitudes of an 8-bit type
_CLIPPED = 0.1  # per cent of the values that a search for the least divergence may clip
_STEP = 16  # bins between the candidates of a search


def threshold(histogram: Histogram, method: str) -> float:
    """The end of the range by `method` ("minmax", "percentile", "entropy", "mse"); never beyond the largest."""
    if histogram.amax == 0.0:
        return 0.0
    return min(_METHODS[method](histogram), histogram.amax)


def _minmax(histogram: Histogram) -> float:
    return histogram.amax


def _percentile(histogram: Histogram) -> float:
    return float(histogram.edges[_bin_of(histogram, PERCENTILE)])


def _bin_of(histogram: Histogram, percent: float) -> int:
    """The bin below the end of which so many per cent of the values lie."""
    total = histogram.zeros + int(histogram.counts.sum())
    below = np.cumsum(histogram.counts) + histogram.zeros
    return min(int(np.searchsorted(below, total * percent / 100.0)), BINS - 1)


def _candidates() -> np.ndarray:
    """Ends of ranges to try, in bins: from one bin a level to all."""
    return np.arange(_LEVELS, BINS + 1, _STEP)


def _entropy(histogram: Histogram) -> float:
    """The range with the least Kullback-Leibler divergence of the rounded distribution from the clipped one.

    Where most values are close to zero the divergence is least if all others are clipped, which ruins the
    network; so the search starts where few are.
    """
    counts = histogram.counts.astype(np.float64)
    least = min(_bin_of(histogram, 100.0 - _CLIPPED) + 1, BINS)
    ends = np.append(np.arange(max(least, _LEVELS), BINS, _STEP), BINS)
    return float(ends[int(np.argmin(_divergences(counts, ends)))] * histogram.width)


def _divergences(counts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The divergence for each end of the range, in bins.

    The clipped distribution p has what lies beyond the end in its last bin; in the rounded one, q, each level
    spreads its mass evenly over the bins of it that are not empty. So q is the same in all of these, and the
    sum of p log(p / q) is one over levels, of differences of sums over the first bins.
    """
    total, inside = counts.sum(), _sums(counts)[ends]
    starts = np.arange(_LEVELS + 1) * ends[:, None] // _LEVELS
    mass, filled = (np.diff(_sums(values)[starts]) for values in (counts, counts > 0))
    share = np.divide(mass, filled, out=np.zeros_like(mass), where=filled > 0)
    last, beyond = counts[ends - 1], total - inside
    unrounded = _sums(_x_log(counts))[ends] - _x_log(last) + _x_log(last + beyond) - total * np.log(total)
    scale = np.maximum(inside, 1.0)
    levels = (mass * _log(share / scale[:, None])).sum(axis=1)
    # Where only what lies beyond is in the last bin, q is 0 there, of which there is no logarithm.
    at_last = np.where(last > 0, share[:, -1] / scale, 1e-4 / total)
    return (unrounded - levels - beyond * np.log(at_last)) / total


def _sums(values: np.ndarray) -> np.ndarray:
    """The sum of the first n values, at n."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _log(values: np.ndarray) -> np.ndarray:
    """The logarithm; 0 of 0."""
    return np.log(np.where(values > 0, values, 1.0))


def _x_log(values: np.ndarray) -> np.ndarray:
    return values * _log(values)


def _mse(histogram: Histogram) -> float:
    """The range with the least mean squared error of rounding and clipping, by the middles of the bins."""
    errors = _errors() @ histogram.counts.astype(np.float64)
    return float(_candidates()[int(np.argmin(errors))] * histogram.width)


@cache
def _errors() -> np.ndarray:
    """The squared error of a number in each bin for each candidate, in bins."""
    middles = np.arange(BINS) + 0.5
    ends = _candidates()[:, None]
    steps = ends / (_LEVELS - 1)
    rounded = np.minimum(np.rint(middles / steps), _LEVELS - 1) * steps
    # Within a step the error is spread evenly, which the middles alone would hide where bins are wide.
    return np.where(middles <= ends, steps**2 / 12.0, (middles - rounded) ** 2)


_METHODS: dict[str, Callable[[Histogram], float]] = {
    "minmax": _minmax,
    "percentile": _percentile,
    "entropy": _entropy,
    "mse": _mse,
}
