"""The limit of time: of a call, or of several calls together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from .settings import Isolation

__all__ = ["Clock", "one_limit", "seconds_left"]


@dataclass
class Clock:
    """What calls have taken. It runs while a worker has a call; that of the worker's start is not counted."""

    before: float = 0.0  # by calls that have ended
    _since: float | None = None

    @classmethod
    def current(cls) -> Clock:
        """That of the calls around, which share a limit; a new one for a call with a limit of its own."""
        return _shared.get() or cls()

    @property
    def running(self) -> bool:
        return self._since is not None

    @property
    def seconds(self) -> float:
        return self.before + (0.0 if self._since is None else time.monotonic() - self._since)

    def start(self) -> None:
        self._since = time.monotonic()

    def stop(self) -> None:
        self.before, self._since = self.seconds, None


_shared: ContextVar[Clock | None] = ContextVar("shared", default=None)


@contextmanager
def one_limit() -> Iterator[None]:
    """In this block the limit of time holds for all calls together, not for each."""
    token = _shared.set(Clock())
    try:
        yield
    finally:
        _shared.reset(token)


def seconds_left(isolation: Isolation) -> float | None:
    """What the calls of a block with `one_limit` may still take; None for any time."""
    limit = isolation.seconds
    return None if limit is None else max(limit - Clock.current().seconds, 0.0)
