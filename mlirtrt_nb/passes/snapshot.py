"""The IR between two steps of a run, kept: what is asked of it is computed once."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from hashlib import blake2b
from typing import Any

from ..program import Program
from ..same_bytes import equal_arrays

__all__ = ["Snapshot"]


class Snapshot(Program):
    """A Program that nobody changes. Making one costs little, since MLIR shares types and attributes."""

    @classmethod
    def of(cls, program: Program) -> Snapshot:
        """A copy of `program` as it is now; a snapshot is its own."""
        if isinstance(program, Snapshot):
            return program
        return program._copied_into(cls)

    @cached_property
    def bytecode(self) -> bytes:
        """The module as MLIR bytecode, locations included."""
        from ..ir.bytecode import write_module

        return write_module(self.module)

    @cached_property
    def fingerprint(self) -> bytes:
        """A digest of the module with its locations, but for the bytes of weights."""
        return blake2b(self.bytecode, digest_size=16).digest()

    @cached_property
    def generic_text(self) -> str:
        """MLIR's own form, without locations."""
        return str(self.module)

    @cached_property
    def shown_text(self) -> str:
        """The custom form as displays show it: large literals elided, no locations."""
        return self.text(limit=_ALL_LINES)

    @cached_property
    def located_text(self) -> str:
        """As `shown_text`, each op with its source nodes in a comment."""
        return self.text(limit=_ALL_LINES, locations="sources")

    @cached_property
    def op_counts(self) -> Counter[str]:
        """How many ops of each name as it is shown, those in regions included."""
        from torch_mlir import ir

        from ..ir.context import shown_name

        counts: Counter[str] = Counter()

        def visit(operation: ir.Operation) -> ir.WalkResult:
            counts[operation.name] += 1
            return ir.WalkResult.ADVANCE

        self.module.operation.walk(visit)
        return Counter({shown_name(name): count for name, count in counts.items()})

    def is_same(self, other: Snapshot) -> bool:
        """Whether both hold the same IR, locations aside, and the same values of the weights that it names."""
        return self.has_same_ir(other) and not self.other_weights(other)

    def has_same_ir(self, other: Snapshot) -> bool:
        """Whether both hold the same IR, locations aside. Equal bytecode, the usual case, is seen at once."""
        if self is other or self.fingerprint == other.fingerprint:
            return True
        return self.op_counts == other.op_counts and self.generic_text == other.generic_text

    def other_weights(self, other: Snapshot) -> tuple[str, ...]:
        """The weights that both name and that have other values in `other`. Only arrays of which there are two
        objects are read."""
        mine, its = self.weights, other.weights
        suspects = [name for name, array in mine.items() if name in its and its[name] is not array]
        if not suspects:
            return ()
        from ..ir.constants import handles_in

        named = handles_in(self._module.operation) & handles_in(other._module.operation)
        return tuple(n for n in suspects if n in named and not equal_arrays(mine[n], its[n]))

    def is_from(self, program: Program) -> bool:
        """Whether this is a snapshot of `program` as it is now: the same IR, locations too, and weights."""
        mine, its = self.weights, program.weights
        if mine.keys() != its.keys() or any(mine[name] is not its[name] for name in mine):
            return False
        return self is program or self.fingerprint == Snapshot.of(program).fingerprint

    def __reduce__(self) -> tuple[Any, ...]:
        restore, arguments = super().__reduce__()
        return _restored, (restore, arguments)


# `text(limit=)` elides large literals; this is more lines than any module has.
_ALL_LINES = 10**9


def _restored(restore: Any, arguments: tuple[Any, ...]) -> Snapshot:
    return Snapshot.of(restore(*arguments))
