"""A function of tensorrt ops, or of onnx ops, as an ONNX model without weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch_mlir import ir

from ...dialects.onnx.export import ExportedModel, export_function
from ...dialects.onnx.model_writer import ModelWriter
from ...dialects.onnx.value_types import ports, value_info
from ...errors import EngineBuildError
from ...ir.builder import Op
from ...ir.locations import sources_of
from .emitters import EMITTERS
from .kernels import OPSET
from .scope import Scope

__all__ = ["emit_block", "emit_function"]


def emit_function(function: ir.Operation, weights: Mapping[str, np.ndarray]) -> ExportedModel:
    """The ONNX model of a func.func.

    Raises EngineBuildError for an op, an element type or a weight that has no form there.
    """
    block = function.regions[0].blocks[0]
    if any(operation.name.startswith("onnx.") for operation in block.operations):
        try:
            return export_function(function, weights)
        except KeyError as error:
            raise EngineBuildError(f"cannot be written as ONNX: {error.args[0]}") from error
    return _emit_tensorrt(function, block, weights)


def _emit_tensorrt(function: ir.Operation, block: ir.Block, weights: Mapping[str, np.ndarray]) -> ExportedModel:
    writer = ModelWriter({"": OPSET}, weights)
    scope = Scope(writer)
    arguments, results = ports(function)
    inputs = [
        value_info(scope.argument(value, port.name), port.type, port.dimension_names)
        for port, value in zip(arguments, block.arguments, strict=True)
    ]
    names = emit_block(scope, block, [port.name for port in results])
    outputs = [value_info(n, p.type, p.dimension_names) for n, p in zip(names, results, strict=True)]
    model = writer.model(scope.proto("main", inputs, outputs))
    return ExportedModel(model, tuple(writer.used), tuple(arguments), tuple(results))


def emit_block(scope: Scope, block: ir.Block, hints: Sequence[str]) -> list[str]:
    """Emit a block's ops into `scope`; the names of what its terminator gives, each made in this graph."""
    operations = list(block.operations)
    for operation in operations[:-1]:
        emit_operation(scope, operation.operation)
    returned = list(operations[-1].operands)
    return finish(scope, returned, hints)


def finish(scope: Scope, values: Sequence[ir.Value], hints: Sequence[str]) -> list[str]:
    """Output names for `values`; constants are given names first."""
    for value in values:
        if scope.constant(value) is not None:
            scope.bind(value, scope.tensor(value))
    scope.label = ""
    return scope.outputs(values, hints)


def emit_operation(scope: Scope, operation: ir.Operation) -> None:
    """Emit one op. Raises EngineBuildError that names the op and where it came from."""
    emitter = EMITTERS.get(operation.name)
    sources = sources_of(operation.location)
    scope.label = " + ".join(sources) or operation.name.partition(".")[2]
    where = f"{operation.name} '{scope.label}'"
    if emitter is None:
        raise EngineBuildError("this op has no form for ONNX Runtime", where=where)
    try:
        emitter(Op.of(operation), scope)
    except EngineBuildError as error:
        raise EngineBuildError(error.what, where=error.where or where, hint=error.hint) from error
    except KeyError as error:
        raise EngineBuildError(f"{error.args[0]} is missing or not known", where=where) from error
