"""From text to a live module: translation, MLIR's parser, and errors placed in the user's text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from torch_mlir import ir
from torch_mlir.dialects.builtin import ModuleOp

from ...errors import SourceSpan
from ..context import definition, shown_name
from ..diagnostics import Found, found_in, place_of, raise_all, span_at
from .attributes import Problem
from .limits import allow_depth, check_text
from .recovery import collect
from .sourcemap import Lines, SourceMap
from .syntax import syntax_of
from .tokens import BLANK, IDENT, STRING
from .translate import Translator

__all__ = ["parse_module"]

_MODULE = re.compile(rf'{BLANK}(?:builtin\.module\b|module\b|"builtin\.module")')
_NAME = re.compile(rf"{STRING}|//[^\n]*|(?<![\w$.#!@%^-])({IDENT})", re.ASCII)
_SEVERAL = "source must contain a single top-level operation"


class _Failed(Exception):
    """The text could not be parsed; `found` says why."""

    def __init__(self, found: list[Found]) -> None:
        super().__init__(found)
        self.found = found


def parse_module(text: str, filename: str, context: ir.Context) -> ModuleOp:
    """The module that `text` describes, in custom, generic or mixed form.

    Ops outside a module are put into one. Locations are those of `text`; values that the user named carry
    their name in their location. Raises ParseError, or VerificationError where only rules are broken, with
    the place in `text`; further errors are in its `others`.
    """
    check_text(text, filename)
    allow_depth()
    quiet = context.emit_error_diagnostics
    context.emit_error_diagnostics = False
    try:
        with context:
            try:
                return _parse(text, filename)
            except _Failed as failed:
                found = collect(text, failed.found, lambda rest: _problems(rest, filename))
        raise_all(found)
        raise AssertionError("a failure without a reason")
    finally:
        context.emit_error_diagnostics = quiet


def _problems(text: str, filename: str) -> list[Found]:
    """What is wrong with a text."""
    try:
        _parse(text, filename)
    except _Failed as failed:
        return failed.found
    return []


def _parse(text: str, filename: str) -> ModuleOp:
    translator = Translator(text, filename)
    try:
        return _parse_translated(translator, filename)
    except _Failed:
        if not translator.guessed:
            raise
    return _parse_translated(Translator(text, filename, names=False), filename)


def _parse_translated(translator: Translator, filename: str) -> ModuleOp:
    translator.translate()
    if translator.problems:
        raise _Failed([_as_found(translator, filename, problem) for problem in translator.problems])
    body = translator.out.text
    attempt = _Attempt(translator, filename, body)
    if _MODULE.match(body) is None:
        return attempt.parse(wrapped=True)
    try:
        return attempt.parse(wrapped=False)
    except _Failed as failed:
        if not failed.found[0].message.startswith(_SEVERAL):
            raise
        return attempt.parse(wrapped=True)


def _as_found(translator: Translator, filename: str, problem: Problem) -> Found:
    line, column = translator.lines.locate(min(problem.position, len(translator.text)))
    span = span_at(filename, line, column, translator.lines.line(line), problem.length)
    return Found(problem.message, span, problem.hint)


class _Attempt:
    """One go of MLIR's parser over a translation."""

    def __init__(self, translator: Translator, filename: str, body: str) -> None:
        self.translator = translator
        self.filename = filename
        self.body = body

    def parse(self, *, wrapped: bool) -> ModuleOp:
        prefix = self.translator.prefix() + ([("module {", 0)] if wrapped else [])
        head = "".join(piece for piece, _ in prefix)
        text = head + self.body + ("\n}" if wrapped else "")
        try:
            parsed = ir.Operation.parse(text, source_name=self.filename)
        except ir.MLIRError as error:
            places = self._map(prefix, text)
            found = found_in(error, lambda loc, rule: self._span(places, loc, rule), self.translator.text)
            raise _Failed(found or [self._misplaced(places)]) from None
        if not isinstance(parsed, ModuleOp):
            raise _Failed([Found(f"expected a module, found {shown_name(parsed.operation.name)}", None)])
        if wrapped:
            parsed.operation.location = ir.Location.file(self.filename, 1, 1)
        lines = self.translator.shifted_lines | ({1} if head else set())
        if lines:
            relevant = cache(lambda: self._map(prefix, text, max(lines)))
            _Relocation(relevant, self.filename, lines).apply(parsed.operation, skip=wrapped)
        return parsed

    def _map(self, prefix: list[tuple[str, int]], text: str, last: int | None = None) -> SourceMap:
        """The map of the user's text, as far as line `last`, to the one that MLIR reads."""
        translated = Lines(text)
        end = len(text) if last is None else translated.offset(last + 1, 1)
        marks: list[tuple[int, int, bool]] = []
        length = 0
        for piece, origin in prefix:
            marks.append((length, origin, False))
            length += len(piece)
        return SourceMap(self.translator.lines, translated, marks + self.translator.out.marks(length, end))

    def _span(self, places: SourceMap, location: ir.Location, by_verifier: bool) -> SourceSpan | None:
        place = place_of(location)
        if place is None or place[1] == 0:
            return None
        _, line, column = place
        if not by_verifier:
            line, column = places.user.locate(places.user_offset(line, column))
        return span_at(self.filename, line, column, places.user.line(line))

    def _misplaced(self, places: SourceMap) -> Found:
        """MLIR refuses an op's name without a word where it expects none, as in a dictionary without braces."""
        text = places.translated.text
        match = next((m for m in _NAME.finditer(text) if m.group(1) and syntax_of(m.group(1))), None)
        if match is None:
            return Found("MLIR cannot parse this text", None)
        line, column = places.user.locate(places.user_offset(*places.translated.locate(match.start())))
        span = span_at(self.filename, line, column, places.user.line(line))
        return Found(f"{match.group(1)} does not belong here", span)


class _Relocation:
    """Gives ops of other dialects on some lines the column that they have in the user's text.

    `places()` is the map to that text. It is asked for only when there is such an op, since it is large.
    """

    def __init__(self, places: Callable[[], SourceMap], filename: str, lines: set[int]) -> None:
        self._places = places
        self._filename = filename
        self._lines = lines
        self._last = max(lines)

    def apply(self, operation: ir.Operation, *, skip: bool = False) -> None:
        if not skip:
            self._relocate(operation)
        for region in operation.regions:
            for block in region:
                for child in block.operations:
                    # Ops stand in the order of their lines, so nothing follows that is on an earlier one.
                    if self._line(child.operation) > self._last:
                        return
                    self.apply(child.operation)

    def _line(self, operation: ir.Operation) -> int:
        place = place_of(operation.location)
        return place[1] if place is not None and place[0] == self._filename else 0

    def _relocate(self, operation: ir.Operation) -> None:
        location = operation.location
        if not isinstance(location, ir.FileLineColLoc) or definition(operation.name) is not None:
            return
        line = location.start_line
        if line in self._lines and location.filename == self._filename:
            places = self._places()
            offset = places.user_offset(line, location.start_col)
            operation.location = ir.Location.file(self._filename, *places.user.locate(offset))
