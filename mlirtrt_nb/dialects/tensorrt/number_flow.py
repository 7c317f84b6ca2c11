"""Ops that hand on numbers which they read, and what follows for the range of their results."""

from __future__ import annotations

from torch_mlir import ir

from ...ir.builder import Op

__all__ = ["MOVES", "is_nonnegative", "is_relu", "only_moves"]

# Ops whose numbers are those of their first operand, or a selection of them.
MOVES = frozenset(
    f"tensorrt.{name}"
    for name in (
        "reshape",
        "shuffle",
        "transpose",
        "expand_rank",
        "collapse_rank",
        "squeeze",
        "unsqueeze",
        "broadcast",
        "slice",
        "identity",
    )
)
# These make other numbers, of the same sign.
_SIGN_KEPT = frozenset({"tensorrt.pooling", "tensorrt.quantize", "tensorrt.dequantize"})
_DEPTH = 6  # ops that are looked through to find a ReLU


def only_moves(operation: ir.Operation) -> bool:
    """Whether an op's numbers are all among those of its first operand, or 0: a slice may be given another one
    to put outside of its input."""
    if operation.name == "tensorrt.slice" and Op.of(operation).operand("fill") is not None:
        return False
    return operation.name in MOVES


def is_relu(operation: ir.Operation) -> bool:
    """Whether an op is a ReLU."""
    return operation.name == "tensorrt.activation" and Op.of(operation).attr("activationType") == "kRELU"


def is_nonnegative(value: ir.Value, depth: int = _DEPTH) -> bool:
    """Whether no number of `value` is below 0, as far as can be seen by looking through `depth` ops."""
    if isinstance(value.owner, ir.Block) or not depth:
        return False
    operation = value.owner.operation
    if is_relu(operation):
        return True
    if operation.name == "tensorrt.concatenation":
        return all(is_nonnegative(part, depth - 1) for part in operation.operands)
    keeps_signs = operation.name in _SIGN_KEPT or only_moves(operation)
    return keeps_signs and is_nonnegative(operation.operands[0], depth - 1)
