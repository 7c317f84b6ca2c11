"""Rounding agrees with ml_dtypes on random values and on the special ones, and saturates where it should."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from mlirtrt_nb.ir import dtypes
from mlirtrt_nb.numerics import rounding

SPECIAL = [
    0.0, -0.0, np.inf, -np.inf, np.nan, 65504.0, 65519.996, 65520.0, -65520.0, 3.4e38, 1e-45, 6e-8, 2.98e-8,
    2.0**-14, 448.0, 463.9, 464.0, 480.0, -1000.0, 0.5, 1.5, 2.5, -0.5, 127.5, -128.5, 7.5, -8.5,
]  # fmt: skip


def values(seed: int) -> np.ndarray:
    """Every size of f32: random bit patterns, ordinary numbers, and the special ones."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    plain = (rng.standard_normal(20_000) * 10.0 ** rng.integers(-8, 8, 20_000)).astype(np.float32)
    return np.concatenate([bits, plain, np.array(SPECIAL, np.float32)])


def same(one: np.ndarray, two: np.ndarray) -> bool:
    """Equal bit by bit, but for the bits of NaN."""
    with np.errstate(invalid="ignore"):  # widening a signalling NaN
        a, b = one.astype(np.float64), two.astype(np.float64)
    nan = np.isnan(a) & np.isnan(b)
    return bool(np.all(nan | ((a == b) & (np.signbit(a) == np.signbit(b)))))


@pytest.mark.parametrize("element", ["f16", "bf16", "f8E5M2"])
@pytest.mark.parametrize("seed", range(3))
def test_floats_with_infinities_round_as_ml_dtypes(element: str, seed: int) -> None:
    """Nearest, ties to even, overflow to infinity, subnormals kept: as the reference library has it."""
    array = values(seed)
    with np.errstate(all="ignore"):
        expected = array.astype(dtypes.by_mlir(element).np)
    assert same(rounding.cast(array, element), expected)


@pytest.mark.parametrize("seed", range(3))
def test_f8_rounds_as_ml_dtypes_and_saturates(seed: int) -> None:
    """Within 448 as ml_dtypes; beyond it, infinities included, the largest number of the same sign."""
    array = values(seed)
    rounded = rounding.cast(array, "f8E4M3FN")
    inside = np.abs(array) <= 448
    assert same(rounded[inside], array[inside].astype(ml_dtypes.float8_e4m3fn))
    outside = np.abs(array) > 448
    np.testing.assert_array_equal(rounded[outside].astype(np.float32), np.sign(array[outside]) * 448)
    assert np.isnan(rounded[np.isnan(array)].astype(np.float32)).all()


@pytest.mark.parametrize("element", ["f16", "bf16", "f8E4M3FN"])
def test_every_narrow_value_survives(element: str) -> None:
    """Widening is exact: every bit pattern comes back, so a value on the grid is never moved."""
    kind = dtypes.by_mlir(element).np
    patterns = np.arange(2 ** (8 * kind.itemsize)).astype(f"u{kind.itemsize}").view(kind)
    assert same(rounding.cast(rounding.widen(patterns), element), patterns)


@pytest.mark.parametrize(("element", "low", "high"), [("i8", -128, 127), ("i4", -8, 7)])
@pytest.mark.parametrize("seed", range(3))
def test_integers_round_half_to_even_and_saturate(element: str, low: int, high: int, seed: int) -> None:
    """round(x / scale) in f32, ties to even, within the type; NaN becomes 0."""
    array = values(seed)
    scale = np.float32(0.037)
    found = rounding.quantize(array, np.array(scale), element).astype(np.int32)
    with np.errstate(all="ignore"):
        exact = np.rint(array / scale).astype(np.float64)
    expected = np.clip(np.where(np.isnan(exact), 0, exact), low, high)
    np.testing.assert_array_equal(found, expected)


def test_ties_go_to_even() -> None:
    """0.5, 1.5, 2.5 and -2.5 in units of the scale become 0, 2, 2 and -2."""
    found = rounding.quantize(np.array([0.5, 1.5, 2.5, -2.5], np.float32), np.array(np.float32(1)), "i8")
    np.testing.assert_array_equal(found, np.array([0, 2, 2, -2], np.int8))


def test_quantized_floats_saturate() -> None:
    """f8 has no infinity: values beyond scale times 448 become 448, and NaN stays NaN."""
    array = np.array([1.0, 300.0, -1e9, np.inf, np.nan], np.float32)
    found = rounding.quantize(array, np.array(np.float32(0.5)), "f8E4M3FN").astype(np.float32)
    np.testing.assert_array_equal(found, np.array([2, 448, -448, 448, np.nan], np.float32))


def test_a_scale_per_channel_and_per_block() -> None:
    """A vector of scales goes along its axis; a scale of the input's rank covers equal blocks."""
    array = np.arange(8, dtype=np.float32).reshape(2, 4)
    by_row = rounding.quantize(array, np.array([1, 2], np.float32), "i8", axis=0)
    np.testing.assert_array_equal(by_row, [[0, 1, 2, 3], [2, 2, 3, 4]])
    blocks = np.array([[1, 2], [4, 8]], np.float32)
    small = rounding.quantize(array, blocks, "i4")
    np.testing.assert_array_equal(small.astype(int), [[0, 1, 1, 2], [1, 1, 1, 1]])
    back = rounding.dequantize(small, blocks, "f32")
    np.testing.assert_array_equal(back, [[0, 1, 2, 4], [4, 4, 8, 8]])


def test_dequantizing_rounds_to_its_type() -> None:
    """i8 times scale has more bits than f16: the product is rounded once."""
    q = np.arange(-128, 128).astype(np.int8)
    scale = np.array(np.float32(0.1))
    found = rounding.dequantize(q, scale, "f16")
    np.testing.assert_array_equal(found, (q.astype(np.float32) * np.float32(0.1)).astype(np.float16))


def test_floats_become_integers_by_truncation() -> None:
    """Towards zero, saturating at the ends of the type, NaN as 0; booleans say what is not zero."""
    array = np.array([1.9, -1.9, 1e10, -1e10, np.nan, np.inf], np.float32)
    np.testing.assert_array_equal(
        rounding.cast(array, "i32"), np.array([1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1], np.int32)
    )
    assert rounding.cast(array, "i64")[5] == 2**63 - 1
    np.testing.assert_array_equal(rounding.cast(array, "i8"), np.array([1, -1, 127, -128, 0, 127], np.int8))
    np.testing.assert_array_equal(rounding.cast(np.array([0.0, -0.0, 0.1]), "i1"), [False, False, True])
