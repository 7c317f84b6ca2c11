"""trtexec's statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlirtrt_nb.errors import OptionError
from mlirtrt_nb.reports.statistics import percentile, summarize, variation


@pytest.mark.parametrize(
    ("count", "p", "position"),
    [
        (100, 90, 90),
        (100, 99, 98),
        (100, 100, 99),
        (100, 0, 0),
        (10, 99, 9),
        (10, 95, 9),
        (7, 50, 3),
        (1, 0, 0),
        (20, 95, 18),
    ],
)
def test_percentile_rule(count: int, p: float, position: int) -> None:
    """Of n samples the p-th percentile is number n - 1 - int((1 - p / 100) n), in floating point, from 0 on."""
    samples = np.random.default_rng(0).permutation(count).astype(float)
    assert percentile(samples, p) == position


def test_no_interpolation() -> None:
    """A percentile is always one of the samples."""
    assert percentile([1.0, 10.0], 50) in (1.0, 10.0)


@pytest.mark.parametrize("p", [-0.1, 100.1])
def test_percentile_out_of_range(p: float) -> None:
    """There is no percentile below 0 or above 100."""
    with pytest.raises(OptionError, match="between 0 and 100"):
        percentile([1.0], p)


def test_no_samples() -> None:
    """Without samples the median and the percentiles are infinite."""
    assert all(value == math.inf for value in summarize([]).values())
    assert percentile([], 50) == math.inf


def test_summary() -> None:
    """The median of an even count is the mean of the middle two; the columns are trtexec's."""
    found = summarize([4.0, 1.0, 3.0, 2.0])
    assert list(found) == [
        "min",
        "max",
        "mean",
        "median",
        "percentile(90%)",
        "percentile(95%)",
        "percentile(99%)",
    ]
    assert (found["min"], found["max"], found["mean"], found["median"]) == (1, 4, 2.5, 2.5)


def test_variation() -> None:
    """The coefficient of variation uses the population's deviation, in percent, and is infinite at mean 0."""
    assert variation([1.0, 3.0]) == 50
    assert variation([0.0, 0.0]) == math.inf
    assert variation([]) == math.inf
