"""Going on after an error: what else is wrong in the same text.

MLIR's parser stops at its first error. So the functions with errors are blanked out, lines kept, and the
rest is parsed again, until nothing new is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from ..diagnostics import Found
from .sourcemap import Lines
from .tokens import STRING

__all__ = ["collect"]

_ROUNDS = 8
# Parsing again takes time: not worth it, over and over, for a large text.
_LARGE = 200_000
_FUNCTION = re.compile(r"(?<![\w$.#!@%\"])(?:func\.func|plan\.program)\b")
_BRACE = re.compile(rf"{STRING}|//[^\n]*|([{{}}])|(?<![\w$.#!@%\"])(?:func\.func|plan\.program)\b")
# What breaks only because a function was blanked out.
_FOLLOWS = re.compile(
    r"does not reference|is not a function of this module|undefined symbol|symbol .* not found"
)


def collect(text: str, first: Sequence[Found], parse: Callable[[str], Sequence[Found]]) -> list[Found]:
    """`first`, and what `parse` finds in the functions that these do not touch."""
    found = list(first)
    new = list(first)
    lines_of = Lines(text)
    for _ in range(_ROUNDS if len(text) < _LARGE else 1):
        lines = {entry.span.line for entry in new if entry.span is not None}
        blanked = _without_functions(text, lines)
        if blanked == text:
            break
        text = blanked
        new = [_in_full(e, lines_of) for e in parse(text) if not _FOLLOWS.search(e.message)]
        new = [entry for entry in new if entry not in found]
        found += new
        if not new:
            break
    return found


def _in_full(found: Found, lines: Lines) -> Found:
    """With the line as the user wrote it."""
    if found.span is None:
        return found
    return replace(found, span=replace(found.span, text=lines.line(found.span.line)))


def _without_functions(text: str, lines: set[int]) -> str:
    """`text` with blanks for every function that stands on one of `lines`."""
    numbers = Lines(text)
    for start, end in reversed(_functions(text)):
        first, last = numbers.locate(start)[0], numbers.locate(end)[0]
        if any(first <= line <= last for line in lines):
            blank = re.sub(r"[^\n]", " ", text[start:end])
            text = text[:start] + blank + text[end:]
    return text


def _functions(text: str) -> list[tuple[int, int]]:
    """Where each function begins and ends."""
    starts = [match.start() for match in _BRACE.finditer(text) if _FUNCTION.fullmatch(match.group())]
    return [(start, _end(text, start, following)) for start, following in pairwise([*starts, len(text)])]


def _end(text: str, start: int, following: int) -> int:
    """The end of the function at `start`: its last brace that is not one of what encloses it."""
    depth, end = 0, start
    for match in _BRACE.finditer(text, start, following):
        if match.group(1) == "{":
            depth += 1
        elif match.group(1) == "}":
            depth -= 1
            if depth < 0:
                return end
            if depth == 0:
                end = match.end()
    return end if end > start else following
