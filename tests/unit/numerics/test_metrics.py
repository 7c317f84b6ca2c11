"""Measures of error are those that their formulas give, also over several arrays and with broken values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlirtrt_nb.errors import OptionError
from mlirtrt_nb.numerics.metrics import METRICS, Errors, metric

RNG = np.random.default_rng(0)


def test_measures_are_those_of_all_elements_together() -> None:
    """Adding two pairs is the same as adding their concatenation."""
    one, two = RNG.standard_normal((2, 4, 10)).astype(np.float32)
    noisy = two + RNG.standard_normal((4, 10)).astype(np.float32) / 100
    errors = Errors()
    errors.add(one, one)
    errors.add(two, noisy)
    exact = np.concatenate([one, two]).astype(np.float64).reshape(-1)
    other = np.concatenate([one, noisy]).astype(np.float64).reshape(-1)
    difference = exact - other
    assert errors.max_abs_error == pytest.approx(np.abs(difference).max())
    assert errors.mean_abs_error == pytest.approx(np.abs(difference).mean())
    assert errors.snr_db == pytest.approx(10 * math.log10((exact @ exact) / (difference @ difference)))
    assert errors.cosine == pytest.approx(exact @ other / np.linalg.norm(exact) / np.linalg.norm(other))


def test_merging_is_adding() -> None:
    """Sums that were filled apart and merged are those filled together."""
    pairs = [(RNG.standard_normal((3, 5)), RNG.standard_normal((3, 5))) for _ in range(2)]
    together, merged = Errors(), Errors()
    for one, two in pairs:
        together.add(one, two)
        alone = Errors()
        alone.add(one, two)
        merged = merged.merged(alone)
    assert vars(merged) == pytest.approx(vars(together))


def test_equal_arrays_have_no_error() -> None:
    """The signal-to-noise ratio is infinite, the cosine 1, also of zeros."""
    errors = Errors()
    errors.add(np.zeros(4), np.zeros(4))
    assert errors.snr_db == math.inf
    assert errors.cosine == 1.0
    assert errors.max_abs_error == 0


def test_what_is_not_finite_counts_where_the_reference_is() -> None:
    """Infinity beside a number is an infinite error; the same infinity on both sides, as in masks, is none."""
    errors = Errors()
    errors.add(np.array([1.0, -np.inf, np.nan]), np.array([1.0, -np.inf, np.nan]))
    assert errors.max_abs_error == 0
    errors.add(np.array([1.0, 2.0]), np.array([1.0, np.inf]))
    assert errors.broken == 1
    assert errors.max_abs_error == math.inf
    assert errors.snr_db == -math.inf
    assert math.isnan(errors.cosine)


def test_top1_looks_at_the_last_axis_that_is_longer_than_one() -> None:
    """[n, classes, 1, 1] is n rows of classes; a scalar per row has no top."""
    reference = np.array([[1.0, 3.0, 2.0], [5.0, 1.0, 2.0]]).reshape(2, 3, 1, 1)
    other = reference.copy()
    other[1, 2] = 9.0
    errors = Errors()
    errors.add(reference, other)
    assert errors.top1_agreement == 0.5
    empty = Errors()
    empty.add(np.ones((4, 1)), np.ones((4, 1)))
    assert math.isnan(empty.top1_agreement)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_accepts_its_own_threshold(name: str) -> None:
    """A value at the threshold is good, one on the other side is not, and a missing one is the worst."""
    chosen = metric(name)
    worse = -1.0 if chosen.higher_is_better else 1.0
    assert chosen.accepts(chosen.default, chosen.default)
    assert not chosen.accepts(chosen.default + worse, chosen.default)
    assert not chosen.accepts(chosen.value(Errors(broken=1)), chosen.default)


def test_an_unknown_metric_is_refused() -> None:
    """The error lists the ones that there are."""
    with pytest.raises(OptionError, match="snr_db") as caught:
        metric("accuracy")
    assert "there is no metric 'accuracy'" in str(caught.value)
