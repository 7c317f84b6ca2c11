"""Texts that differ only in the names of values are worked out once.

Large modules repeat themselves: the same op with the same attributes and types, on other values. So a line
is first looked up with its values left out; what was made of it then only gets its values back.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .tokens import VALUE

__all__ = ["Template", "Templates"]

_VALUE = re.compile(VALUE, re.ASCII)
_PLACE = re.compile(r"%(\d+)")
# Looking up costs a little; where the lines of a text do not repeat, it is given up.
_TRIAL = 400


class Template:
    """A text with places for values; `types` are those of the results, where it is an op to be read."""

    __slots__ = ("literals", "places", "types")

    def __init__(self, text: str, types: list[str]) -> None:
        parts = _PLACE.split(text)
        self.literals = parts[0::2]
        self.places = [int(n) for n in parts[1::2]]
        self.types = types

    def fill(self, values: list[str]) -> str:
        """The text with `values` in its places."""
        pieces = [self.literals[0]]
        for place, literal in zip(self.places, self.literals[1:], strict=True):
            pieces.append(values[place])
            pieces.append(literal)
        return "".join(pieces)


class Templates:
    """Templates by the texts that they were made from, without values."""

    def __init__(self, make: Callable[[str], Template | None]) -> None:
        """`make(text)` gives the template for a text whose values are `%0`, `%1`, ...; None if it has none."""
        self._make = make
        self._found: dict[str, Template | None] = {}
        self._asked = 0

    def lookup(self, text: str) -> tuple[Template, list[str]] | None:
        """The template for `text`, and its values."""
        if self._asked > _TRIAL and len(self._found) * 2 > self._asked:
            return None
        self._asked += 1
        key = _VALUE.sub("%", text)
        try:
            template = self._found[key]
        except KeyError:
            count = iter(range(text.count("%")))
            template = self._found[key] = self._make(_VALUE.sub(lambda _: f"%{next(count)}", text))
        return (template, _VALUE.findall(text)) if template is not None else None
