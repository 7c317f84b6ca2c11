"""Locations at the ends of printed lines, as comments that name the source nodes: `// conv1, relu1`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

__all__ = ["with_source_comments"]

_START = " loc("
_LONGEST = 80  # characters of one comment
# What a fused location holds in angle brackets is no name.
_TOKEN = re.compile(
    r'fused<(?:"(?:[^"\\]|\\.)*"|[^"])*?>(?=\[)|'
    r'"(?P<text>(?:[^"\\]|\\.)*)"(?P<place>:\d+:\d+)?|(?P<call>callsite\()|(?P<other>[()]| at )'
)
_STRING_OR_PAREN = re.compile(r'"(?:[^"\\]|\\.)*"|[()]')


def with_source_comments(text: str) -> str:
    """`text`, printed with locations, with the names of each line's location in a comment after it.

    Locations of block arguments, and ops without a source, leave nothing behind.
    """
    return "\n".join(_line(line) if _START in line else line for line in text.split("\n"))


def _line(line: str) -> str:
    parts: list[str] = []
    at = 0
    names = ""
    for start, end in _locations(line):
        parts.append(line[at:start])
        names = _names(line[start + len(_START) : end - 1]) if end == len(line) else ""
        at = end
    code = "".join([*parts, line[at:]])
    return f"{code}  // {names}" if names else code


def _locations(line: str) -> Iterator[tuple[int, int]]:
    """Where each outermost ` loc(...)` starts and ends; what stands in strings is none."""
    depth = start = 0
    for match in _STRING_OR_PAREN.finditer(line):
        if match.group() == "(":
            if depth == 0 and line.startswith(_START, match.start() - len(_START) + 1):
                start, depth = match.start() - len(_START) + 1, 1
            elif depth:
                depth += 1
        elif match.group() == ")" and depth:
            depth -= 1
            if depth == 0:
                yield start, match.end()


@lru_cache(maxsize=4096)
def _names(location: str) -> str:
    """The names in a location's text, as `ir.locations.sources_of` finds them in a location."""
    names = " ".join(", ".join(dict.fromkeys(_walk(location))).split())
    # A brace at the end of a line would look like a region that opens.
    return names.rstrip(" {") if len(names) <= _LONGEST else f"{names[: _LONGEST - 1]}…"


def _walk(location: str) -> Iterator[str]:
    """Names and places of files in order; not what a name was made from, nor a call's caller."""
    from ..constants import unescaped

    stack: list[str] = []  # what each open parenthesis holds: "call", "from" or ""
    named = False
    for match in _TOKEN.finditer(location):
        if match["text"] is not None and not any(kind in ("from", "caller") for kind in stack):
            yield unescaped(match["text"]) + (match["place"] or "")
        if match["call"]:
            stack.append("callee")
        elif match["other"] == "(":
            stack.append("from" if named else "")
        elif match["other"] == ")" and stack:
            stack.pop()
        elif match["other"] == " at " and stack and stack[-1] == "callee":
            stack[-1] = "caller"
        named = match["text"] is not None and not match["place"]
