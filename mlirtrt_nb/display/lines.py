"""Single lines of MLIR as highlighted HTML, in few bytes: a page may hold thousands of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape

from .ir import role_of

__all__ = ["LINE_RULES", "Span", "cut_middle", "highlight_line", "name_spans", "word_changes"]

Span = tuple[int, int]  # start and end in characters

_LONGEST = 480  # characters of one line
# Plain text and value names have no element of their own.
_CLASSES = {
    "keyword": "k",
    "op": "o",
    "symbol": "s",
    "type": "t",
    "attribute": "a",
    "string": "q",
    "number": "n",
    "comment": "c",
}

LINE_RULES = (
    ".mt.mt i{font-style:normal}"
    + "".join(f".mt.mt i.{short}{{color:var(--mt-{role})}}" for role, short in _CLASSES.items())
    + ".mt.mt u{text-decoration-line:underline;text-decoration-thickness:2px;"
    "text-underline-offset:2px;font-weight:600}"
    ".mt.mt mark{background:var(--mt-head);color:inherit;outline:1px solid var(--mt-accent);border-radius:2px}"
    ".mt.mt mark.def{outline-width:2px;font-weight:700}"
)


def cut_middle(line: str, longest: int = _LONGEST) -> str:
    """`line`, with its middle replaced by a count where it is too long: both the op and its types stay."""
    if len(line) <= longest:
        return line
    tail = longest // 3
    head = longest - tail
    return f"{line[:head]} …{len(line) - longest} more… {line[-tail:]}"


def highlight_line(line: str, underlined: Sequence[Span] = (), value: str | None = None) -> str:
    """One line as HTML. `underlined` are the spans that a change touched; `value` is a name to mark, where it
    is defined more strongly than where it is used."""
    return _highlighted(line, tuple(underlined), value)


@lru_cache(maxsize=8192)
def _highlighted(line: str, underlined: tuple[Span, ...], value: str | None) -> str:
    pieces: Iterable[Piece] = _pieces(line)
    if underlined:
        pieces = _split_at(pieces, underlined)
    html = "".join(
        _element(role, f"<u>{escape(text, quote=False)}</u>" if under else escape(text, quote=False))
        for role, text, under in _joined(pieces)
    )
    return _marked(html, line, value) if value else html


Piece = tuple[str, str, bool]  # class or "", text, whether underlined


def _pieces(line: str) -> tuple[Piece, ...]:
    from pygments import lex

    from .lexer import MlirLexer

    lexer = MlirLexer(stripnl=False, ensurenl=False)
    return tuple((_CLASSES.get(role_of(str(kind)), ""), text, False) for kind, text in lex(line, lexer))


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


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of one look as one piece."""
    made: list[Piece] = []
    for role, text, under in pieces:
        if made and made[-1][0] == role and made[-1][2] == under:
            made[-1] = (role, made[-1][1] + text, under)
        else:
            made.append((role, text, under))
    return made


def _element(role: str, html: str) -> str:
    return f"<i class={role}>{html}</i>" if role else html


def _marked(html: str, line: str, value: str) -> str:
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
