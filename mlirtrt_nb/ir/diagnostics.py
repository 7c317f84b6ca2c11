"""From MLIR's diagnostics and locations to errors with a place in the user's text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from ..errors import ParseError, SourceSpan, VerificationError
from .context import with_shown_names
from .hints import NO_DIALECT, explain

__all__ = ["Found", "found_in", "kind_of_location", "place_of", "raise_all", "span_at"]

# The verifier's diagnostics carry this note; the parser's do not.
_VERIFIER_NOTE = "see current operation"
# Nor do these say more than the message does.
_POINTLESS = (_VERIFIER_NOTE, "prior use", "terminator")
_TOKEN = re.compile(r'[ \t\r]*("[^"\n]*"|[%#!@^]?[\w$.]+(?:#\d+)?|.)')
_QUOTED = re.compile(r'"[^"\n]*"')


@dataclass(frozen=True)
class Found:
    """One thing that is wrong."""

    message: str
    span: SourceSpan | None
    hint: str | None = None
    broken_rule: bool = False  # found by a verifier, not by a parser
    where: str | None = None


def kind_of_location(location: ir.Location) -> ir.Location:
    """A location as one of its kind: diagnostics give them without."""
    if type(location) is not ir.Location:
        return location
    return ir.Location.from_attr(location.attr, location.context)


def place_of(location: ir.Location) -> tuple[str, int, int] | None:
    """File, line and column of a location; of the first part that has one."""
    location = kind_of_location(location)
    if isinstance(location, ir.FileLineColLoc):
        return location.filename, location.start_line, location.start_col
    if isinstance(location, ir.NameLoc):
        return place_of(location.child_loc)
    if isinstance(location, ir.FusedLoc):
        return next((place for part in location.locations if (place := place_of(part))), None)
    if isinstance(location, ir.CallSiteLoc):
        return place_of(location.callee)
    return None


def span_at(filename: str, line: int, column: int, line_text: str, length: int | None = None) -> SourceSpan:
    """The span of `length` characters, or of the token that stands there or comes next on the line."""
    if length is None:
        match = _TOKEN.match(line_text, column - 1)
        if match is not None and match.group(1):
            column, length = match.start(1) + 1, len(match.group(1))
    return SourceSpan(filename, line, column, line_text, length or 1)


def found_in(
    error: ir.MLIRError, span_of: Callable[[ir.Location, bool], SourceSpan | None], text: str = ""
) -> list[Found]:
    """Each diagnostic of an MLIR error, if it has any. `span_of(location, by_verifier)` places it.

    `text` is what was parsed, for a place that is lines behind what it is about.
    """
    found = []
    for diagnostic in error.error_diagnostics:
        by_verifier = any(note.message.startswith(_VERIFIER_NOTE) for note in diagnostic.notes)
        notes = [
            _placed(n.message, span_of(n.location, by_verifier))
            for n in diagnostic.notes
            if not n.message.startswith(_POINTLESS)
        ]
        span = span_of(diagnostic.location, by_verifier)
        if span is not None and NO_DIALECT in diagnostic.message:
            span = _name_before(span, text)
        message, hint = explain(diagnostic.message, notes, _token_at(span))
        found.append(Found(with_shown_names(message), span, hint, by_verifier))
    return found


def _placed(note: str, span: SourceSpan | None) -> str:
    """A note that says "here" with the line that it means."""
    return f"{note}: line {span.line}" if note.endswith(" here") and span is not None else note


def _name_before(span: SourceSpan, text: str) -> SourceSpan:
    """The quoted name of an op, where MLIR points at what comes behind it, maybe on a later line."""
    lines = [(span.line, span.text[: span.column])]
    lines += reversed(list(enumerate(text.split("\n")[: span.line - 1], 1)))
    for number, line in lines:
        names = list(_QUOTED.finditer(line))
        if names:
            whole = span.text if number == span.line else line
            return SourceSpan(span.filename, number, names[-1].start() + 1, whole, len(names[-1].group()))
    return span


def _token_at(span: SourceSpan | None) -> str:
    return span.text[span.column - 1 : span.column - 1 + span.length] if span is not None else ""


def raise_all(found: Sequence[Found]) -> None:
    """Raise one error for the first in the text, with the others attached. Does nothing for none."""
    if not found:
        return
    ordered = sorted(dict.fromkeys(found), key=lambda entry: _order(entry.span))
    if all(entry.broken_rule for entry in found):
        rules = [VerificationError(e.message, where=e.where, hint=e.hint, span=e.span) for e in ordered]
        rules[0].others = tuple(rules[1:])
        raise rules[0]
    errors = [ParseError(e.message, where=e.where, hint=e.hint, span=e.span) for e in ordered]
    errors[0].others = tuple(errors[1:])
    raise errors[0]


def _order(span: SourceSpan | None) -> tuple[int, int]:
    return (span.line, span.column) if span is not None else (0, 0)
