"""Bound buffers that share memory."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from ..errors import InputError
from .device_array import DeviceArray

__all__ = ["check_apart"]


def check_apart(reads: Mapping[str, Any], writes: Mapping[str, Any]) -> None:
    """Raise InputError for a written buffer that lies in the memory of another, which steps may still need.

    Args:
        reads, writes: contiguous arrays in host or device memory, by what messages call them; anything else,
            and what is empty, shares no memory. Buffers that are only read may be the same.
    """
    spans = {name: _span(array) for name, array in chain(reads.items(), writes.items())}
    for name in writes:
        first, last = spans[name]
        for other, (start, stop) in spans.items():
            if other != name and max(first, start) < min(last, stop):
                raise InputError(
                    f"{name} is bound to memory of {other}", hint="bind every output to memory of its own"
                )


def _span(array: Any) -> tuple[int, int]:
    """Where the memory begins and ends. Host and device addresses never meet."""
    if isinstance(array, DeviceArray):
        return array.address, array.address + array.nbytes
    if isinstance(array, np.ndarray):
        return array.ctypes.data, array.ctypes.data + array.nbytes
    return 0, 0
