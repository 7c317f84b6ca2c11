"""Keeping the names that users give to values of other dialects' ops, of functions and of blocks.

MLIR forgets names. It can print a value under the name in its location, so a location with the name is put
behind the op or argument that defines it. Where an op ends is only guessed from its lines; a wrong guess
makes MLIR refuse the text, which is then parsed without these names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .tokens import BLANK, SYMBOL, VALUE, Unbalanced, balanced_end, deep_end, skip_blank

__all__ = [
    "NamedArgument",
    "arguments_at",
    "begins_statement",
    "function_arguments",
    "region_op_end",
    "simple_op_end",
]


@dataclass(frozen=True)
class NamedArgument:
    """An argument in a list: where its name stands, its type, where it ends, whether it has a location."""

    name: str
    start: int
    type: str
    end: int
    located: bool


_FUNCTION = re.compile(rf"func\.func{BLANK}(?:(?:public|private|nested)\b{BLANK})?+{SYMBOL}{BLANK}", re.ASCII)
_ARGUMENT = re.compile(rf"{BLANK}({VALUE}){BLANK}:", re.ASCII)
_LOCATION = re.compile(rf"{BLANK}loc(?=\()")


def function_arguments(text: str, start: int) -> list[NamedArgument]:
    """The arguments of the `func.func` at `start`; none for a declaration or anything unusual."""
    match = _FUNCTION.match(text, start)
    return arguments_at(text, match.end()) if match and text[match.end() : match.end() + 1] == "(" else []


def arguments_at(text: str, opening: int) -> list[NamedArgument]:
    """The arguments in the parentheses at `opening`; none where it is no list of `%name: type`."""
    found: list[NamedArgument] = []
    position = opening + 1
    try:
        while match := _ARGUMENT.match(text, position):
            argument = _argument(text, match)
            found.append(argument)
            position = skip_blank(text, argument.end)
            if text[position : position + 1] != ",":
                return found if text[position : position + 1] == ")" else []
            position += 1
    except Unbalanced:
        pass
    return []


def _argument(text: str, match: re.Match[str]) -> NamedArgument:
    start = skip_blank(text, match.end())
    end = deep_end(text, start, typed=False)
    kind = text[start:end]
    following = skip_blank(text, end)
    if text[following : following + 1] == "{":
        end = balanced_end(text, following)
    location = _LOCATION.match(text, end)
    if location is not None:
        end = balanced_end(text, location.end())
    return NamedArgument(match.group(1), match.start(1), kind, end, location is not None)


_ENDS_OPEN = re.compile(r"(?:[,:=(<\[{-]|->|\b(?:to|from|into|in|out|ins|outs|at|by|step))\s*$")
_NEXT_STATEMENT = re.compile(
    rf"(?:{BLANK})(?:\}}|\^|\"|$|[A-Za-z_]\w*\.[A-Za-z_]|(?:return|yield)\b|%[^=\n]*=(?!=))", re.ASCII
)


def begins_statement(text: str, position: int) -> bool:
    """Whether another op, or the end of a region, follows what ends at `position`."""
    return _NEXT_STATEMENT.match(text, position) is not None


def simple_op_end(text: str, start: int) -> int | None:
    """The end of an op that stands on one line, from `start` behind its `=`; None where that is uncertain."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    line = text[start:end].rstrip()
    if "//" in line or "loc(" in line or _ENDS_OPEN.search(line) or not _balanced(line):
        return None
    return start + len(line) if begins_statement(text, end) else None


def region_op_end(text: str, start: int) -> tuple[int, int] | None:
    """For an op with regions, from `start` behind its `=`: where its last `}` stands, and its end.

    None where that is uncertain: it must end on the line of that brace.
    """
    opening = text.find("{", start)
    end = text.find("\n", start)
    if opening < 0 or text[opening + 1 : end].strip() or text[start:opening].count("\n"):
        return None
    try:
        while True:
            close = balanced_end(text, opening) - 1
            end = text.find("\n", close)
            end = len(text) if end < 0 else end
            rest = text[close + 1 : end].rstrip()
            if not rest.endswith("{"):
                break
            opening = close + 1 + rest.rindex("{")
    except Unbalanced:
        return None
    if "//" in rest or "loc(" in rest or not _balanced(rest) or not begins_statement(text, end):
        return None
    return close, close + 1 + len(rest)


def _balanced(line: str) -> bool:
    return all(line.count(a) == line.count(b) for a, b in ("()", "[]", "{}"))
