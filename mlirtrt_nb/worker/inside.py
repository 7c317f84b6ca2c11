"""What code that may run in the worker says to the process it works for. Elsewhere nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["active", "doing", "enter", "tell"]

# Set in the worker: sends an event.
_Teller = Callable[[str, Any], None]
_teller: _Teller | None = None


def enter(teller: _Teller) -> None:
    """Called once, by the worker itself."""
    global _teller
    _teller = teller


def active() -> bool:
    """Whether this process is a worker."""
    return _teller is not None


def tell(kind: str, value: Any) -> None:
    """Hand an event to whoever waits for this call."""
    if _teller is not None:
        _teller(kind, value)


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Name a step ("pass cse", "engine 'x' for sm89"), so that a crash and native output are put down to it."""
    if _teller is None:
        yield
        return
    _teller("doing", what)
    try:
        yield
    finally:
        _teller("did", what)
