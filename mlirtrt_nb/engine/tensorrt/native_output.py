"""Keeps what a native library writes to the terminal by itself off the terminal.

The builder has a logger, yet some of its parts write to standard error directly when they fail. That is a
property of the process, not of a Python object, so the file descriptor itself is turned aside.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["NativeOutput"]

_STDERR = 2
# How the builder's own lines begin or what they contain; anything else belongs to someone else.
_MARKS = ("Internal Error:", "Myelin", "TRT", "Error Code", "Assertion", "[E]", "[W]")
_lock = threading.Lock()


class NativeOutput:
    """Standard error turned aside while a build runs; `take` gets each line of the builder's.

    Lines of other writers are written to the real standard error when the build ends. Only one build at a
    time holds the descriptor; a second one at the same time leaves it alone.
    """

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._saved = -1
        self._file: Any = None

    def __enter__(self) -> NativeOutput:
        if not _lock.acquire(blocking=False):
            return self
        try:
            self._saved = os.dup(_STDERR)
        except OSError:  # a process without a standard error has nothing to protect
            _lock.release()
            return self
        self._file = tempfile.TemporaryFile()
        self._aside()
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is None:
            return
        self._back()
        os.close(self._saved)
        file, self._file = self._file, None
        _lock.release()
        with file:
            self._hand_over(file)

    @contextlib.contextmanager
    def as_it_was(self) -> Iterator[None]:
        """Standard error as it was, for the user's own code during the build."""
        if self._file is None:
            yield
            return
        self._back()
        try:
            yield
        finally:
            self._aside()

    def _aside(self) -> None:
        _flush()
        os.dup2(self._file.fileno(), _STDERR)

    def _back(self) -> None:
        _flush()
        os.dup2(self._saved, _STDERR)

    def _hand_over(self, file: Any) -> None:
        file.seek(0)
        for raw in file:
            line = raw.decode(errors="replace")
            if any(mark in line for mark in _MARKS):
                self._take(line.rstrip("\n"))
            else:
                os.write(_STDERR, raw)


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
