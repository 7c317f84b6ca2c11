"""What is written on an op that is an exception: the type that it is computed in, and why.

`precision.type` is an MLIR element type; `precision.reason` says why in words. An op without marks has the
precision of the program. The marks stay on the op to the end, so that reports can list them.
"""

from __future__ import annotations

from torch_mlir import ir

__all__ = ["REASON", "TYPE", "WEIGHTS", "kept_type", "mark", "mark_weights", "wants_weights"]

TYPE = "precision.type"
REASON = "precision.reason"
# On an op whose activations stay as they are: the type that its weights are stored in all the same.
WEIGHTS = "precision.weights"


def mark(operation: ir.Operation, kind: str, reason: str) -> None:
    """Note that `operation` is computed in `kind`. The first reason stands."""
    if TYPE not in operation.attributes:
        operation.attributes[TYPE] = ir.StringAttr.get(kind)
        operation.attributes[REASON] = ir.StringAttr.get(reason)


def mark_weights(operation: ir.Operation, kind: str) -> None:
    """Note that the weights of a marked op are stored in `kind` all the same."""
    operation.attributes[WEIGHTS] = ir.StringAttr.get(kind)


def kept_type(operation: ir.Operation) -> str | None:
    """The type that an op is marked to be computed in, or None."""
    return ir.StringAttr(operation.attributes[TYPE]).value if TYPE in operation.attributes else None


def wants_weights(operation: ir.Operation) -> str | None:
    """The type that the weights of an op are marked to be stored in, or None."""
    return ir.StringAttr(operation.attributes[WEIGHTS]).value if WEIGHTS in operation.attributes else None
