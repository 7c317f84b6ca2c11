"""Gives the memory of weights that lie in a mapped file back while, and after, a session reads them.

ONNX Runtime packs most weights into layouts of its own when a session is made. The pages of the file that it
read would stay in memory until the system needs room: as much again as the weights themselves.
"""

from __future__ import annotations

import mmap
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

__all__ = ["releasing"]

# Less than this is not worth a thread.
_WORTHWHILE = 64 << 20
_PERIOD_SECONDS = 0.02


@contextmanager
def releasing(arrays: Iterable[np.ndarray]) -> Iterator[None]:
    """While the body runs, and at its end, drop the pages of arrays that are read-only views of mapped files.

    Whoever reads such an array afterwards gets its pages from the file again. Nothing happens to other
    arrays, to small ones, or where the platform cannot do it.
    """
    maps = _maps(arrays)
    if not maps:
        yield
        return
    done = threading.Event()

    def release() -> None:
        while not done.wait(_PERIOD_SECONDS):
            _drop(maps)

    worker = threading.Thread(target=release, name="release-pages", daemon=True)
    worker.start()
    try:
        yield
    finally:
        done.set()
        worker.join()
        _drop(maps)


def _drop(maps: list[mmap.mmap]) -> None:
    for found in maps:
        with suppress(ValueError):  # closed meanwhile
            found.madvise(mmap.MADV_DONTNEED)


def _maps(arrays: Iterable[np.ndarray]) -> list[mmap.mmap]:
    if sys.platform != "linux":
        return []  # elsewhere the call does something else, or does not exist
    sizes: dict[int, int] = {}
    found: dict[int, mmap.mmap] = {}
    for array in arrays:
        mapped = _map_of(array)
        if mapped is not None:
            found[id(mapped)] = mapped
            sizes[id(mapped)] = sizes.get(id(mapped), 0) + array.nbytes
    return [mapped for key, mapped in found.items() if sizes[key] >= _WORTHWHILE]


def _map_of(array: np.ndarray) -> mmap.mmap | None:
    """The memory map beneath a read-only array, None if there is none: a writable one may hold changes."""
    base: object = array
    while base is not None and not isinstance(base, mmap.mmap):
        if isinstance(base, np.ndarray) and base.flags.writeable:
            return None
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return base
