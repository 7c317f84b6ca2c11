"""What Python code in the worker prints, line by line to the process it works for."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import suppress

__all__ = ["forward_streams"]


def forward_streams(take: Callable[[int, str], None]) -> None:
    """Let `sys.stdout` (1) and `sys.stderr` (2) hand text to `take(number, text)`."""
    sys.stdout = _stream(1, take)
    sys.stderr = _stream(2, take)


def _stream(number: int, take: Callable[[int, str], None]) -> io.TextIOWrapper:
    raw = io.BufferedWriter(_Writer(number, take), 8192)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", line_buffering=True)


class _Writer(io.RawIOBase):
    """A file whose bytes are handed on. Its descriptor is the real one, for those who write to that."""

    def __init__(self, number: int, take: Callable[[int, str], None]) -> None:
        self._number = number
        self._take = take

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def write(self, data: object) -> int:
        encoded = bytes(data)  # type: ignore[call-overload]
        with suppress(OSError):  # the parent has gone
            self._take(self._number, encoded.decode(errors="replace"))
        return len(encoded)
