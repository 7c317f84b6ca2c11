"""From a live module to text in custom assembly.

MLIR prints upstream ops in their own syntax and the package's ops in generic form, one op a line; the latter
are rewritten line by line, so that printing costs little more than MLIR's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from torch_mlir import ir

from ..symbols import ENGINES_MARK
from .attributes import split_dict, to_custom
from .groups import split_groups
from .printed import Printed, attributes_of, split_function_type
from .source_comments import with_source_comments
from .syntax import Syntax, dialect_names, syntax_of
from .templates import Template, Templates, has_stand_in
from .tokens import values_of

__all__ = ["Locations", "print_module"]

# What is printed of where ops came from.
Locations = bool | Literal["sources"]


def print_module(
    module: ir.Operation | ir.OpView,
    *,
    custom: bool = True,
    locations: Locations = False,
    limit: int | None = None,
    names: bool = True,
) -> str:
    """The text of a module or of any op in it.

    Args:
        custom: the package's ops in their custom syntax; False gives MLIR's generic form of every op.
        locations: with each op's location after it; "sources" names the source nodes in a comment instead.
        limit: at most this many lines, then one that says how many are missing; large literals are elided.
        names: call values by the names their locations give them, as the user wrote them.

    Weights are shown as handles. Text without a limit parses back to an equal module.
    """
    text = module.operation.get_asm(
        enable_debug_info=bool(locations),
        use_local_scope=bool(locations),
        print_generic_op_form=not custom,
        use_name_loc_as_prefix=names,
        large_elements_limit=None if limit is None else 64,
        # The module has been verified when it was read or changed; verifying again only to print is slow.
        assume_verified=True,
    )
    text = text.rstrip("\n")
    if custom:
        text = "\n".join(_Rewriter(text, bool(locations)).rewrite())
    if names:
        text = split_groups(text)
    if locations == "sources":
        text = with_source_comments(text)
    return (text if limit is None else _cut(text, limit)) + "\n"


def _cut(text: str, limit: int) -> str:
    lines = text.split("\n")
    more = len(lines) - limit
    if more <= 0:
        return text
    return "\n".join([*lines[:limit], f"// … {more:,} more {'line' if more == 1 else 'lines'}"])


@cache
def _own_op(dialects: tuple[str, ...]) -> re.Pattern[str]:
    """One of the package's ops in generic form: blanks, results, name, the rest."""
    return re.compile(rf'( *)((?:%[^="]*= )?)("(?:{"|".join(dialects)})\.[\w.]+")(.*)')


_REST = re.compile(r"\(([^()]*)\)(?:\[[^\]]*\])? ?(?:(\(\{)$|(?:\{(.*)\} )?: (.*)$)")
_TAIL = re.compile(r"(?:\{(.*)\} )?: (.*)$")
_ENGINES = re.compile(r"( *)module (@\S+ )?attributes \{(.*)\} \{$")
_OWN_ATTRIBUTE = re.compile(r"#\w+\.\w")


@dataclass
class _Open:
    """An op whose regions are being read."""

    indent: str
    results: str
    syntax: Syntax
    operands: str
    lines: list[str]
    regions: list[list[str]] = field(default_factory=list)


