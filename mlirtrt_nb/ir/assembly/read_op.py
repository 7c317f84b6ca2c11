"""Readers of custom assembly, compiled once per op from its format.

A run of elements, optional groups among them, is one regular expression. Only where it does not match are
its elements read one by one: to say which is wrong, or to read what is too complex for an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..opdef import OpDef
from . import formats as f
from .directives import directive
from .parsed import Parsed
from .pieces import Piece, Store, piece_of
from .tokens import BLANK

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["compile_reader"]

_Step = Callable[["Emitter", Parsed], None]


@dataclass(frozen=True)
class _Part:
    """A reader of one element, and the same as an expression, if one can do it.

    `stores` has one entry for each group of `source`.
    """

    read: _Step
    source: str | None = None
    stores: tuple[Store, ...] = ()


def compile_reader(op: OpDef) -> _Step:
    """The reader of what follows the op's name."""
    return _sequence(_parts(op, f.elements_of(op)))


def _parts(op: OpDef, elements: Sequence[f.Element]) -> list[_Part]:
    return [_part(op, element) for element in elements if not isinstance(element, f.Space)]


def _part(op: OpDef, element: f.Element) -> _Part:
    match element:
        case f.RegionSlot(index):
            return _Part(lambda reader, parsed: reader.region(parsed, index))
        case f.Custom(name, arguments):
            return _directive(name, arguments)
        case f.Group():
            return _group(op, element)
    piece = piece_of(op, element)
    assert piece is not None, element
    return _Part(piece.read, piece.source, (piece.store,) if piece.store else ())


def _directive(name: str, arguments: Sequence[f.Element]) -> _Part:
    found = directive(name)
    if found.piece is None:
        return _Part(lambda reader, parsed: found.read(reader, parsed, arguments))
    source, store = found.piece(arguments)
    return _Part(lambda reader, parsed: found.read(reader, parsed, arguments), source, (store,))


def _sequence(parts: Sequence[_Part]) -> _Step:
    """Reads the parts in order, each run of those that are expressions as one."""
    steps: list[_Step] = []
    run: list[_Part] = []
    for part in [*parts, None]:
        if part is not None and part.source is not None:
            run.append(part)
            continue
        if run:
            steps.append(_run(tuple(run)))
            run = []
        if part is not None:
            steps.append(part.read)
    if len(steps) == 1:
        return steps[0]

    def read(reader: Emitter, parsed: Parsed) -> None:
        for step in steps:
            step(reader, parsed)

    return read


def _run(parts: tuple[_Part, ...]) -> _Step:
    match = re.compile("".join([part.source or "" for part in parts]), re.ASCII).match
    stores = list(enumerate([store for part in parts for store in part.stores], 1))

    def read(reader: Emitter, parsed: Parsed) -> None:
        found = match(reader.text, reader.position)
        if found is None:
            for part in parts:
                part.read(reader, parsed)
            return
        texts = found.groups()
        for n, store in stores:
            text = texts[n - 1]
            if text is not None:
                store(reader, parsed, text, found.start(n))
        reader.position = found.end()

    return read


def _group(op: OpDef, group: f.Group) -> _Part:
    then = _parts(op, group.elements)
    otherwise = _parts(op, group.otherwise)
    present = _Presence(op, group.elements)
    otherwise_present = _Presence(op, group.otherwise) if group.otherwise else None
    read_then, read_otherwise = _sequence(then), _sequence(otherwise)

    def read(reader: Emitter, parsed: Parsed) -> None:
        if present.test(reader.text, reader.position):
            read_then(reader, parsed)
        elif otherwise_present is not None and otherwise_present.test(reader.text, reader.position):
            read_otherwise(reader, parsed)

    return _Part(read, *_choice(then, present, otherwise, otherwise_present))


def _choice(
    then: list[_Part], present: _Presence, otherwise: list[_Part], otherwise_present: _Presence | None
) -> tuple[str | None, tuple[Store, ...]]:
    """The group as an expression. It must not match as absent where the group is merely too complex for it."""
    sources = [part.source for part in (*then, *otherwise)]
    if None in sources or present.source is None:
        return None, ()
    absent = f"(?!{present.source})"
    if otherwise_present is not None:
        rest = "".join([part.source or "" for part in otherwise])
        skipped = f"|(?!{otherwise_present.source})" if otherwise_present.source is not None else ""
        absent += f"(?:{rest}{skipped})"
    source = f"(?:{''.join([part.source or '' for part in then])}|{absent})"
    return source, tuple([store for part in (*then, *otherwise) for store in part.stores])


class _Presence:
    """Whether a group's first element stands at a position; `source` is the same as an expression."""

    def __init__(self, op: OpDef, elements: Sequence[f.Element]) -> None:
        first = next(e for e in elements if not isinstance(e, f.Space))
        self.source: str | None
        self.test: Callable[[str, int], object]
        piece: Piece | None = None
        if isinstance(first, f.Custom):
            self.source, self.test = None, lambda text, position: True
            return
        if isinstance(first, f.RegionSlot | f.Operands):
            self.source = BLANK + (r"\{" if isinstance(first, f.RegionSlot) else "%")
        else:
            piece = piece_of(op, first)
            assert piece is not None, "a group begins with a literal, an operand, an attribute or a region"
            self.source = _without_groups(piece.source) if piece.deep is None else None
        self.test = piece.is_at if piece is not None else re.compile(self.source or "").match


def _without_groups(source: str) -> str:
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", source)
