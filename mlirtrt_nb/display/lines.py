"""Single lines of MLIR as highlighted HTML, in few bytes: a page may hold thousands of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from html import escape

from .palette import TOKEN_ROLES

__all__ = [
    "LINE_RULES",
    "Span",
    "cut_middle",
    "highlight_line",
    "linked_line",
    "mark_value",
    "name_spans",
    "word_changes",
]

Span = tuple[int, int]  # start and end in characters

_LONGEST = 480  # characters of one line
# Plain text has no element of its own, nor have value names that link to nothing.
_CLASSES = {
    "keyword": "k",
    "op": "o",
    "symbol": "s",
    "type": "t",
    "attribute": "a",
    "string": "q",
    "number": "n",
    "comment": "c",
    "value": "v",
}
_VALUE = "v"

LINE_RULES = (
    "".join(f".mt.mt span.{short}{{color:var(--mt-{role})}}" for role, short in _CLASSES.items())
    + ".mt.mt u{text-decoration-line:underline;text-decoration-thickness:2px;"
    "text-underline-offset:2px;font-weight:600}"
    ".mt.mt mark{background:var(--mt-head);color:inherit;outline:1px solid var(--mt-accent);border-radius:2px}"
    ".mt.mt mark.def{outline-width:2px;font-weight:700}"
)


Piece = tuple[str, str, bool]  # class or "", text, whether underlined


def cut_middle(line: str, longest: int = _LONGEST) -> str:
    """`line`, with its middle replaced by a count where it is too long: both the op and its types stay."""
    if len(line) <= longest:
        return line
    tail = longest // 3
    head = longest - tail
    return f"{line[:head]} …{len(line) - longest} more… {line[-tail:]}"


def highlight_line(line: str, underlined: Sequence[Span] = ()) -> str:
    """One line as HTML. `underlined` are the spans that a change touched."""
    return _highlighted(line, tuple(underlined))


def linked_line(line: str, link: Callable[[str, str], str]) -> str:
    """One line as HTML, with `link(name, html)` in place of each value's name."""
    return "".join(
        link(text, escape(text)) if role == _VALUE else _element(role, escape(text, quote=False))
        for role, text, _ in _linkable(line)
    )


@lru_cache(maxsize=2048)  # a pass switched off and on again shows most of its lines again
def _linkable(line: str) -> tuple[Piece, ...]:
    return tuple(_joined(_pieces(line), _VALUE))


@lru_cache(maxsize=8192)
def _highlighted(line: str, underlined: tuple[Span, ...]) -> str:
    pieces: Iterable[Piece] = _pieces(line)
    if underlined:
        pieces = _split_at(pieces, underlined)
    return "".join(
        _element(role, f"<u>{escape(text, quote=False)}</u>" if under else escape(text, quote=False))
        for role, text, under in _joined(pieces)
    )


def _pieces(line: str) -> tuple[Piece, ...]:
    from pygments import lex

    from .lexer import MlirLexer

    lexer = MlirLexer(stripnl=False, ensurenl=False)
    return tuple((_CLASSES.get(_role_of(str(kind)), ""), text, False) for kind, text in lex(line, lexer))


@lru_cache(maxsize=256)
def _role_of(token: str) -> str:
    """The colour role of a token type by its nearest listed ancestor; "" for plain text."""
    while token:
        if token in TOKEN_ROLES:
            return TOKEN_ROLES[token]
        token = token.rpartition(".")[0]
    return ""


def _split_at(pieces: Iterable[Piece], spans: Sequence[Span]) -> list[Piece]:
    """The pieces, cut where a span starts or ends. Spans are in order and apart from each other."""
    made: list[Piece] = []
    at = number = 0
    for role, text, _ in pieces:
        start, end = at, at + len(text)
        while start < end:
            while number < len(spans) and spans[number][1] <= start:
                number += 1
            first, last = spans[number] if number < len(spans) else (end, end)
            inside = first <= start
            stop = min(last if inside else first, end)
            made.append((role, text[start - at : stop - at], inside))
            start = stop
        at = end
    return made


def _joined(pieces: Iterable[Piece], apart: str = "") -> list[Piece]:
    """Neighbours of one look as one piece; names of values look like plain text, unless kept `apart`."""
    made: list[Piece] = []
    for role, text, under in pieces:
        if role == _VALUE != apart:
            role = ""
        if made and role == apart == _VALUE:
            made.append((role, text, under))
        elif made and made[-1][0] == role and made[-1][2] == under:
            made[-1] = (role, made[-1][1] + text, under)
        else:
            made.append((role, text, under))
    return made


def _element(role: str, html: str) -> str:
    return f"<span class={role}>{html}</span>" if role else html


def mark_value(html: str, line: str, value: str) -> str:
    """The HTML of a line with the name of `value` marked; where it is defined more strongly than where used."""
    name = re.escape(escape(value, quote=False))
    made = re.match(rf"\s*[^=]*{re.escape(value)}\b[^=]* = ", line) or re.search(
        rf"{re.escape(value)}(?=: )", line
    )
    kind = ' class=def title="defined here"' if made else ' title="used here"'
    return re.sub(rf"{name}(?![\w$.-])", lambda match: f"<mark{kind}>{match.group()}</mark>", html)


_WORDS = re.compile(r"%[\w$.-]+|[\w.$-]+|\s+|.")


def word_changes(before: str, after: str) -> tuple[list[Span], list[Span]]:
    """The spans of each line that the other lacks, by words. Nothing where less than half is alike. Value
    names do not count, since most are only renumbered."""
    from ..ir.diff.alignment import matching_pairs

    old, new = _WORDS.findall(before), _WORDS.findall(after)
    pairs = matching_pairs(*([word[:1] if word[0] == "%" else word for word in words] for words in (old, new)))
    if 2 * len(pairs) < max(len(old), len(new)):
        return [], []
    return _missing(old, {n for n, _ in pairs}), _missing(new, {m for _, m in pairs})


def name_spans(line: str, places: Sequence[int]) -> list[Span]:
    """The spans of the value names at these places along the line."""
    from ..ir.diff.lines import VALUE

    found = [match.span() for match in VALUE.finditer(line)]
    return [found[place] for place in places if place < len(found)]


def _missing(words: list[str], kept: set[int]) -> list[Span]:
    spans: list[Span] = []
    at = 0
    for number, word in enumerate(words):
        if number not in kept and not word.isspace():
            if spans and spans[-1][1] == at:
                spans[-1] = (spans[-1][0], at + len(word))
            else:
                spans.append((at, at + len(word)))
        at += len(word)
    return spans
