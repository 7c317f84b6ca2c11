"""The tokens of MLIR text: regular expressions, and scans for what nests too deeply for them.

Patterns are possessive throughout, so that matching takes time linear in the text.
"""

from __future__ import annotations

import re
from functools import cache

__all__ = [
    "BLANK",
    "BRACKETED",
    "DICT",
    "IDENT",
    "KEY",
    "NUMBER",
    "STRING",
    "SYMBOL",
    "TYPE",
    "TYPE_LIST",
    "VALUE",
    "VALUE_LIST",
    "Unbalanced",
    "balanced_end",
    "deep_end",
    "deep_list_end",
    "pattern",
    "skip_blank",
    "types_of",
    "unquote",
    "values_of",
]

BLANK = r"(?:[ \t\r\n]++|//[^\n]*+)*+"
STRING = r'"(?:[^"\\\n]++|\\.)*+"'
IDENT = r"[A-Za-z_][\w$.]*+"
KEY = rf"(?:{IDENT}|{STRING})"
VALUE = r"%[-\w$.]++(?:#\d++)?+"
VALUE_LIST = rf"{VALUE}(?:{BLANK},{BLANK}{VALUE})*+"
SYMBOL = rf"@(?:[A-Za-z_][-\w$.]*+|{STRING})(?:::@(?:[A-Za-z_][-\w$.]*+|{STRING}))*+"
NUMBER = r"-?(?:0x[0-9A-Fa-f]++|\d++(?:\.\d*+(?:[eE][-+]?\d++)?+)?+)"

# Types and dictionaries as they usually are; `deep_end` reads the others.
TYPE = rf'!?{IDENT}(?:<[^<>"/\-]*+(?:<[^<>"/\-]*+>[^<>"/\-]*+)*+>)?+(?!<)'
TYPE_LIST = rf"{TYPE}(?:, ?{TYPE})*+(?!{BLANK},)"
DICT = rf"\{{(?:[^{{}}\"/]++|{STRING})*+\}}"


def _nested(opening: str, closing: str, other: str) -> str:
    """A bracketed run, to a depth of 4; `other` matches what is not a bracket of this kind."""
    inner = ""
    for _ in range(4):
        inner = f"{opening}(?:{other}{'|' if inner else ''}{inner})*+{closing}"
    return inner


_REST = rf"{STRING}|//[^\n]*+|/"
# `->`, `>=` and `<=` are no brackets.
_ANGLE = _nested("<", ">", rf'[^<>"/\-=]++|->|-|[<>]=|=|{_REST}')
_BRACE = _nested(r"\{", r"\}", rf'[^{{}}"/]++|{_REST}')
_SQUARE = _nested(r"\[", r"\]", rf'[^\[\]"/]++|{_REST}')
_ROUND = _nested(r"\(", r"\)", rf'[^()"/]++|{_REST}')
BRACKETED = rf"(?:{_ANGLE}|{_BRACE}|{_SQUARE}|{_ROUND})"

_PARTNER = {"<": ">", "(": ")", "{": "}", "[": "]"}


class Unbalanced(Exception):
    """A bracket that is never closed, or closed by another kind; `position` is where it opens."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


@cache
def pattern(source: str) -> re.Pattern[str]:
    """`source` as group 1, after white space and comments."""
    return re.compile(f"{BLANK}({source})", re.ASCII)


_BRACKET = re.compile(rf"[<>]=|->|[<>(){{}}\[\]]|{STRING}|//[^\n]*+", re.ASCII)
_BLANK = re.compile(BLANK)
_VALUE = re.compile(VALUE, re.ASCII)
_HEAD = re.compile(rf"{BLANK}(?:[!#@]?{IDENT}|{STRING}|{NUMBER})?+", re.ASCII)
_SUFFIX = re.compile(rf"{BLANK}(:(?!:)|->)", re.ASCII)
_COMMA = re.compile(f"{BLANK},")


def skip_blank(text: str, position: int) -> int:
    """The offset of what follows white space and comments."""
    match = _BLANK.match(text, position)
    return match.end() if match else position


def balanced_end(text: str, position: int) -> int:
    """The offset after the bracket that closes the one at `position`, at any depth."""
    expected: list[tuple[str, int]] = []
    for match in _BRACKET.finditer(text, position):
        token = match.group()
        if token in _PARTNER:
            expected.append((_PARTNER[token], match.start()))
        elif len(token) == 1 and (not expected or expected.pop()[0] != token):
            break
        if not expected:
            return match.end()
    raise Unbalanced(expected[-1][1] if expected else position)


def deep_end(text: str, position: int, *, typed: bool) -> int:
    """The offset after a type or attribute of any depth; `typed`: with the `: type` that may follow it.

    Gives `position` where there is neither. Raises Unbalanced.
    """
    start = end = position
    while True:
        match = _HEAD.match(text, start)
        head = match.end() if match else start
        if head == skip_blank(text, start) and text[head : head + 1] not in ("(", "[", "{"):
            return end
        end = head
        if text[end : end + 1] in ("<", "(", "[", "{"):
            end = balanced_end(text, end)
        suffix = _SUFFIX.match(text, end)
        function = text[skip_blank(text, start) : skip_blank(text, start) + 1] == "("
        if suffix is None or not (typed if suffix.group(1) == ":" else function):
            return end
        typed = typed and suffix.group(1) != ":"
        start = suffix.end()


def deep_list_end(text: str, position: int) -> int:
    """The offset after a comma-separated list of types; `position` where there is none."""
    end = deep_end(text, position, typed=False)
    while end > position and (comma := _COMMA.match(text, end)):
        end = deep_end(text, comma.end(), typed=False)
    return end


def values_of(text: str) -> list[str]:
    """The values of a comma-separated list."""
    return _VALUE.findall(text) if "," in text else [text]


def types_of(text: str) -> list[str]:
    """The types of a comma-separated list."""
    if "," not in text:
        return [text]
    found: list[str] = []
    position = 0
    while position < len(text):
        end = deep_end(text, position, typed=False)
        found.append(text[position:end].strip())
        position = text.find(",", end) + 1 or len(text)
    return found


def unquote(text: str) -> str:
    """The characters of an MLIR string literal."""
    if "\\" not in text:
        return text[1:-1]
    return re.sub(r"\\([0-9A-Fa-f]{2}|.)", _unescape, text[1:-1], flags=re.DOTALL)


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) == 2:
        return chr(int(code, 16))
    return {"n": "\n", "t": "\t"}.get(code, code)
