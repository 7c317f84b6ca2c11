"""Texts that differ only in values and in the contents of constants are worked out once.

Large modules repeat themselves: the same op with the same attributes and types, on other values or weights.
So a line is first looked up with these left out; what was made of it then only gets them back.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .tokens import STRING, VALUE

__all__ = ["Template", "Templates"]

# A value, or a constant with its contents.
_VALUE = re.compile(
    rf"({VALUE}|dense<(?:{STRING}|[^<>\"%]++)>|dense_resource<(?!__elided__)(?:{STRING}|[^<>\"%]++)>)", re.ASCII
)
_PLACE = re.compile(r"(?:dense|dense_resource)<%(\d+)>|%(\d+)")
# Looking up costs a little; where the lines of a text do not repeat, it is given up.
_TRIAL = 400


class Template:
    """A text with places for values; `types` are those of the results, where it is an op to be read."""

    __slots__ = ("_form", "_places", "types")

    def __init__(self, text: str, types: list[str]) -> None:
        places = [int(a or b) for a, b in _PLACE.findall(text)]
        self._form = "%s".join([piece.replace("%", "%%") for piece in _PLACE.split(text)[::3]])
        self._places = places
        self.types = types

    def fill(self, values: list[str]) -> str:
        """The text with `values` in its places."""
        return self._form % tuple([values[n] for n in self._places])


class Templates:
    """Templates by the texts that they were made from, without values."""

    def __init__(self, make: Callable[[str], Template | None]) -> None:
        """`make(text)` gives the template for a text whose values are `%0`, `%1`, ... and whose constants are
        `dense<%2>`; None if it has none."""
        self._make = make
        self._found: dict[str, Template | None] = {}
        self._asked = 0

    def lookup(self, text: str) -> tuple[Template, list[str]] | None:
        """The template for `text`, and its values."""
        if self._asked > _TRIAL and len(self._found) * 2 > self._asked:
            return None
        self._asked += 1
        parts = _VALUE.split(text)
        values = parts[1::2]
        key = "%".join(parts[::2])
        try:
            template = self._found[key]
        except KeyError:
            template = self._found[key] = self._make(_numbered(parts))
        return (template, values) if template is not None else None


def _numbered(parts: list[str]) -> str:
    """The text with numbers for its values. `parts` has what is between them and the values in turn."""
    numbered = list(parts)
    for n in range(1, len(parts), 2):
        opening = parts[n][: parts[n].find("<") + 1]
        numbered[n] = f"{opening}%{n // 2}>" if opening else f"%{n // 2}"
    return "".join(numbered)
