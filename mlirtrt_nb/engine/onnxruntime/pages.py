"""Gives the memory of weights that were read from a file back, until somebody reads them again."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterable

import numpy as np

__all__ = ["release_pages"]


def release_pages(arrays: Iterable[np.ndarray]) -> None:
    """Drop the pages of arrays that are read-only views of a file's memory map.

    ONNX Runtime has its own prepacked copy of most weights by then; the others are read again from the
    file when they are used. Nothing happens to other arrays, or where the platform lacks madvise.
    """
    if not hasattr(mmap, "MADV_DONTNEED") or sys.platform == "darwin":
        return
    maps = {id(found): found for array in arrays if (found := _map_of(array)) is not None}
    for found in maps.values():
        found.madvise(mmap.MADV_DONTNEED)


def _map_of(array: np.ndarray) -> mmap.mmap | None:
    """The read-only memory map beneath an array, None if there is none: a writable one may hold changes."""
    base: object = array
    while base is not None and not isinstance(base, mmap.mmap):
        if isinstance(base, np.ndarray) and base.flags.writeable:
            return None
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return base
