"""Which passes `mt.compile` runs, in order."""

from __future__ import annotations

from typing import Any

from ..precision import Precision

__all__ = ["default_passes"]

_INPUT = (
    "specialize-shapes",
    "onnx-expand-functions",
    "onnx-qoperators-to-qdq",
    "onnx-eliminate-identity",
    "onnx-fold-constants",
    "fold-batch-norm",
)
_TENSORRT = (
    "onnx-to-tensorrt",
    "canonicalize",
    "cse",
    "broadcast-elimination",
    "raise-softmax",
    "raise-attention",
    "transpose-reshape-elimination",
    "raise-activations",
    "raise-normalizations",
    "apply-workarounds",
)
_CLUSTERING = ("plan-clustering", "plan-outline-clusters")


def default_passes(targets: tuple[str, ...], precision: Precision) -> list[tuple[str, dict[str, Any]]]:
    """Names and options of the passes for the targets and precision. All targets share one partition, so that
    one Plan serves them all and the CPU runs exactly the ops that the TensorRT engines were built from."""
    plain: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in (*_INPUT, *_TENSORRT)]
    return [*plain, *_precision(precision, precision.rest_for(targets)), *((name, {}) for name in _CLUSTERING)]


def _precision(precision: Precision, rest: str) -> list[tuple[str, dict[str, Any]]]:
    if precision.base == "fp32":
        return []
    passes: list[tuple[str, dict[str, Any]]] = [("precision-widen", {})] if precision.needs_ranges else []
    assign = {
        "base": precision.base,
        "rest": rest,
        "keep": list(precision.keep),
        "defaults": precision.defaults,
    }
    passes.append(("precision-assign", assign))
    if precision.is_quantized:
        quantize = {"base": precision.base, "rest": rest, "block": precision.block}
        if precision.needs_ranges:
            quantize |= {"calibration": precision.calibration, "method": precision.range_method}
        passes.append(("precision-quantize", quantize))
    if rest != "fp32":
        passes.append(("precision-cast", {"to": rest, "io": precision.io}))
    return [*passes, ("precision-simplify", {})]
