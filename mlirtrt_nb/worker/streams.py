"""What Python code in the worker prints, line by line to the process it works for."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import suppress

from .output import BoundedText

__all__ = ["PrintedText"]

_SENT_BYTES = 250_000  # of one step line by line; of the rest the end, when the step ends


class PrintedText:
    """Takes the place of `sys.stdout` (1) and `sys.stderr` (2), and hands text to `take(number, text)`."""

    def __init__(self, take: Callable[[int, str], None]) -> None:
        self._take = take
        self._open()

    def _open(self) -> None:
        self._writers = [_Writer(1, self._take), _Writer(2, self._take)]
        self._streams = [_stream(writer) for writer in self._writers]
        sys.stdout, sys.stderr = self._streams

    def end_step(self) -> None:
        """Hand over what is left; what the step closed, or put in their place, is not the next one's."""
        for stream in (sys.stdout, sys.stderr, *self._streams):
            with suppress(OSError, ValueError, AttributeError):  # the user's code may have put another there
                stream.flush()
        for writer in self._writers:
            writer.end_step()
        if [sys.stdout, sys.stderr] != self._streams or any(stream.closed for stream in self._streams):
            self._open()


class _Writer(io.RawIOBase):
    """A file whose bytes are handed on. Its descriptor is the real one, for those who write to that."""

    def __init__(self, number: int, take: Callable[[int, str], None]) -> None:
        self._number = number
        self._take = take
        self._sent = 0
        self._rest = BoundedText()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def write(self, data: object) -> int:
        encoded = bytes(data)  # type: ignore[call-overload]
        if self._sent < _SENT_BYTES:
            self._sent += len(encoded)
            self._hand_over(encoded.decode(errors="replace"))
        else:
            self._rest.add(encoded)
        return len(encoded)

    def end_step(self) -> None:
        rest, self._rest, self._sent = str(self._rest), BoundedText(), 0
        if rest:
            self._hand_over(rest)

    def _hand_over(self, text: str) -> None:
        with suppress(OSError):  # the parent has gone
            self._take(self._number, text)


def _stream(writer: _Writer) -> io.TextIOWrapper:
    raw = io.BufferedWriter(writer, 8192)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", line_buffering=True)
