"""broadcast-elimination: drop broadcasts that the op after them does by itself."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op, create
from ...program import Program
from ..base import Pass, PassContext, register
from ..firing import report
from .matching import erase_unused, operations

__all__ = ["BroadcastElimination"]

# Ops that broadcast unit dimensions of their operands, and how many innermost dimensions they do not.
_BROADCASTING = {"tensorrt.element_wise": 0, "tensorrt.select": 0, "tensorrt.matrix_multiply": 2}


@register
class BroadcastElimination(Pass):
    """Let element_wise, select and matrix_multiply read the input of a `tensorrt.broadcast`, where their other
    operands alone give the result its shape. A missing dimension becomes an `expand_rank`."""

    name = "broadcast-elimination"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            for operation in operations(program, "broadcast"):
                _eliminate(operation)


def _eliminate(operation: ir.Operation) -> None:
    """Change each reader that can do without the broadcast; erase it if all could."""
    op = Op.of(operation)
    narrow = _narrow_shape(op)
    if narrow is None:
        return
    uses = [(use.owner.operation, use.operand_number) for use in operation.results[0].uses]
    free = [(user, number) for user, number in uses if _is_free(user, number, narrow)]
    if not free:
        return
    with ir.InsertionPoint(operation), operation.location:
        value = _expanded(op, narrow)
    report(operation)
    for user, number in free:
        user.operands[number] = value
    erase_unused(operation)


def _narrow_shape(op: Op) -> list[int] | None:
    """The input's shape with unit dimensions for those it lacks; None if the broadcast also permutes."""
    places = op.attr("broadcast_dims")
    if places != sorted(places):
        return None
    assert op.operation is not None
    shape = [1] * ir.RankedTensorType(op.operation.results[0].type).rank
    for dim, place in zip(op.type("input").shape, places, strict=True):
        shape[place] = dim
    return shape


def _expanded(op: Op, narrow: list[int]) -> ir.Value:
    source, value = op.type("input"), op.operand("input")
    assert value is not None
    if source.rank == len(narrow):
        return value
    kind = shapes.tensor(narrow, source.element_type)
    return create("tensorrt.expand_rank", [value], {}, [kind]).results[0]


def _is_free(user: ir.Operation, number: int, narrow: list[int]) -> bool:
    """Whether `user` gives the same with an operand of shape `narrow` at `number`.

    Each dimension that was repeated must be fixed by another operand: a static length there, not 1.
    """
    kept = _BROADCASTING.get(user.name)
    if kept is None:
        return False
    wide = ir.RankedTensorType(user.operands[number].type).shape
    others = [ir.RankedTensorType(v.type).shape for n, v in enumerate(user.operands) if n != number]
    outer = len(wide) - kept
    if narrow[outer:] != wide[outer:] or any(len(other) != len(wide) for other in others):
        return False
    for axis in range(outer):
        if narrow[axis] == wide[axis] and wide[axis] != shapes.DYNAMIC:
            continue
        if not any(other[axis] == wide[axis] != shapes.DYNAMIC for other in others):
            return False
    return True
