"""From a live module to text in custom assembly.

MLIR prints upstream ops in their own syntax and the package's ops in generic form, one op a line; the latter
are rewritten line by line, so that printing costs little more than MLIR's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from torch_mlir import ir

from ..context import definitions
from ..opdef import OpDef
from ..symbols import ENGINES_MARK
from .attributes import split_dict, to_custom
from .printed import Printed, attributes_of, split_function_type
from .tokens import values_of
from .write_op import writer_of

__all__ = ["print_module"]


def print_module(
    module: ir.Operation | ir.OpView,
    *,
    custom: bool = True,
    locations: bool = False,
    limit: int | None = None,
    names: bool = True,
) -> str:
    """The text of a module or of any op in it.

    Args:
        custom: the package's ops in their custom syntax; False gives MLIR's generic form of every op.
        locations: with each op's location after it.
        limit: at most this many lines, then one that says how many are missing; large literals are elided.
        names: call values by the names their locations give them, as the user wrote them.

    Weights are shown as handles. Text without a limit parses back to an equal module.
    """
    text = module.operation.get_asm(
        enable_debug_info=locations,
        use_local_scope=locations,
        print_generic_op_form=not custom,
        use_name_loc_as_prefix=names,
        large_elements_limit=None if limit is None else 64,
        # The module has been verified when it was read or changed; verifying again only to print is slow.
        assume_verified=True,
    )
    lines = text.rstrip("\n").split("\n")
    if custom:
        lines = "\n".join(_Rewriter(locations).rewrite(lines)).split("\n")
    if limit is not None and len(lines) > limit:
        more = len(lines) - limit
        lines = [*lines[:limit], f"// … {more:,} more {'line' if more == 1 else 'lines'}"]
    return "\n".join(lines) + "\n"


@cache
def _head() -> re.Pattern[str]:
    """The beginning of one of the package's ops in generic form: blanks, results, name, operands."""
    names = "|".join(definitions())
    return re.compile(rf'( *)((?:%[^="]*= )?)"((?:{names})\.[\w.]+)"\(([^()]*)\)(?:\[[^\]]*\])? ?')


_TAIL = re.compile(r"(?:\{(.*)\} )?: (.*)$")
_ENGINES = re.compile(r"( *)module (@\S+ )?attributes \{(.*)\} \{$")
_OWN_ATTRIBUTE = re.compile(r"#\w+\.\w")


@dataclass
class _Open:
    """An op whose regions are being read."""

    head: re.Match[str]
    lines: list[str]
    regions: list[list[str]] = field(default_factory=list)


class _Rewriter:
    """Rewrites the lines that MLIR printed."""

    def __init__(self, locations: bool) -> None:
        self._locations = locations
        self._open: list[_Open] = []
        self._attributes: dict[tuple[str, str], dict[str, str | None]] = {}
        self._types: dict[str, tuple[list[str], list[str]]] = {}

    def rewrite(self, lines: list[str]) -> list[str]:
        out: list[str] = []
        head = _head().match
        for line in lines:
            match = head(line)
            if match is not None:
                rest = line[match.end() :]
                if rest == "({":
                    self._open.append(_Open(match, out))
                    out = []
                else:
                    out.append(self._op(match, rest, []))
            elif self._open and self._closes(line):
                out = self._close(line, out)
            else:
                out.append(self._other(line))
        return out

    def _closes(self, line: str) -> bool:
        indent = self._open[-1].head.group(1)
        return line.startswith(("}, {", "})"), len(indent)) and line.startswith(indent)

    def _close(self, line: str, out: list[str]) -> list[str]:
        """End a region; returns where the next lines go."""
        opened = self._open[-1]
        opened.regions.append(out)
        indent = len(opened.head.group(1))
        if line.startswith("}, {", indent):
            return []
        self._open.pop()
        opened.lines.append(self._op(opened.head, line[indent + 2 :].lstrip(), opened.regions))
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

    def _op(self, head: re.Match[str], rest: str, regions: list[list[str]]) -> str:
        indent, results, name, operands = head.groups()
        op = _definition(name)
        rest, location = self._split_location(rest)
        tail = _TAIL.match(rest)
        if op is None or tail is None:
            return head.group() + rest + location
        attributes, types = tail.groups()
        printed = Printed(
            op,
            values_of(operands) if operands else [],
            self._attributes_of(op, attributes) if attributes else {},
            self._types_of(types),
            regions or [[] for _ in op.regions],
            indent,
        )
        shown = op.display_name or op.name
        if name == "plan.yield" and self._open and self._open[-1].head.group(3).startswith("plan."):
            shown = "yield"
        return f"{indent}{results}{shown}{writer_of(op)(printed)}{location}"

    def _split_location(self, rest: str) -> tuple[str, str]:
        if not self._locations:
            return rest, ""
        at = rest.rfind(" loc(")
        # A location may hold another: go back to the first that ends the line.
        while (before := rest.rfind(" loc(", 0, at)) >= 0 and rest.count("(", before) == rest.count(
            ")", before
        ):
            at = before
        return (rest[:at], rest[at:]) if at >= 0 else (rest, "")

    def _attributes_of(self, op: OpDef, text: str) -> dict[str, str | None]:
        found = self._attributes.get((op.name, text))
        if found is None:
            found = self._attributes[op.name, text] = attributes_of(op, split_dict(f"{{{text}}}"))
        return found

    def _types_of(self, text: str) -> tuple[list[str], list[str]]:
        found = self._types.get(text)
        if found is None:
            found = self._types[text] = split_function_type(to_custom(text))
        return found


@cache
def _definition(name: str) -> OpDef | None:
    return definitions()[name.partition(".")[0]].ops.get(name)
