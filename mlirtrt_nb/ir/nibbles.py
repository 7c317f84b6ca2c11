"""Four-bit numbers two to a byte, the first in the low half: how files and engines store them."""

from __future__ import annotations

import numpy as np

__all__ = ["pack", "unpack"]


def pack(array: np.ndarray) -> np.ndarray:
    """The bytes of an array of 4-bit numbers, each of which NumPy holds in a byte; the last half may be 0."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & 0x0F
    packed = raw[0::2].copy()
    high = raw[1::2]
    packed[: high.size] |= high << 4
    return packed


def unpack(packed: np.ndarray, dtype: np.dtype, count: int) -> np.ndarray:
    """`count` numbers of a 4-bit dtype from their bytes."""
    raw = np.empty((packed.size, 2), np.uint8)
    raw[:, 0], raw[:, 1] = packed & 0x0F, packed >> 4
    flat = raw.reshape(-1)[:count]
    if dtype.name == "int4":  # NumPy's form has the sign in all the bits above
        flat = ((flat ^ 8).astype(np.int8) - np.int8(8)).view(np.uint8)
    return flat.view(dtype)
