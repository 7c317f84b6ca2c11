"""Histograms that grow, and the thresholds that are found in them."""

from __future__ import annotations

import numpy as np
import pytest

from mlirtrt_nb.activation_ranges import METHODS
from mlirtrt_nb.calibration.histogram import BINS, Histogram
from mlirtrt_nb.calibration.thresholds import _divergences, threshold


def histogram(*arrays: np.ndarray) -> Histogram:
    made = Histogram()
    for array in arrays:
        made.add(array.astype(np.float32))
    return made


def test_counts_are_those_of_numpy() -> None:
    """One batch is counted as numpy.histogram counts its magnitudes, zeros apart."""
    x = np.random.default_rng(0).standard_normal(50_000).astype(np.float32)
    x[:100] = 0
    found = histogram(x)
    wanted, _ = np.histogram(np.abs(x[x != 0]), BINS, (0.0, float(np.abs(x).max())))
    assert found.zeros == 100 and found.counts.sum() == x.size - 100
    # A value on the edge of a bin may be rounded to either side.
    assert np.abs(np.cumsum(found.counts) - np.cumsum(wanted)).max() <= 2


def test_larger_batches_join_bins() -> None:
    """Nothing is lost when the range grows, and the largest magnitude is exact."""
    x = np.random.default_rng(0).standard_normal(10_000)
    found = histogram(x, x * 5, x * 1000)
    assert found.counts.sum() + found.zeros == 30_000
    assert found.amax == np.abs(x * 1000).astype(np.float32).max()
    assert found.width * BINS >= found.amax
    inner = np.abs(np.concatenate([x, x * 5])) < 100 * found.width
    assert found.counts[:100].sum() >= inner.sum()


@pytest.mark.parametrize("method", METHODS)
def test_within_the_data(method: str) -> None:
    """No threshold is beyond the largest magnitude, nor far below what most values need."""
    rng = np.random.default_rng(1)
    for x in (rng.standard_normal(100_000), rng.uniform(-3, 3, 100_000), rng.laplace(size=100_000)):
        found = threshold(histogram(x), method)
        assert np.quantile(np.abs(x), 0.99) <= found <= np.abs(x).max() * 1.000001


def test_outliers_are_clipped() -> None:
    """One value of 50 among normal ones: all but minmax leave it out."""
    x = np.append(np.random.default_rng(2).standard_normal(100_000), 50.0)
    found = {method: threshold(histogram(x), method) for method in METHODS}
    assert found["minmax"] == 50.0
    assert found["percentile"] < 5 and found["entropy"] < 10 and found["mse"] < 40


def test_mse_is_the_best_of_its_candidates() -> None:
    """The error of 8-bit rounding at the threshold is no more than at twice or half of it."""
    x = np.random.default_rng(3).laplace(size=200_000)
    best = threshold(histogram(x), "mse")

    def error(end: float) -> float:
        step = end / 127
        return float(np.mean((np.clip(np.rint(x / step), -127, 127) * step - x) ** 2))

    assert error(best) <= min(error(best * 0.5), error(best * 2), error(np.abs(x).max())) * 1.02


def divergence(counts: np.ndarray, end: int) -> float:
    """Of one candidate, as its definition says it, with each level by itself."""
    p = counts[:end].copy()
    p[-1] += counts[end:].sum()
    q = np.zeros(end)
    for level in range(128):
        part = slice(level * end // 128, (level + 1) * end // 128)
        filled = counts[part] > 0
        if filled.any():
            q[part] = np.where(filled, counts[part].sum() / filled.sum(), 0.0)
    p, q = p / p.sum(), q / max(q.sum(), 1.0)
    q = np.where((p > 0) & (q == 0), 1e-4 / counts.sum(), q)
    return float(np.sum(p[p > 0] * np.log(p[p > 0] / q[p > 0])))


def test_divergences_of_all_candidates_at_once() -> None:
    """Each is that of its definition: also where the last bin, or all bins but what is clipped, are empty."""
    rng = np.random.default_rng(6)
    ends = np.array([128, 144, 1000, 2032, 2048])
    rare = np.where(rng.random(5000) < 0.01, 5.0, 0.1)
    for x in (rng.standard_normal(20_000), rng.laplace(size=300), rare, np.full(9, 2.0)):
        counts = histogram(x).counts.astype(np.float64)
        found = _divergences(counts, ends)
        np.testing.assert_allclose(found, [divergence(counts, end) for end in ends], rtol=1e-9, atol=1e-9)


def test_zeros() -> None:
    """A tensor that is always 0 has a range of 0."""
    assert all(threshold(histogram(np.zeros(10)), method) == 0.0 for method in METHODS)


def test_peaked_values_are_not_all_clipped() -> None:
    """Where most values are close to 0, entropy keeps 99.9 % of them all the same."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.standard_normal(60_000) * 0.01, rng.standard_normal(40_000) * 10])
    assert threshold(histogram(x), "entropy") >= np.quantile(np.abs(x), 0.998)


@pytest.mark.parametrize("method", METHODS)
def test_denormal_values_are_counted(method: str) -> None:
    """The reciprocal of a bin's width is beyond float32 for them; their range is found all the same."""
    x = (np.linspace(0.0, 1.0, 5000) * 1e-39).astype(np.float32)
    found = histogram(x)
    assert found.counts.sum() + found.zeros == x.size
    assert threshold(found, method) == pytest.approx(1e-39, rel=0.01)
