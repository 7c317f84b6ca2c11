"""Texts that differ only in values, constants, lists of integers and notes are worked out once.

Large modules repeat themselves: the same op with the same types, on other values, weights or offsets, and with
other notes: attributes with a dot in their name, which belong to other dialects and mean nothing to the op. So
a line is first looked up with these left out; what was made of it then only gets them back.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .tokens import IDENT, STRING, VALUE

__all__ = ["Template", "Templates", "has_stand_in"]

# A value, a constant with its contents, a list of integers, or a note: `.name = number` or `.name = "text"`,
# from the dot in its name on. Each alternative begins with a plain character,
# by which the search skips what cannot match; that makes it three times as fast.
_VARYING = re.compile(
    rf"({VALUE}|dense(?:<|_resource<(?!__elided__))(?:{STRING}|[^<>\"%]++)>"
    r"|\[-?\d[\d, -]*+\]|array(?<!SegmentSizes = array)<i(?:32|64): -?\d[\d, -]*+>"
    rf"|\.{IDENT} = (?:-?\d[\w.+-]*+(?: : [a-z]\w*+)?+|{STRING})(?=[,}}]))",
    re.ASCII,
)
# A list of integers is stood in for by one that nobody writes, since it must still read as an integer.
_STAND_IN = "9000000"
_MOST = 1000
_PLACE = re.compile(rf"(?:dense|dense_resource)<%(\d+)>|%(\d+)|{_STAND_IN}(\d\d\d)")
# Integers that mean more than themselves: a dynamic dimension or offset.
_SPECIAL = ("-2147483648", "-9223372036854775808", _STAND_IN)
# Looking up costs a little; where the lines of a text do not repeat, it is given up.
_TRIAL = 400


def has_stand_in(text: str) -> bool:
    """Whether `text` has integers that only stand for others."""
    return _STAND_IN in text


class Template:
    """A text with places for what varies; `types` are those of the results, where it is an op to be read."""

    __slots__ = ("_form", "_places", "types")

    def __init__(self, text: str, types: list[str]) -> None:
        pieces = _PLACE.split(text)
        self._form = "%s".join([piece.replace("%", "%%") for piece in pieces[::4]])
        self._places = [
            int(a or b or c) for a, b, c in zip(pieces[1::4], pieces[2::4], pieces[3::4], strict=True)
        ]
        self.types = types

    def fill(self, varying: list[str]) -> str:
        """The text with `varying` in its places."""
        return self._form % tuple(map(varying.__getitem__, self._places))


class Templates:
    """Templates by the texts that they were made from, without what varies."""

    def __init__(self, make: Callable[[str], Template | None], whole: str) -> None:
        """`make(text)` gives the template for a text whose values are `%0`, `%1`, ..., whose constants are
        `dense<%2>`, whose notes are `a.b = %3`, and whose lists of integers have a stand-in; None if it has
        none. `whole` is where all the texts come from."""
        self._make = make
        self._special = any(special in whole for special in _SPECIAL)
        self._found: dict[str, Template | None] = {}
        self._asked = 0

    def lookup(self, text: str) -> tuple[Template, list[str]] | None:
        """The template for `text`, and what varies in it."""
        if self._asked > _TRIAL and len(self._found) * 2 > self._asked:
            return None
        self._asked += 1
        parts = _VARYING.split(text)
        varying = parts[1::2]
        kinds = "".join([part[0] for part in varying])
        if "." in kinds:
            # The names of notes are kept, since no two may be the same.
            kinds = "".join([part.partition(" ")[0] if part[0] == "." else part[0] for part in varying])
        key = "%".join(parts[::2]) + kinds
        try:
            template = self._found[key]
        except KeyError:
            fits = len(varying) <= _MOST and not self._is_special(text)
            template = self._found[key] = self._make(_with_stand_ins(parts)) if fits else None
        if template is None:
            return None
        lists = "[" in kinds or "array" in text
        if lists and self._is_special(text):
            return None
        if lists or "." in kinds:
            varying = [part if part[0] in "%d" else _contents(part) for part in varying]
        return template, varying

    def _is_special(self, text: str) -> bool:
        """Whether integers in the text may mean more than themselves."""
        return self._special and any(special in text for special in _SPECIAL)


def _contents(part: str) -> str:
    """What varies of a part that is more than that: the integers of a list, the value of a note."""
    if part[0] == "[":
        return part[1:-1]
    if part[0] == ".":
        return part.partition(" = ")[2]
    return part[part.index(":") + 2 : -1]


def _with_stand_ins(parts: list[str]) -> str:
    """The text with stand-ins. `parts` has what is between the varying parts, and these, in turn."""
    text = list(parts)
    for n in range(1, len(parts), 2):
        part, number = parts[n], n // 2
        if part[0] == "[":
            text[n] = f"[{_STAND_IN}{number:03}]"
        elif part[0] == "a":
            text[n] = f"{part[: part.index(':')]}: {_STAND_IN}{number:03}>"
        elif part[0] == ".":
            text[n] = f"{part.partition(' ')[0]} = %{number}"
        else:
            text[n] = f"{part[: part.find('<') + 1]}%{number}{'>' if part[0] == 'd' else ''}"
    return "".join(text)
