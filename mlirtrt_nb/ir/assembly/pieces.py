"""Elements of formats as pieces of regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..opdef import Attr, OpDef
from . import formats as f
from .attributes import Problem
from .parsed import Parsed
from .slots import slot_in_words, slot_pattern, slot_to_generic
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

__all__ = ["Piece", "Store", "piece_of"]

Store = Callable[["Emitter", Parsed, str, int], None]


@dataclass(frozen=True)
class Piece:
    """An element that an expression can read.

    Attributes:
        source: the expression, with the blanks before the element, and one group if there is a `store`. It
            must not match where the element is more complex than it can tell.
        expected: what the element is called in messages.
        store: takes what the group matched, if it did, and where.
        deep: the end of the element at an offset, however complex; the offset itself if it is not there.
        optional: whether the element may be absent.
    """

    source: str
    expected: str
    store: Store | None = None
    deep: Callable[[str, int], int] | None = None
    optional: bool = False

    @cached_property
    def match(self) -> Callable[[str, int], re.Match[str] | None]:
        """Matches the element at a position."""
        return re.compile(self.source, re.ASCII).match

    def read(self, reader: Emitter, parsed: Parsed) -> None:
        """Read this element alone. Raises Problem."""
        text, start = reader.text, reader.position
        found = self.match(text, start)
        if found is not None:
            if self.store and found.group(1) is not None:
                self.store(reader, parsed, found.group(1), found.start(1))
            reader.position = found.end()
            return
        start = skip_blank(text, start)
        end = self.deep(text, start) if self.deep else start
        if end > start:
            assert self.store is not None
            self.store(reader, parsed, text[start:end], start)
            reader.position = end
        elif not self.optional:
            raise Problem(f"expected {self.expected}", start)

    def is_at(self, text: str, position: int) -> bool:
        """Whether the element stands at a position."""
        if self.deep is None:
            return self.match(text, position) is not None
        start = skip_blank(text, position)
        try:
            return self.deep(text, start) > start
        except Unbalanced:
            return True


def piece_of(op: OpDef, element: f.Element) -> Piece | None:
    """The element as a piece; None if reading it takes a choice, a region or a directive."""
    match element:
        case f.Literal(text):
            end = r"(?![\w$.])" if text[-1].isalnum() or text[-1] == "_" else ""
            return Piece(f"{BLANK}{re.escape(text)}{end}", f"'{text}'")
        case f.Operands(indices):
            return _operands(op, indices)
        case f.Types(of_results, indices):
            return _types(op, of_results, indices)
        case f.FunctionalType(inputs, outputs):
            return _functional(inputs, outputs)
        case f.AttrDict(keyword):
            return _keyword_dict() if keyword else _dict()
        case f.AttrSlot(attr):
            return _slot(op, attr)
    return None


def _operands(op: OpDef, indices: tuple[int, ...]) -> Piece:
    if len(indices) == 1:
        (index,) = indices

        def store_one(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
            parsed.operands[index] = values_of(text)

        if not op.operands[index].variadic:
            return Piece(f"{BLANK}({VALUE})", f"the value {op.operands[index].name}", store_one)
        return Piece(f"{BLANK}({VALUE_LIST})?+", "values", store_one)

    def store(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
        parsed.set_operands(values_of(text), position)

    return Piece(f"{BLANK}({VALUE_LIST})?+", "values", store)


def _types(op: OpDef, of_results: bool, indices: tuple[int, ...]) -> Piece:
    entries = op.results if of_results else op.operands

    def store(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
        types = reader.meanings.types(text, position)
        if of_results:
            parsed.set_result_types(indices, types, position)
        else:
            parsed.set_operand_types(indices, types, position)

    if len(indices) == 1 and not entries[indices[0]].variadic:
        return Piece(f"{BLANK}({TYPE})", "a type", store, lambda text, at: deep_end(text, at, typed=False))
    source = rf"(?:{BLANK}({TYPE_LIST})|(?!{BLANK}[A-Za-z!(]))"
    return Piece(source, "types", store, deep_list_end, optional=True)


_TYPES_IN_ROUND = rf"\({BLANK}(?:{TYPE_LIST})?+{BLANK}\)"


def _functional(inputs: f.Types, outputs: f.Types) -> Piece:
    source = rf"{BLANK}({_TYPES_IN_ROUND}{BLANK}->{BLANK}(?:{_TYPES_IN_ROUND}|{TYPE}))"

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

    return Piece(source, "a function type, (types) -> types", store, _deep_function)


def _deep_function(text: str, position: int) -> int:
    if text[position : position + 1] != "(":
        return position
    end = deep_end(text, position, typed=False)
    return end if "->" in text[balanced_end(text, position) : end] else position


def _store_dict(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
    start = text.index("{")
    entries = reader.meanings.dictionary(parsed.syntax, text[start:], position + start)
    parsed.attributes.update(entries)


def _dict() -> Piece:
    def deep(text: str, position: int) -> int:
        return balanced_end(text, position) if text[position : position + 1] == "{" else position

    return Piece(rf"(?:{BLANK}({DICT})|(?!{BLANK}\{{))", "attributes", _store_dict, deep, optional=True)


_ATTRIBUTES = re.compile(rf"attributes\b{BLANK}(?=\{{)")


def _keyword_dict() -> Piece:
    def deep(text: str, position: int) -> int:
        word = _ATTRIBUTES.match(text, position)
        return balanced_end(text, word.end()) if word else position

    source = rf"(?:{BLANK}(attributes\b{BLANK}{DICT})|(?!{BLANK}attributes\b))"
    return Piece(source, "attributes", _store_dict, deep, optional=True)


def _slot(op: OpDef, attr: Attr) -> Piece:
    def store(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
        value = slot_to_generic(op, attr, text, position)
        if value is None or value != parsed.syntax.defaults.get(attr.name):
            parsed.attributes[attr.name] = value

    expected = slot_in_words(op, attr)
    source = slot_pattern(attr)
    if source is None:
        # An expression that never matches: such an attribute always takes a scan.
        return Piece("((?!))", expected, store, lambda text, at: deep_end(text, at, typed=False))
    deep = (lambda text, at: deep_end(text, at, typed=True)) if attr.kind == "elements" else None
    return Piece(f"{BLANK}({source})", expected, store, deep)
