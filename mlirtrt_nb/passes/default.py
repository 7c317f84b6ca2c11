"""Which passes `mt.compile` runs, in order."""

from __future__ import annotations

__all__ = ["default_names"]

_INPUT = (
    "specialize-shapes",
    "onnx-expand-functions",
    "onnx-eliminate-identity",
    "onnx-fold-constants",
    "fold-batch-norm",
)
_TENSORRT = (
    "onnx-to-tensorrt",
    "canonicalize",
    "cse",
    "broadcast-elimination",
    "raise-attention",
    "transpose-reshape-elimination",
    "raise-activations",
    "raise-normalizations",
)
_CLUSTERING = ("plan-clustering", "plan-outline-clusters")


def default_names(targets: tuple[str, ...], precision: str) -> list[str]:
    """Pass names for the targets and precision. All targets share one partition, so that one Plan serves
    them all and the CPU runs exactly the ops that the TensorRT engines were built from."""
    del targets, precision
    return [*_INPUT, *_TENSORRT, *_CLUSTERING]
