"""Readers of custom assembly, compiled once per op from its format.

A run of elements without choices is one regular expression. Only where it does not match are its elements
read one by one: to say which is wrong, or to read brackets nested too deeply for an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..opdef import Attr, OpDef
from . import formats as f
from .attributes import Problem
from .directives import directive
from .parsed import Parsed
from .slots import slot_pattern, slot_to_generic
from .tokens import (
    BLANK,
    DICT,
    TYPE,
    TYPE_LIST,
    VALUE,
    VALUE_LIST,
    Unbalanced,
    balanced_end,
    deep_end,
    deep_list_end,
    skip_blank,
    values_of,
)

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["Step", "compile_reader"]

Step = Callable[["Emitter", Parsed], None]


@dataclass(frozen=True)
class _Piece:
    """An element that an expression can read.

    `source` has one group and begins with the blanks before it; `store` takes what the group matched, if
    anything; `deep` gives the end of what the expression may be too simple for.
    """

    source: str
    expected: str
    store: Callable[[Emitter, Parsed, str, int], None] | None = None
    deep: Callable[[str, int], int] | None = None

    @cached_property
    def match(self) -> Callable[[str, int], re.Match[str] | None]:
        """Matches the element at a position."""
        return re.compile(self.source, re.ASCII).match


def compile_reader(op: OpDef) -> Step:
    """The reader of what follows the op's name."""
    return _compile(op, f.elements_of(op))


def _compile(op: OpDef, elements: Sequence[f.Element]) -> Step:
    steps: list[Step] = []
    run: list[_Piece] = []
    for element in elements:
        piece = _piece(op, element)
        if piece is not None:
            run.append(piece)
        elif not isinstance(element, f.Space):
            _flush(run, steps)
            steps.append(_step(op, element))
    _flush(run, steps)
    if len(steps) == 1:
        return steps[0]

    def read(reader: Emitter, parsed: Parsed) -> None:
        for step in steps:
            step(reader, parsed)

    return read


def _flush(run: list[_Piece], steps: list[Step]) -> None:
    if run:
        steps.append(_run(tuple(run)))
        run.clear()


def _run(pieces: tuple[_Piece, ...]) -> Step:
    match = re.compile("".join(piece.source for piece in pieces), re.ASCII).match
    stores = [(n, piece.store) for n, piece in enumerate(pieces, 1) if piece.store]

    def read(reader: Emitter, parsed: Parsed) -> None:
        found = match(reader.text, reader.position)
        if found is None:
            for piece in pieces:
                _read_piece(piece, reader, parsed)
            return
        for n, store in stores:
            text = found.group(n)
            if text is not None:
                store(reader, parsed, text, found.start(n))
        reader.position = found.end()

    return read


def _read_piece(piece: _Piece, reader: Emitter, parsed: Parsed) -> None:
    text, start = reader.text, reader.position
    found = piece.match(text, start)
    if found is not None and (piece.deep is None or found.group(1)):
        if piece.store and found.group(1) is not None:
            piece.store(reader, parsed, found.group(1), found.start(1))
        reader.position = found.end()
        return
    start = skip_blank(text, start)
    end = piece.deep(text, start) if piece.deep else start
    if end == start:
        if found is not None:
            return
        raise Problem(f"expected {piece.expected}", start)
    assert piece.store is not None
    piece.store(reader, parsed, text[start:end], start)
    reader.position = end


def _piece(op: OpDef, element: f.Element) -> _Piece | None:
    """The element as a piece of an expression; None if reading it takes a choice or a region."""
    match element:
        case f.Literal(text):
            end = r"(?![\w$.])" if text[-1].isalnum() or text[-1] == "_" else ""
            return _Piece(f"{BLANK}({re.escape(text)}){end}", f"'{text}'")
        case f.Operands(indices):
            return _operands(op, indices)
        case f.Types(of_results, indices):
            return _types(op, of_results, indices)
        case f.FunctionalType(inputs, outputs):
            return _functional(inputs, outputs)
        case f.AttrDict(keyword):
            return _attr_dict(op, keyword)
        case f.AttrSlot(attr):
            return _slot(op, attr)
    return None


