"""Why an op is in no TensorRT engine, in the words that a Plan, a partition and their remedies share."""

from __future__ import annotations

from torch_mlir import ir

from .host_values import is_host_op

__all__ = ["TOO_SMALL", "why_not_tensorrt"]

TOO_SMALL = "its cluster is smaller than min-cluster-size"
_COMPILED = "it is no op of TensorRT's: MLIR compiles it for the host"
_NOT_CONVERTED = "the pipeline did not convert it"


def why_not_tensorrt(operation: ir.Operation) -> str:
    """The reason for which an op, known to be in no engine, is in none."""
    if "plan.fallback" in operation.attributes:
        return str(operation.attributes["plan.fallback"].value)  # type: ignore[attr-defined]
    if is_host_op(operation):
        return _COMPILED
    return TOO_SMALL if operation.name.startswith("tensorrt.") else _NOT_CONVERTED
