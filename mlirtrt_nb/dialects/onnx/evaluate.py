"""Computes onnx ops whose operands are all known: what constant folding needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from torch_mlir import ir

from .export import OnnxGraph
from .model_writer import ModelWriter
from .ops import is_absent
from .ort_arrays import array_of
from .ort_session import RUN_ONCE, open_session, runtime_errors
from .value_types import value_info

__all__ = ["evaluate"]


def evaluate(
    operations: Sequence[ir.Operation],
    weights: Mapping[str, np.ndarray],
    opset_import: Mapping[str, int],
    known: Mapping[ir.Value, np.ndarray] | None = None,
) -> dict[ir.Value, np.ndarray]:
    """The value of each result of `operations`, which are onnx ops in an order that respects their uses.

    An operand is a result of an earlier one of them, or of any `onnx.constant`, or in `known`.
    All run in one ONNX Runtime session with optimisations off, so hundreds of small ops take milliseconds.
    What ONNX Runtime refuses or fails at, and what depends on it, is missing from the answer; the rest is
    there. Weights are read in place.
    """
    table = dict(known or {})
    _evaluate([operation.operation for operation in operations], weights, opset_import, table)
    given = known or {}
    return {value: array for value, array in table.items() if value not in given}


def _evaluate(
    operations: Sequence[ir.Operation],
    weights: Mapping[str, np.ndarray],
    opset_import: Mapping[str, int],
    table: dict[ir.Value, np.ndarray],
) -> None:
    """Add results to `table`; on a failure try each half, so that one bad op does not spoil the others."""
    refusals: tuple[type[Exception], ...] = (KeyError, *runtime_errors())
    try:
        table.update(_run(operations, weights, opset_import, table))
    except refusals:
        if len(operations) <= 1:
            return
        half = len(operations) // 2
        _evaluate(operations[:half], weights, opset_import, table)
        _evaluate(operations[half:], weights, opset_import, table)


def _run(
    operations: Sequence[ir.Operation],
    weights: Mapping[str, np.ndarray],
    opset_import: Mapping[str, int],
    table: Mapping[ir.Value, np.ndarray],
) -> dict[ir.Value, np.ndarray]:
    writer = ModelWriter(opset_import, weights)
    graph = OnnxGraph(writer)
    _bind_known(graph, operations, table)
    values = []
    for operation in operations:
        graph.operation(operation)
        if operation.name not in ("onnx.constant", "onnx.novalue"):
            values += [result for result in operation.results if not is_absent(result)]
    if not values:
        return {}
    names = [writer.unique("result") for _ in values]
    graph.outputs(values, names)
    outputs = [value_info(name, v.type, shape=False) for name, v in zip(names, values, strict=True)]
    model = writer.model(graph.proto("fold", [], outputs))
    opened = open_session(model.SerializeToString(), writer.table, RUN_ONCE)
    results = opened.session._sess.run_with_ort_values({}, names, None)
    return {v: array_of(r) for v, r in zip(values, results, strict=True) if r.is_tensor()}


def _bind_known(
    graph: OnnxGraph, operations: Sequence[ir.Operation], table: Mapping[ir.Value, np.ndarray]
) -> None:
    """Make an initializer of each known value or constant that the operations, or regions of theirs, use."""
    for value in _used(operations):
        if value in table:
            graph.bind(value, graph.writer.array(table[value], "known"))
        elif isinstance(value, ir.OpResult) and value.owner.name == "onnx.constant":
            graph.operation(value.owner.operation)


def _used(operations: Sequence[ir.Operation]) -> Iterator[ir.Value]:
    for operation in operations:
        yield from operation.operands
        for region in operation.regions:
            for block in region.blocks:
                yield from _used([inner.operation for inner in block.operations])
