"""Which node a value between the parts of a program belongs to: what makes it in one, what reads it in another.

A call's own location is that of the first op of the engine or host part, which need not be either.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ...ir.values import terminator
from .steps import CALLS, symbol_path

if TYPE_CHECKING:
    from torch_mlir import ir

    from ...program import Program

__all__ = ["Origins"]


class Origins:
    """Locations of the ops that make and read the values of an outlined program's `@main`."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def moved(self, value: ir.Value, user: ir.Operation) -> ir.Location:
        """The location for a copy of `value` to where `user` needs it: that of the op that makes it, or, where
        it comes from outside, of the first that reads it."""
        return self.made(value) or self._read(value, user) or user.location

    def made(self, value: ir.Value) -> ir.Location | None:
        """The location of the op that makes the value; None for the argument of a function or a loop."""
        from torch_mlir import ir

        if not isinstance(value, ir.OpResult):
            return None
        call = value.owner.operation
        block = self._body(call)
        inner = None if block is None else terminator(block).operands[value.result_number]
        return inner.owner.operation.location if isinstance(inner, ir.OpResult) else call.location

    def _read(self, value: ir.Value, call: ir.Operation) -> ir.Location | None:
        block = self._body(call)
        if block is None:
            return None
        argument = block.arguments[list(call.operands).index(value)]
        readers = (op.operation for op in block.operations if argument in op.operation.operands)
        return next((reader.location for reader in readers), None)

    def _body(self, call: ir.Operation) -> ir.Block | None:
        """The body of the function that `call` calls; None if it calls none, or one without a body."""
        return self._bodies.get(symbol_path(call.attributes["callee"])) if call.name in CALLS else None

    @cached_property
    def _bodies(self) -> dict[str, ir.Block]:
        from ...ir.symbols import functions

        found = functions(self._program.module)
        return {path: function.regions[0].blocks[0] for path, function in found if not function.is_external}
