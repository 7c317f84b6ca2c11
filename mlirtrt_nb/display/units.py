"""Numbers as people read them. A missing number is an en dash, never a zero."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["MISSING", "byte_size", "count", "duration", "missing", "plural"]

MISSING = "–"


def missing(value: Any) -> bool:
    """Whether `value` is None, NaN or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be a bool
        return True


def byte_size(value: Any) -> str:
    """Bytes with a binary unit: "812 B", "1.5 KiB", "97.8 MiB"."""
    if missing(value):
        return MISSING
    size = float(value)
    if abs(size) < 1024:
        return f"{int(size)} B"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if abs(size) < 1024:
            break
    else:
        size, unit = size / 1024, "TiB"
    return f"{size:.{0 if abs(size) >= 100 else 1}f} {unit}"


def duration(seconds: Any) -> str:
    """A time with a unit that keeps three digits: "3.82 µs", "47.1 ms", "1.32 s", "2 min 05 s"."""
    if missing(seconds):
        return MISSING
    value = float(seconds)
    if not math.isfinite(value):
        return "∞"
    if abs(value) >= 60:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min {rest:02d} s"
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if abs(value) * scale >= 1 or unit == "µs":
            return f"{value * scale:.3g} {unit}"
    raise AssertionError("unreachable")


def count(value: Any) -> str:
    """A whole number with thin groups of three: "1 240"."""
    return MISSING if missing(value) else f"{int(value):,}".replace(",", " ")


def plural(number: int, noun: str) -> str:
    """ "1 engine", "3 engines"; "y" becomes "ies"."""
    if number == 1:
        return f"1 {noun}"
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count(number)} {many}"
