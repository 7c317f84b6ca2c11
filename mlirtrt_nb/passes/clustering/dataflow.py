"""A function's ops as a graph of integers: what clustering works on, in the pass and in the partition view."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from .host_values import is_host_op
from .values import captured_values, is_constant

__all__ = ["backend_of", "producers_of", "work_of"]


def work_of(block: ir.Block) -> list[ir.Operation]:
    """The ops of a function's body that compute: without constants, and without what ends it."""
    *operations, _ = [op.operation for op in block.operations]
    return [op for op in operations if not is_constant(op)]


def producers_of(nodes: Sequence[ir.Operation]) -> list[list[int]]:
    """Per op, which of `nodes` give what it or its regions read, by position."""
    producer = {result: n for n, op in enumerate(nodes) for result in op.results}
    return [sorted({producer[v] for v in captured_values(op) if v in producer}) for op in nodes]


def backend_of(operation: ir.Operation) -> str:
    """The backend that takes the op: tensorrt; onnx for what has no TensorRT form; host for a tensorrt op
    that the builder refused (marked `plan.fallback`); kernel for an op of an upstream dialect, which MLIR
    compiles for the host; "" for an op that nothing runs."""
    dialect = operation.name.partition(".")[0]
    if dialect == "tensorrt":
        return "host" if "plan.fallback" in operation.attributes else "tensorrt"
    if dialect == "onnx":
        return "onnx"
    return "kernel" if is_host_op(operation) else ""
