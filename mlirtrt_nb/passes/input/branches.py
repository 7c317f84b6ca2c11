"""Taking one branch of an If: since its condition is known, or since the other branch cannot run."""

from __future__ import annotations

from torch_mlir import ir

from ...dialects.onnx.inference import join
from ...ir.builder import create
from ...ir.locations import sources_of
from .rewriting import replace

__all__ = ["demand_branch", "joined_branches", "take_branch"]

_ON_HOST = "conditions on data are checked on the host"


def take_branch(operation: ir.Operation, number: int) -> list[ir.Operation]:
    """Put a branch's ops in the place of an If, which is left dead; the ops, in order."""
    *inner, end = [op.operation for op in operation.regions[number].blocks[0].operations]
    for moved in inner:
        moved.move_before(operation)
    replace(operation, list(end.operands))
    return inner


def demand_branch(operation: ir.Operation, number: int) -> None:
    """Put the one branch that the shapes suit in the place of the If, and an assertion that it is taken.

    The assertion is given to the host: in an engine what it reads would have to be a shape, with bounds.
    """
    name = next(iter(sources_of(operation.location)), "")
    wanted = ("true", "false")[number]
    message = f"the condition of the If {name!r} must be {wanted} for the shapes compiled for"
    condition = operation.operands[0]
    with ir.InsertionPoint(operation), operation.location:
        if number == 1:
            condition = create("onnx.not", [condition], results=[condition.type]).results[0]
        asserted = create("tensorrt.assertion", [condition], {"message": message})
    asserted.attributes["plan.fallback"] = ir.StringAttr.get(_ON_HOST)
    take_branch(operation, number)


def joined_branches(operation: ir.Operation) -> list[ir.Type | None]:
    """What is true of each result of an If, whichever branch it comes from."""
    yields = [list(region.blocks[0].operations)[-1] for region in operation.regions]
    pairs = zip(*(list(y.operands) for y in yields), strict=True)
    return [join(a.type, b.type) for a, b in pairs]
