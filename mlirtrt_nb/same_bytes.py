"""Which arrays hold the same bytes, so that a file holds them once: a weight under two shapes, or a copy."""

from __future__ import annotations

import numpy as np

__all__ = ["SameBytes", "equal_arrays"]

_CHUNK = 8 << 20  # compared at a time
_ENDS = 64


class SameBytes:
    """Places in a file by the bytes that are there.

    Few arrays agree in size and at both ends, so that hardly ever two are compared that differ.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[int, bytes, bytes], list[tuple[memoryview, list[int]]]] = {}

    def find(self, data: memoryview) -> list[int] | None:
        """The place of the same bytes; None if there is none."""
        return next((place for other, place in self._places.get(_ends(data), ()) if _equal(data, other)), None)

    def add(self, data: memoryview, place: list[int]) -> None:
        """Remember that `data` (flat bytes) lies at `place`. The memory is held."""
        if data.nbytes:
            self._places.setdefault(_ends(data), []).append((data, place))


def equal_arrays(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays agree in dtype, shape and every byte. One object is equal to itself, unread."""
    if a is b:
        return True
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.hasobject:
        return np.array_equal(a, b)
    return _equal(*(np.ascontiguousarray(side).reshape(-1).view(np.uint8).data for side in (a, b)))


def _ends(data: memoryview) -> tuple[int, bytes, bytes]:
    return data.nbytes, bytes(data[:_ENDS]), bytes(data[-_ENDS:])


def _equal(data: memoryview, other: memoryview) -> bool:
    a, b = (np.frombuffer(side, np.uint8) for side in (data, other))
    if a.ctypes.data == b.ctypes.data:
        return True
    return all(np.array_equal(a[n : n + _CHUNK], b[n : n + _CHUNK]) for n in range(0, len(a), _CHUNK))