class _Rewriter:
    """Rewrites the text that MLIR printed, line by line."""

    def __init__(self, text: str, locations: bool) -> None:
        self._text = text
        self._locations = locations
        self._open: list[_Open] = []
        self._attributes: dict[tuple[str, str], dict[str, str | None]] = {}
        self._types: dict[str, tuple[list[str], list[str]]] = {}
        self._templates = Templates(self._template, text)

    def rewrite(self) -> list[str]:
        """The lines in the package's own syntax."""
        out: list[str] = []
        own_op = _own_op(dialect_names()).match
        for line in self._text.split("\n"):
            match = own_op(line)
            if match is not None:
                if line.endswith("({"):
                    self._open.append(self._opened(match, out))
                    out = []
                else:
                    out.append(self._line(match))
            elif self._open and self._closes(line):
                out = self._close(line, out)
            else:
                out.append(self._other(line))
        return out

    def _line(self, match: re.Match[str]) -> str:
        """An op on one line."""
        indent, results, name, rest = match.groups()
        location = ""
        if self._locations:
            rest, location = _split_location(rest)
        found = self._templates.lookup(name + rest)
        text = found[0].fill(found[1]) if found is not None else self._custom(name + rest)
        if text.startswith("plan.yield") and self._open and self._open[-1].syntax.name.startswith("plan."):
            text = text[5:]
        return f"{indent}{results}{text}{location}"

    def _template(self, text: str) -> Template | None:
        syntax = syntax_of(text[1 : text.index('"', 1)])
        if has_stand_in(text) and (syntax is None or syntax.array_defaults):
            return None
        return Template(self._custom(text), [])

    def _custom(self, text: str) -> str:
        """The custom form of an op without regions, from its name in quotes on."""
        end = text.index('"', 1)
        syntax = syntax_of(text[1:end])
        match = _REST.match(text, end + 1)
        if syntax is None or match is None:
            return text
        operands, _, attributes, types = match.groups()
        return self._op(syntax, operands, attributes, types, [], "")

    def _opened(self, match: re.Match[str], out: list[str]) -> _Open:
        indent, results, name, rest = match.groups()
        syntax = syntax_of(name[1:-1])
        operands = _REST.match(rest)
        assert syntax is not None and operands is not None
        return _Open(indent, results, syntax, operands.group(1), out)

    def _closes(self, line: str) -> bool:
        indent = self._open[-1].indent
        return line.startswith(("}, {", "})"), len(indent)) and line.startswith(indent)

    def _close(self, line: str, out: list[str]) -> list[str]:
        """End a region; returns where the next lines go."""
        opened = self._open[-1]
        opened.regions.append(out)
        indent = len(opened.indent)
        if line.startswith("}, {", indent):
            return []
        self._open.pop()
        rest, location = line[indent + 2 :].lstrip(), ""
        if self._locations:
            rest, location = _split_location(rest)
        tail = _TAIL.match(rest)
        assert tail is not None, line
        attributes, types = tail.groups()
        text = self._op(opened.syntax, opened.operands, attributes, types, opened.regions, opened.indent)
        opened.lines.append(f"{opened.indent}{opened.results}{text}{location}")
        return opened.lines

    def _other(self, line: str) -> str:
        match = _ENGINES.match(line) if ENGINES_MARK in line else None
        if match is not None:
            indent, name, attributes = match.groups()
            entries = [(k, v) for k, v, _ in split_dict(f"{{{attributes}}}") if k != ENGINES_MARK]
            items = ", ".join(k if v is None else f"{k} = {to_custom(v)}" for k, v in entries)
            kept = f"attributes {{{items}}} " if items else ""
            return f"{indent}{ENGINES_MARK} {name or ''}{kept}{{"
        return to_custom(line) if _OWN_ATTRIBUTE.search(line) else line

    def _op(
        self,
        syntax: Syntax,
        operands: str,
        attributes: str | None,
        types: str,
        regions: list[list[str]],
        indent: str,
    ) -> str:
        printed = Printed(
            syntax.op,
            values_of(operands) if operands else [],
            self._attributes_of(syntax, attributes) if attributes else {},
            self._types_of(types),
            regions or [[] for _ in syntax.op.regions],
            indent,
        )
        return syntax.shown + syntax.write(printed)

    def _attributes_of(self, syntax: Syntax, text: str) -> dict[str, str | None]:
        key = (syntax.name, text)
        found = self._attributes.get(key)
        if found is None:
            found = self._attributes[key] = attributes_of(text, syntax.defaults)
        return found

    def _types_of(self, text: str) -> tuple[list[str], list[str]]:
        found = self._types.get(text)
        if found is None:
            found = self._types[text] = split_function_type(to_custom(text))
        return found


def _split_location(rest: str) -> tuple[str, str]:
    """What stands before the location at the end, and the location."""
    at = rest.rfind(" loc(")
    # A location may hold another: go back to the first that ends the line.
    while (before := rest.rfind(" loc(", 0, max(at, 0))) >= 0 and _is_nested(rest[before:]):
        at = before
    return (rest[:at], rest[at:]) if at >= 0 else (rest, "")


def _is_nested(text: str) -> bool:
    return text.count("(") == text.count(")")
