"""From a histogram of magnitudes to the largest one that is worth representing."""

from __future__ import annotations

from collections.abc import Callable

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
    divergences = [_divergence(counts, int(end)) for end in ends]
    return float(ends[int(np.argmin(divergences))] * histogram.width)


def _divergence(counts: np.ndarray, end: int) -> float:
    inside = counts[:end]
    clipped = inside.copy()
    clipped[-1] += counts[end:].sum()
    # Each level spreads its mass evenly over the bins of it that are not empty.
    starts = np.arange(_LEVELS) * end // _LEVELS
    filled = inside > 0
    mass = np.add.reduceat(inside, starts)
    bins = np.add.reduceat(filled.astype(np.float64), starts)
    share = np.divide(mass, bins, out=np.zeros_like(mass), where=bins > 0)
    sizes = np.diff(np.append(starts, end))
    spread = np.repeat(share, sizes) * filled
    p, q = clipped / clipped.sum(), spread / max(spread.sum(), 1.0)
    some = p > 0
    if np.any(some & (q == 0)):
        q = np.where(some & (q == 0), 1e-4 / max(clipped.sum(), 1.0), q)
    return float(np.sum(p[some] * np.log(p[some] / q[some])))


def _mse(histogram: Histogram) -> float:
    """The range with the least mean squared error of rounding and clipping, by the middles of the bins."""
    middles = (np.arange(BINS) + 0.5) * histogram.width
    weights = histogram.counts.astype(np.float64)
    ends = _candidates() * histogram.width
    steps = ends[:, None] / (_LEVELS - 1)
    rounded = np.minimum(np.rint(middles / steps), _LEVELS - 1) * steps
    # Within a step the error is spread evenly, which the middles alone would hide where bins are wide.
    errors = np.where(middles <= ends[:, None], steps**2 / 12.0, (middles - rounded) ** 2)
    return float(ends[int(np.argmin(errors @ weights))])


_METHODS: dict[str, Callable[[Histogram], float]] = {
    "minmax": _minmax,
    "percentile": _percentile,
    "entropy": _entropy,
    "mse": _mse,
}
