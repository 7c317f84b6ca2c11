"""Assembly formats: from the string in an `OpDef` to a tree of elements.

The notation is MLIR's declarative one: literals in backticks, `$name`, `type($name)`, `operands`, `results`,
`functional-type(a, b)`, `attr-dict`, `attr-dict-with-keyword`, `custom<Name>(...)`, regions, and optional
groups `( ... $anchor^ ... )?` or `( ... ) : ( ... )?`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..opdef import Attr, OpDef

__all__ = [
    "AttrDict",
    "AttrSlot",
    "Custom",
    "Element",
    "FormatError",
    "FunctionalType",
    "Group",
    "Literal",
    "Operands",
    "RegionSlot",
    "Space",
    "Types",
    "elements_of",
    "parse_format",
    "slots_of",
]


class FormatError(ValueError):
    """A format that does not follow the notation or names something its op lacks."""


@dataclass(frozen=True)
class Literal:
    """Fixed text."""

    text: str


@dataclass(frozen=True)
class Space:
    """White space for the printer: none ("``"), a blank or a line break."""

    text: str


@dataclass(frozen=True)
class Operands:
    """Operands by index, as a comma-separated list."""

    indices: tuple[int, ...]


@dataclass(frozen=True)
class AttrSlot:
    """An attribute in a place of its own."""

    attr: Attr


@dataclass(frozen=True)
class RegionSlot:
    """A region by index."""

    index: int


@dataclass(frozen=True)
class AttrDict:
    """The attributes that have no slot; `keyword` puts `attributes` before them."""

    keyword: bool


@dataclass(frozen=True)
class Types:
    """Types of operands or of results, by index, as a comma-separated list."""

    of_results: bool
    indices: tuple[int, ...]


@dataclass(frozen=True)
class FunctionalType:
    """`(inputs) -> outputs`."""

    inputs: Types
    outputs: Types


@dataclass(frozen=True)
class Custom:
    """A directive written by hand, by its name, with the elements it is given."""

    name: str
    arguments: tuple[Element, ...]


@dataclass(frozen=True)
class Group:
    """An optional part: present if `anchor` is; `otherwise` stands in its place if not."""

    elements: tuple[Element, ...]
    anchor: Element
    otherwise: tuple[Element, ...]


Element = (
    Literal | Space | Operands | AttrSlot | RegionSlot | AttrDict | Types | FunctionalType | Custom | Group
)

_TOKEN = re.compile(r"\s+|(`[^`]*`|\$\w+|custom<\w+>|[A-Za-z][\w-]*|[()?:^,])")


def _tokens(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormatError(f"unexpected {text[position]!r} in the format {text!r}")
        if match.group(1):
            yield match.group(1)
        position = match.end()


def elements_of(op: OpDef) -> tuple[Element, ...]:
    """The elements of an op's assembly; for an op without one, a form close to MLIR's generic one."""
    return parse_format(op) if op.assembly is not None else _generic_like(op)


def _generic_like(op: OpDef) -> tuple[Element, ...]:
    """`(%x, %y) {attributes} : (types) -> types`, then each region after its name."""
    operands = tuple(range(len(op.operands)))
    values = Operands(operands)
    types = FunctionalType(Types(False, operands), Types(True, tuple(range(len(op.results)))))
    elements: list[Element] = [
        Group((Literal("("), values, Literal(")")), values, ()),
        AttrDict(False),
        Literal(":"),
        types,
    ]
    for n, region in enumerate(op.regions):
        slot = RegionSlot(n)
        elements.append(Group((Literal(region.name), slot), slot, ()))
    return tuple(elements)


def parse_format(op: OpDef) -> tuple[Element, ...]:
    """The elements of `op.assembly`. Raises FormatError."""
    return _FormatParser(op).parse()


class _FormatParser:
    def __init__(self, op: OpDef) -> None:
        assert op.assembly is not None
        self.op = op
        self.tokens = list(_tokens(op.assembly))
        self.position = 0
        self.operands = {entry.name: n for n, entry in enumerate(op.operands)}
        self.results = {entry.name: n for n, entry in enumerate(op.results)}
        self.regions = {entry.name: n for n, entry in enumerate(op.regions)}
        self.attrs = {entry.name: entry for entry in op.attrs}

    def parse(self) -> tuple[Element, ...]:
        elements = []
        while self.position < len(self.tokens):
            elements.append(self._element())
        return tuple(elements)

    def _fail(self, message: str) -> FormatError:
        return FormatError(f"{self.op.name}: {message} in the format {self.op.assembly!r}")

    def _peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise self._fail("something is missing at the end")
        self.position += 1
        return token

    def _expect(self, token: str) -> None:
        found = self._next()
        if found != token:
            raise self._fail(f"expected {token!r}, found {found!r}")

    def _element(self) -> Element:
        token = self._next()
        if token[0] == "`":
            text = token[1:-1]
            return Space(text) if not text.strip() or text == "\\n" else Literal(text)
        if token[0] == "$":
            return self._variable(token[1:])
        if token == "(":
            return self._group()
        if token.startswith("custom<"):
            return Custom(token[7:-1], tuple(self._arguments()))
        if token in ("attr-dict", "attr-dict-with-keyword"):
            return AttrDict(token != "attr-dict")
        if token == "operands":
            return Operands(tuple(range(len(self.op.operands))))
        if token == "type":
            self._expect("(")
            types = self._types()
            self._expect(")")
            return types
        if token == "functional-type":
            self._expect("(")
            inputs = self._types()
            self._expect(",")
            outputs = self._types()
            self._expect(")")
            return FunctionalType(inputs, outputs)
        raise self._fail(f"{token!r} does not belong")

    def _variable(self, name: str) -> Element:
        if name in self.operands:
            return Operands((self.operands[name],))
        if name in self.attrs:
            return AttrSlot(self.attrs[name])
        if name in self.regions:
            return RegionSlot(self.regions[name])
        raise self._fail(f"${name} is no operand, attribute or region")

    def _types(self) -> Types:
        token = self._next()
        if token == "operands":
            return Types(False, tuple(range(len(self.op.operands))))
        if token == "results":
            return Types(True, tuple(range(len(self.op.results))))
        name = token[1:]
        if token[0] == "$" and name in self.operands:
            return Types(False, (self.operands[name],))
        if token[0] == "$" and name in self.results:
            return Types(True, (self.results[name],))
        raise self._fail(f"{token} is no operand or result")

    def _arguments(self) -> Iterator[Element]:
        if self._peek() != "(":
            return
        self._next()
        while True:
            yield self._element()
            if self._next() == ")":
                return

    def _group(self) -> Group:
        elements, anchor = self._group_elements()
        otherwise: tuple[Element, ...] = ()
        if self._peek() == ":":
            self._next()
            self._expect("(")
            otherwise, _ = self._group_elements()
        self._expect("?")
        return Group(elements, anchor or _first_variable(elements), otherwise)

    def _group_elements(self) -> tuple[tuple[Element, ...], Element | None]:
        elements: list[Element] = []
        anchor: Element | None = None
        while self._peek() != ")":
            elements.append(self._element())
            if self._peek() == "^":
                self._next()
                anchor = elements[-1]
        self._next()
        return tuple(elements), anchor


def _first_variable(elements: tuple[Element, ...]) -> Element:
    """What a group without a marked anchor hangs on."""
    return next((e for e in elements if not isinstance(e, Literal | Space)), elements[0])


def slots_of(elements: tuple[Element, ...]) -> set[str]:
    """Names of the attributes that have a place outside the dictionary."""
    names: set[str] = set()
    for element in elements:
        if isinstance(element, AttrSlot):
            names.add(element.attr.name)
        elif isinstance(element, Custom):
            names |= slots_of(element.arguments)
        elif isinstance(element, Group):
            names |= slots_of(element.elements) | slots_of(element.otherwise)
    return names
