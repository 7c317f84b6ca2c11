"""An op while it is read: what its text has given so far."""

from __future__ import annotations

from dataclasses import dataclass

from .attributes import Problem
from .syntax import Syntax

__all__ = ["Argument", "Parsed"]


@dataclass(frozen=True)
class Argument:
    """A value that the syntax names: its name with the `%`, its type if known, and where it stands."""

    name: str
    type: str
    position: int


class Parsed:
    """Operands, types and attributes of one op, as text.

    Attributes:
        syntax: the op's syntax and definition.
        position: the offset of the op's name.
        operands: for each operand of the definition, its values.
        operand_types: likewise, or None where the text does not give them.
        result_types: for each result of the definition, its types, or None where the text does not give them.
        attributes: name -> value in MLIR's form; None for unit.
        arguments: the arguments that the syntax gives to the next region's entry block.
        regions: how many regions have been written.
        written_to: the offset up to which line breaks have been written.
        successors: `[^block, ...]` of the generic form, or "".
        generic: whether the op is in generic form.
        flat: all operands, while it is not known which is which.
    """

    __slots__ = (
        "arguments",
        "attributes",
        "flat",
        "generic",
        "operand_types",
        "operands",
        "position",
        "regions",
        "result_types",
        "successors",
        "syntax",
        "written_to",
    )

    def __init__(self, syntax: Syntax, position: int) -> None:
        self.syntax = syntax
        self.position = self.written_to = position
        self.operands: list[list[str]] = [[] for _ in syntax.op.operands]
        self.operand_types: list[list[str] | None] = [None] * len(syntax.op.operands)
        self.result_types: list[list[str] | None] = [None] * len(syntax.op.results)
        self.attributes: dict[str, str | None] = {}
        self.arguments: list[Argument] | None = None
        self.regions = 0
        self.successors = ""
        self.generic = False
        self.flat: list[str] | None = None

    @property
    def values(self) -> list[str]:
        """All operands in order."""
        return self.flat if self.flat is not None else [value for group in self.operands for value in group]

    def set_operands(self, values: list[str], position: int) -> None:
        """Spread a flat list of values over the operands: a variadic takes what the others leave."""
        entries = self.syntax.op.operands
        required = sum(not entry.optional and not entry.variadic for entry in entries)
        spare = len(values) - required
        at = 0
        for n, entry in enumerate(entries):
            count = 1
            if entry.variadic or entry.optional:
                count = max(spare, 0) if entry.variadic else min(max(spare, 0), 1)
                spare -= count
            self.operands[n] = values[at : at + count]
            at += count
        if spare < 0 or at < len(values):
            wanted = f"at least {required}" if required != len(entries) else str(required)
            raise Problem(f"{self.syntax.shown} takes {wanted} operands, not {len(values)}", position)

    def set_operand_types(self, indices: tuple[int, ...], types: list[str], position: int) -> None:
        """Types of the operands at `indices`; where they are several, the operands must have been read."""
        if len(indices) == 1:
            self.operand_types[indices[0]] = types
            return
        counts = [len(self.operands[n]) for n in indices]
        if sum(counts) != len(types):
            raise Problem(f"{sum(counts)} operands but {len(types)} types", position)
        at = 0
        for n, count in zip(indices, counts, strict=True):
            self.operand_types[n] = types[at : at + count]
            at += count

    def set_result_types(self, indices: tuple[int, ...], types: list[str], position: int) -> None:
        """Types of the results at `indices`; a last, variadic one takes the rest."""
        entries = self.syntax.op.results
        fixed = [n for n in indices if not entries[n].variadic]
        if len(types) < len(fixed) or (len(types) > len(fixed) and len(fixed) == len(indices)):
            raise Problem(f"{self.syntax.shown} has {len(fixed)} results, not {len(types)}", position)
        for n in indices:
            self.result_types[n] = types[len(fixed) :] if entries[n].variadic else [types[fixed.index(n)]]
