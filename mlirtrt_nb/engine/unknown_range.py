"""`UnknownRange`: an engine's argument has shapes, or values that decide shapes, of no known range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import ShapeError

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["UnknownRange"]


class UnknownRange(ShapeError):
    """No engine can be built for `function` as it is; without its ops at `dependents` one can.

    `dependents` are the MLIR locations, as text, of the ops that hang on the arguments in question.
    """

    def __init__(
        self,
        what: str,
        function: ir.OpView | ir.Operation,
        arguments: Sequence[int],
        *,
        hint: str | None = None,
    ) -> None:
        super().__init__(what, hint=hint)
        self.function = function
        self.dependents = _dependents(function, arguments)


def _dependents(function: ir.OpView | ir.Operation, arguments: Sequence[int]) -> frozenset[str]:
    from ..passes.clustering.values import captured_values

    block = function.regions[0].blocks[0]
    reached = {block.arguments[n] for n in arguments}
    found = set()
    for op in block.operations:
        if reached.intersection(captured_values(op.operation)):
            reached.update(op.operation.results)
            found.add(str(op.operation.location))
    return frozenset(found)
