"""Keeps what a native library writes to the terminal by itself off the terminal.

TensorRT's builder has a logger, and MLIR raises errors, yet parts of both write to standard output and standard
error directly. Those are of the process, not of a Python object, so the file descriptors are turned aside.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["NativeOutput"]

_DESCRIPTORS = (1, 2)
_lock = threading.Lock()


class NativeOutput:
    """Standard output and error turned aside in a block; `take` gets each line of the library's, which is one
    that holds one of `marks`.

    Lines of other writers are written where they belong when the block ends. One block at a time holds the
    descriptors; a second one at the same time leaves them alone.
    """

    def __init__(self, take: Callable[[str], None], marks: Iterable[str]) -> None:
        self._take = take
        self._marks = tuple(marks)
        self._turned: list[tuple[int, int, Any]] = []  # descriptor, its duplicate, the file in its place

    def __enter__(self) -> NativeOutput:
        if _lock.acquire(blocking=False):
            for descriptor in _DESCRIPTORS:
                with contextlib.suppress(OSError):  # one that is closed has nothing to protect
                    self._turned.append((descriptor, os.dup(descriptor), tempfile.TemporaryFile()))
            if not self._turned:
                _lock.release()
            self._aside()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._turned:
            return
        self._back()
        turned, self._turned = self._turned, []
        _lock.release()
        for descriptor, saved, file in turned:
            os.close(saved)
            with file:
                self._hand_over(descriptor, file)

    @contextlib.contextmanager
    def as_it_was(self) -> Iterator[None]:
        """Both as they were, for the user's own code meanwhile."""
        self._back()
        try:
            yield
        finally:
            self._aside()

    def _aside(self) -> None:
        _flush()
        for descriptor, _, file in self._turned:
            os.dup2(file.fileno(), descriptor)

    def _back(self) -> None:
        _flush()
        for descriptor, saved, _ in self._turned:
            os.dup2(saved, descriptor)

    def _hand_over(self, descriptor: int, file: Any) -> None:
        file.seek(0)
        for raw in file:
            line = raw.decode(errors="replace")
            if any(mark in line for mark in self._marks):
                self._take(line.rstrip("\n"))
            else:
                os.write(descriptor, raw)


def _flush() -> None:
    """Send what Python and the C library still hold in their buffers to where it belongs now."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
