"""Numbers as people read them. A missing number is an en dash, never a zero."""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "MISSING",
    "byte_size",
    "count",
    "decibels",
    "duration",
    "missing",
    "number",
    "plural",
    "share",
]

MISSING = "–"
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


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
    units = iter(_BYTE_UNITS)
    unit = next(units)
    while abs(size) >= 1024 and unit != _BYTE_UNITS[-1]:
        size, unit = size / 1024, next(units)
    digits = 0 if unit == "B" or abs(size) >= 100 else 1
    return f"{size:.{digits}f} {unit}"


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
    if abs(value) >= 1:
        return f"{value:.3g} s"
    return f"{value * 1e3:.3g} ms" if abs(value) >= 1e-3 else f"{value * 1e6:.3g} µs"


def count(value: Any) -> str:
    """A whole number with thin groups of three: "1 240"."""
    return MISSING if missing(value) else f"{int(value):,}".replace(",", " ")


def plural(number: int, noun: str) -> str:
    """ "1 engine", "3 engines", "2 entries", "2 arrays"."""
    if number == 1:
        return f"1 {noun}"
    many = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count(number)} {many}"


def number(value: Any) -> str:
    """A number with four digits: "0.001234", "1.2e+05"; "∞" where it is infinite."""
    return _written(value, "{:.4g}", "∞", "-∞")


def decibels(value: Any) -> str:
    """A ratio in dB: "31.2 dB"; "exact" where there is no noise, "-∞ dB" where there is nothing else."""
    return _written(value, "{:.1f} dB", "exact", "-∞ dB")


def _written(value: Any, finite: str, endless: str, negative: str) -> str:
    """A number by the pattern `finite`, or the words for an infinite one."""
    if missing(value):
        return MISSING
    if math.isinf(value := float(value)):
        return endless if value > 0 else negative
    return finite.format(value)


def share(value: Any) -> str:
    """A part of 1 in percent: "12 %", "0.3 %"; "100 %" only for all of it."""
    if missing(value):
        return MISSING
    percent = 100 * float(value)
    if 0 < percent < 1:
        return f"{percent:.1g} %"
    return "100 %" if percent >= 100 else f"{min(percent, 99.9):.3g} %"
