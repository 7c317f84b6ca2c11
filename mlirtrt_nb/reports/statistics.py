"""trtexec's statistics: its percentile rule, median, and coefficient of variation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import OptionError

__all__ = ["PERCENTILES", "Summary", "percentile", "summarize", "variation"]

PERCENTILES = (90, 95, 99)

# Column name -> value, all in the samples' unit.
Summary = dict[str, float]


def percentile(samples: Sequence[float] | np.ndarray, p: float) -> float:
    """The sample below which `p` percent lie: of n in ascending order, number n - 1 - int((1 - p / 100) n).

    Infinite if there are no samples. Raises OptionError for a `p` outside 0 to 100.
    """
    if not 0 <= p <= 100:
        raise OptionError(f"a percentile lies between 0 and 100, got {p}")
    ordered = np.sort(np.asarray(samples, float))
    if not ordered.size:
        return math.inf
    excluded = int((1 - p / 100) * ordered.size)
    return float(ordered[max(ordered.size - 1 - excluded, 0)])


def variation(samples: Sequence[float] | np.ndarray) -> float:
    """The coefficient of variation in percent: standard deviation of the population over the mean."""
    values = np.asarray(samples, float)
    mean = float(values.mean()) if values.size else 0.0
    return math.inf if mean == 0 else float(values.std()) / mean * 100


def summarize(samples: Sequence[float] | np.ndarray) -> Summary:
    """min, max, mean, median and the percentiles; infinite where there are no samples."""
    values = np.asarray(samples, float)
    if not values.size:
        return dict.fromkeys(["min", "max", "mean", "median", *map(_column, PERCENTILES)], math.inf)
    found = {
        "min": float(values.min()),
        "max": float(values.max()),
        "mean": float(values.mean()),
        "median": float(np.median(values)),
    }
    return found | {_column(p): percentile(values, p) for p in PERCENTILES}


def _column(p: int) -> str:
    return f"percentile({p}%)"
