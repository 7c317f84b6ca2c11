"""Names of several results of one op.

MLIR keeps one name per location, and prints `%v:2` for two results, or `%v, %v_0`. A location "v,i" holds
both names; MLIR prints the comma in hexadecimal, `%v2Ci:2`, from which the two are found again.
"""

from __future__ import annotations

import re

__all__ = ["joined", "split_groups"]

_COMMA = "2C"
_NAME = r"%[\w$.-]*2C[\w$.-]*"
_GROUP = re.compile(rf"({_NAME}):(\d+)(?= =)", re.ASCII)
_LISTED = re.compile(rf"({_NAME})((?:, {_NAME})+)(?= =)", re.ASCII)
_VALUE = re.compile(r"%[-\w$.]+", re.ASCII)
# What MLIR adds to a name that is taken.
_SUFFIX = re.compile(r"_\d+$")


def joined(names: list[str]) -> str:
    """One name for the values of one op; each name begins with `%`."""
    return "%" + ",".join(name[1:] for name in names)


def split_groups(text: str) -> str:
    """Printed text in which each result has its own name again, as far as these are free."""
    if _COMMA not in text:
        return text
    groups = {name: _parts(name, int(count)) for name, count in _GROUP.findall(text)}
    listed = [(first, *_VALUE.findall(rest)) for first, rest in _LISTED.findall(text)]
    lists = {names: _parts(names[0], len(names)) for names in listed}
    taken = set(_VALUE.findall(text))
    shown: dict[str, list[str]] = {}
    for names, parts in [((name,), parts) for name, parts in groups.items()] + list(lists.items()):
        if parts and not taken & set(parts):
            shown |= (
                {names[0]: parts} if len(names) == 1 else {n: [p] for n, p in zip(names, parts, strict=True)}
            )
    if not shown:
        return text
    return re.sub(rf"({_NAME})(?::\d+|#(\d+))?", lambda match: _replaced(shown, match), text, flags=re.ASCII)


def _parts(name: str, count: int) -> list[str]:
    """The names in one; none where it only looks like several."""
    suffix = _SUFFIX.search(name)
    end = suffix.group() if suffix else ""
    parts = name[1 : len(name) - len(end)].split(_COMMA)
    names = [f"%{part}{end}" for part in parts]
    return names if len(parts) == count == len(set(names)) and all(parts) else []


def _replaced(shown: dict[str, list[str]], match: re.Match[str]) -> str:
    parts = shown.get(match.group(1))
    if parts is None:
        return match.group()
    number = match.group(2)
    return ", ".join(parts) if number is None else parts[int(number)]
