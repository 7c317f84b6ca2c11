"""The keys by which lines are compared: without indentation, value names and block labels."""

from __future__ import annotations

import re

__all__ = ["VALUE", "line_keys"]

# A value, without the number of its result: `%12` of `%12#1`.
VALUE = re.compile(r"%[A-Za-z0-9_$.-]+")
_LABEL = re.compile(r"\^[A-Za-z0-9_$.-]+")
_NAME_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|([%^])[A-Za-z0-9_$.-]+')


def line_keys(lines: list[str]) -> list[str]:
    """One key a line. Equal keys mean the same op, attributes and types on maybe other values."""
    return [_key(line) for line in lines]


def _key(line: str) -> str:
    # A percent sign in a string names no value.
    if '"' in line:
        return _NAME_OR_STRING.sub(lambda match: match.group(1) or match.group(0), line).strip()
    line = VALUE.sub("%", line)
    return (_LABEL.sub("^", line) if "^" in line else line).strip()
