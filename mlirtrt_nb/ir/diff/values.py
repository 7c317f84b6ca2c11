"""Whether the value names of two aligned lines mean the same values."""

from __future__ import annotations

import re

from .lines import VALUE

__all__ = ["Names"]

# What stands where a line gives a value its name: results, arguments of functions, blocks and loops.
_RESULTS = re.compile(r"\s*(%[^=\"(<{]*) = ")
_ARGUMENT = re.compile(r"(%[A-Za-z0-9_$.-]+)(?=: | = %)")


class Names:
    """The names seen so far on both sides, and which of them name the same value.

    Lines are given in the order of the texts, so the last definition of a name is the one in sight.
    """

    def __init__(self) -> None:
        self._after_of: dict[str, str | None] = {}
        self._before_of: dict[str, str | None] = {}

    def only_before(self, line: str) -> None:
        """A line that went: what it defined has no like on the other side, as far as is known."""
        for name in _defined(line):
            self._after_of[name] = None

    def only_after(self, line: str) -> None:
        """A line that came."""
        for name in _defined(line):
            self._before_of[name] = None

    def replaced(self, before: str, after: str) -> None:
        """An op that took another's place: what reads the one's results has now the other's."""
        for old, new in zip(_defined(before), _defined(after), strict=False):
            self._join(old, new)

    def rewired(self, before: str, after: str) -> tuple[int, ...]:
        """Which names of two lines of one key stand for different values, counted from 0 along the line. What
        the lines define is the same value from then on."""
        olds, news = VALUE.findall(before), VALUE.findall(after)
        made_before, made_after = _defined(before), _defined(after)
        found = [
            number
            for number, (old, new) in enumerate(zip(olds, news, strict=False))
            if new not in made_after and not self._same(old, new)
        ]
        for old, new in zip(made_before, made_after, strict=False):
            self._join(old, new)
        return tuple(found)

    def _same(self, old: str, new: str) -> bool:
        known, known_back = self._after_of.get(old), self._before_of.get(new)
        if known is None and known_back is None:
            # Both come from lines that changed: the new one has taken the old one's place.
            self._join(old, new)
            return True
        return known == new and known_back == old

    def _join(self, old: str, new: str) -> None:
        self._after_of[old] = new
        self._before_of[new] = old


def _defined(line: str) -> list[str]:
    results = _RESULTS.match(line)
    # Only what opens a region or a block names arguments.
    opens = line.endswith(("{", ":"))
    if results:
        names = VALUE.findall(results.group(1))
        return [*names, *_ARGUMENT.findall(line, results.end())] if opens else names
    return _ARGUMENT.findall(line) if opens else []
