"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress"]

# Called with what is being done, how many steps of it are done, and of how many (0 where that is not known).
# Returns whether to go on: at False the work raises `Cancelled` as soon as it can.
Progress = Callable[[str, int, int], bool]
