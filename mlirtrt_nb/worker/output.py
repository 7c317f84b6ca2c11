"""What the worker writes to its standard output and error, cut into the steps that wrote it, and bounded."""

from __future__ import annotations

import os
import select
import time
from collections import deque

__all__ = ["BoundedText", "OutputReader"]

_KEPT_BYTES = 32_768  # of the beginning of a step's output, and as many of its end
_CHUNK = 65_536
_MARK_SECONDS = 2.0


class BoundedText:
    """Text of which the beginning and the end are kept."""

    def __init__(self, kept: int = _KEPT_BYTES) -> None:
        self._kept = kept
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Append; of what is too much the middle goes."""
        room = self._kept - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        excess = len(self._tail) - self._kept
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess

    def __str__(self) -> str:
        cut = f"\n… {self._dropped} bytes left out …\n".encode() if self._dropped else b""
        return bytes(self._head + cut + self._tail).decode(errors="replace")


class OutputReader:
    """Reads the pipe that the worker's standard output and error go to.

    `mark` is a line that nobody writes by chance; the worker writes it where the output of a step ends.
    """

    def __init__(self, descriptor: int, mark: bytes) -> None:
        self.descriptor = descriptor
        self._mark = mark
        self._pending = bytearray()  # may hold the beginning of a mark
        self._section = BoundedText()
        self._sections: deque[str] = deque()
        self._ended = False
        os.set_blocking(descriptor, False)

    def drain(self) -> None:
        """Read what is there, without waiting."""
        while not self._ended:
            try:
                data = os.read(self.descriptor, _CHUNK)
            except BlockingIOError:
                return
            self._ended = not data
            self._take(data)
            if len(data) < _CHUNK:
                return

    def section(self) -> str:
        """The output up to the next mark, which has been written already."""
        self.drain()
        while not self._sections and not self._ended:
            if not select.select([self.descriptor], [], [], _MARK_SECONDS)[0]:
                break  # somebody has closed or turned the worker's output aside
            self.drain()
        return self._sections.popleft() if self._sections else self.rest()

    def rest(self) -> str:
        """All output after the last mark."""
        self.drain()
        self._section.add(bytes(self._pending))
        self._pending.clear()
        text, self._section = str(self._section), BoundedText()
        return text

    def until(self, end: str, seconds: float) -> str:
        """All output from now on, marks left out, once it ends so; after so many seconds in any case."""
        text, last = BoundedText(), time.monotonic() + seconds
        while not str(text).endswith(end) and not self._ended and (left := last - time.monotonic()) > 0:
            select.select([self.descriptor], [], [], left)
            self.drain()
            # What was waited for may have let the step go on, and end.
            text.add("".join([*self._sections, self.rest()]).encode())
            self._sections.clear()
        return str(text)

    def _take(self, data: bytes) -> None:
        self._pending += data
        while (found := self._pending.find(self._mark)) >= 0:
            self._section.add(bytes(self._pending[:found]))
            self._sections.append(str(self._section))
            self._section = BoundedText()
            del self._pending[: found + len(self._mark)]
        safe = len(self._pending) - len(self._mark) + 1
        if safe > 0:
            self._section.add(bytes(self._pending[:safe]))
            del self._pending[:safe]
