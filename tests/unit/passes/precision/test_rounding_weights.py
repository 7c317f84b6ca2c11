"""Weights in small types: what they stand for is near what they were, whatever the granularity."""

from __future__ import annotations

import numpy as np
import pytest

from mlirtrt_nb.passes.precision.rounding_weights import (
    block_of,
    in_blocks,
    per_channel,
    per_tensor,
)

LEAST = 2.0**-126


def weights(*shape: int) -> np.ndarray:
    """Normal numbers, whose deviation grows from the first row to the last by a thousand."""
    rows = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return rows * np.geomspace(1, 1000, shape[0], dtype=np.float32).reshape(-1, *[1] * (len(shape) - 1))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_per_channel(axis: int) -> None:
    """Within half a step of its channel, and the largest of each channel is 127."""
    array = weights(4, 6, 10)
    made = per_channel(array, "i8", axis, LEAST)
    shape = [1, 1, 1]
    shape[axis] = -1
    step = made.scale.reshape(shape)
    assert np.all(np.abs(made.weights * step - array) <= step * 0.5001)
    others = tuple(n for n in range(3) if n != axis)
    np.testing.assert_array_equal(np.abs(made.weights.astype(int)).max(others), 127)
    assert made.axis == axis and made.weights.dtype == np.int8


def test_per_tensor_fp8() -> None:
    """One scale; within the precision of 3 bits of fraction, or half the smallest step."""
    array = weights(3, 50)
    made = per_tensor(array, "f8E4M3FN", LEAST)
    real = made.weights.astype(np.float32) * made.scale
    assert made.scale.shape == () and np.abs(made.weights.astype(np.float32)).max() == 448
    assert np.all(np.abs(real - array) <= np.maximum(np.abs(array) / 16, made.scale * 2.0**-10) * 1.001)


@pytest.mark.parametrize("axis", [0, 1])
def test_blocks(axis: int) -> None:
    """Each block has a scale of its own, and is no worse than by its largest value alone."""
    array = weights(64, 96)
    made = in_blocks(array, "i4", axis, 32, LEAST)
    assert made.scale.shape == ((2, 96) if axis == 0 else (64, 3)) and made.axis is None
    wide = np.repeat(made.scale, 32, axis)
    found = made.weights.astype(np.float32) * wide
    parts = np.abs(array).reshape((2, 32, 96) if axis == 0 else (64, 3, 32))
    top = np.repeat(parts.max(1 + (axis == 1)), 32, axis) / 7
    naive = np.clip(np.rint(array / top), -7, 7) * top
    assert np.sum((found - array) ** 2 / wide**2) <= np.sum((naive - array) ** 2 / wide**2)
    assert np.abs(made.weights.astype(np.int8)).max() == 7


def test_block_sizes() -> None:
    """The largest divisor up to what was asked for; none under 16."""
    assert [block_of(depth, 128) for depth in (1024, 288, 147, 64, 9, 17, 131)] == [
        128,
        96,
        49,
        64,
        None,
        17,
        None,
    ]


def test_zeros_and_tiny_channels() -> None:
    """A channel of zeros has a scale and stays zero; no scale is below the least."""
    array = np.zeros((2, 32), np.float32)
    array[1] = 1e-6
    made = per_channel(array, "i8", 0, 2.0**-14)
    np.testing.assert_array_equal(made.scale, np.float32(2.0**-14))
    assert not made.weights[0].any() and np.isfinite(made.scale).all()
    assert in_blocks(array, "i4", 1, 32, LEAST).scale.min() > 0


def test_large_arrays_are_rounded_in_parts() -> None:
    """Parts and the whole give the same."""
    from mlirtrt_nb.passes.precision import rounding_weights

    array = weights(7, 1000)
    whole = per_channel(array, "i8", 0, LEAST).weights
    before = rounding_weights._CHUNK
    rounding_weights._CHUNK = 2000
    try:
        np.testing.assert_array_equal(per_channel(array, "i8", 0, LEAST).weights, whole)
        np.testing.assert_array_equal(per_channel(array, "i8", 1, LEAST).weights.shape, array.shape)
    finally:
        rounding_weights._CHUNK = before
