"""Four-bit numbers two to a byte."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from mlirtrt_nb.container import PROGRAM, read, write
from mlirtrt_nb.ir.nibbles import pack, unpack


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn])
@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 33])
def test_there_and_back(dtype: type, count: int) -> None:
    """Every number comes back, also an odd one out, in half the bytes."""
    raw = np.arange(count) % 16
    array = (raw - 8 if dtype is ml_dtypes.int4 else raw % 6).astype(np.float32).astype(dtype)
    packed = pack(array)
    assert packed.size == (count + 1) // 2
    np.testing.assert_array_equal(unpack(packed, np.dtype(dtype), count), array)


def test_the_first_is_in_the_low_half() -> None:
    """As ONNX and TensorRT have it."""
    assert pack(np.array([1, -2, 7], ml_dtypes.int4)).tolist() == [0xE1, 0x07]


def test_files_hold_half_a_byte_each(tmp_path: Path) -> None:
    """An array of int4 in a file takes half its count, and is the same when it is read."""
    array = (np.arange(1001) % 16 - 8).astype(ml_dtypes.int4).reshape(7, 143)
    sizes = [write(tmp_path / "a", PROGRAM, {}, {}, {"w": array}), write(tmp_path / "b", PROGRAM, {}, {}, {})]
    assert sizes[0] - sizes[1] < 600
    found = read(tmp_path / "a", PROGRAM).arrays["w"]
    assert found.dtype == ml_dtypes.int4
    np.testing.assert_array_equal(found, array)
