"""Questions about values and blocks that the bindings answer only in a roundabout way."""

from __future__ import annotations

from torch_mlir import ir

__all__ = ["has_uses", "is_read", "rank_of", "terminator"]


def has_uses(value: ir.Value) -> bool:
    """Whether anything reads the value."""
    return next(iter(value.uses), None) is not None


def is_read(operation: ir.Operation) -> bool:
    """Whether anything reads one of the op's results."""
    return any(map(has_uses, operation.results))


def rank_of(value: ir.Value) -> int:
    """The number of dimensions of a ranked tensor."""
    return ir.RankedTensorType(value.type).rank


def terminator(block: ir.Block) -> ir.Operation:
    """The last op of a block that has one."""
    return block.operations[len(block.operations) - 1].operation