def _operands(op: OpDef, indices: tuple[int, ...]) -> _Piece:
    if len(indices) == 1:
        (index,) = indices

        def store_one(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
            parsed.operands[index] = values_of(text)

        if not op.operands[index].variadic:
            return _Piece(f"{BLANK}({VALUE})", f"the value {op.operands[index].name}", store_one)
        return _Piece(f"{BLANK}({VALUE_LIST})?+", "values", store_one)

    def store(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
        parsed.set_operands(values_of(text), position)

    return _Piece(f"{BLANK}({VALUE_LIST})?+", "values", store)


def _types(op: OpDef, of_results: bool, indices: tuple[int, ...]) -> _Piece:
    entries = op.results if of_results else op.operands
    single = len(indices) == 1 and not entries[indices[0]].variadic

    def store(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
        types = reader.meanings.types(text, position)
        if of_results:
            parsed.set_result_types(indices, types, position)
        else:
            parsed.set_operand_types(indices, types, position)

    if single:
        return _Piece(f"{BLANK}({TYPE})", "a type", store, _deep_type)
    return _Piece(f"{BLANK}({TYPE_LIST})?+", "types", store, deep_list_end)


def _deep_type(text: str, position: int) -> int:
    return deep_end(text, position, typed=False)


_INPUTS = rf"\({BLANK}(?:{TYPE_LIST})?+{BLANK}\)"


def _functional(inputs: f.Types, outputs: f.Types) -> _Piece:
    source = rf"{BLANK}({_INPUTS}{BLANK}->{BLANK}(?:{_INPUTS}|{TYPE}))"

    def store(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
        end = balanced_end(text, 0)
        result = text[text.index("->", end) + 2 :].strip()
        if result.startswith("(") and balanced_end(result, 0) == len(result):
            result = result[1:-1]
        given = reader.meanings.types(text[1 : end - 1], position)
        results = reader.meanings.types(result, position)
        for types, values in ((inputs, given), (outputs, results)):
            if types.of_results:
                parsed.set_result_types(types.indices, values, position)
            else:
                parsed.set_operand_types(types.indices, values, position)

    return _Piece(source, "a function type, (types) -> types", store, _deep_function)


def _deep_function(text: str, position: int) -> int:
    if text[position : position + 1] != "(":
        return position
    end = deep_end(text, position, typed=False)
    return end if "->" in text[position:end] else position


def _attr_dict(op: OpDef, keyword: bool) -> _Piece:
    def store(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
        parsed.attributes.update(reader.meanings.dictionary(parsed.syntax, text, position))

    def deep(text: str, position: int) -> int:
        start = position
        if keyword:
            word = re.compile(rf"attributes\b{BLANK}").match(text, position)
            if word is None:
                return position
            start = word.end()
        return balanced_end(text, start) if text[start : start + 1] == "{" else position

    def strip_keyword(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
        start = text.index("{")
        store(reader, parsed, text[start:], position + start)

    if keyword:
        return _Piece(rf"(?:{BLANK}(attributes\b{BLANK}{DICT}))?+", "attributes", strip_keyword, deep)
    return _Piece(rf"(?:{BLANK}({DICT}))?+", "attributes", store, deep)


def _slot(op: OpDef, attr: Attr) -> _Piece:
    def store(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
        value = slot_to_generic(op, attr, text, position)
        if value is None or value != parsed.syntax.defaults.get(attr.name):
            parsed.attributes[attr.name] = value

    expected = f"{attr.name} ({attr.kind})"
    source = slot_pattern(attr)
    if source is None:
        # An expression that never matches: such an attribute always takes a scan.
        return _Piece("((?!))", expected, store, lambda text, at: deep_end(text, at, typed=False))
    deep = (lambda text, at: deep_end(text, at, typed=True)) if attr.kind == "elements" else None
    return _Piece(f"{BLANK}({source})", expected, store, deep)


def _step(op: OpDef, element: f.Element) -> Step:
    """The reader of an element that takes a choice or a region."""
    match element:
        case f.RegionSlot(index):
            return lambda reader, parsed: reader.region(parsed, index)
        case f.Custom(name, arguments):
            read = directive(name).read
            return lambda reader, parsed: read(reader, parsed, arguments)
        case f.Group():
            return _group(op, element)
    raise TypeError(f"{op.name}: {element}")


def _group(op: OpDef, group: f.Group) -> Step:
    present = _present(op, group.elements)
    then = _compile(op, group.elements)
    otherwise_present = _present(op, group.otherwise) if group.otherwise else None
    otherwise = _compile(op, group.otherwise)

    def read(reader: Emitter, parsed: Parsed) -> None:
        if present(reader.text, reader.position):
            then(reader, parsed)
        elif otherwise_present is not None and otherwise_present(reader.text, reader.position):
            otherwise(reader, parsed)

    return read


def _present(op: OpDef, elements: Sequence[f.Element]) -> Callable[[str, int], object]:
    """Whether the first element that takes text stands at a position."""
    first = next(e for e in elements if not isinstance(e, f.Space))
    if isinstance(first, f.Custom):
        return lambda text, position: True
    if isinstance(first, f.RegionSlot):
        return re.compile(rf"{BLANK}\{{").match
    if isinstance(first, f.Operands):
        return re.compile(f"{BLANK}%").match
    piece = _piece(op, first)
    assert piece is not None, "an optional group begins with a literal, an operand, an attribute or a region"
    if piece.deep is not None:
        return lambda text, position: _is_deep(piece, text, skip_blank(text, position))
    return piece.match


def _is_deep(piece: _Piece, text: str, position: int) -> bool:
    assert piece.deep is not None
    try:
        return piece.deep(text, position) > position
    except Unbalanced:
        return True
