"""A function of tensorrt ops, or of onnx ops, as an ONNX model without weights."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import GraphProto, ValueInfoProto
from torch_mlir import ir

from ...dialects.onnx.export import ExportedModel, declare, export_function, finished
from ...dialects.onnx.model_writer import ModelWriter
from ...errors import EngineBuildError
from ...ir.builder import Op
from ...ir.locations import sources_of
from .emitters import EMITTERS
from .kernels import OPSET
from .scope import Scope

__all__ = ["emit_operation", "export"]


def export(function: ir.Operation, weights: Mapping[str, np.ndarray]) -> ExportedModel:
    """The ONNX model of a func.func.

    Raises EngineBuildError for an op, an element type or a weight that has no form there.
    """
    block = function.regions[0].blocks[0]
    if any(operation.name.startswith("onnx.") for operation in block.operations):
        try:
            return export_function(function, weights)
        except KeyError as error:
            raise EngineBuildError(f"cannot be written as ONNX: {error.args[0]}") from error
    return _export_tensorrt(function, block, weights)


def _export_tensorrt(
    function: ir.Operation, block: ir.Block, weights: Mapping[str, np.ndarray]
) -> ExportedModel:
    scope = Scope(ModelWriter({"": OPSET}, weights))
    inputs, outputs = declare(scope, function, block)
    for value, port in zip(block.arguments, inputs, strict=True):
        scope.note(port.name, port.dtype)
        scope.bind(value, port.name)
    operations = list(block.operations)
    for operation in operations[:-1]:
        emit_operation(scope, operation.operation)
    returned = list(operations[-1].operands)
    for value in returned:
        if scope.constant(value) is not None:
            scope.bind(value, scope.tensor(value))
    scope.outputs(returned, [port.name for port in outputs])
    exported = finished(scope, inputs, outputs)
    if not outputs:
        _request_all(exported.model.graph)
    return exported


def _request_all(graph: GraphProto) -> None:
    """Make outputs of what nothing reads: ONNX Runtime does not run a model that gives nothing."""
    read = {name for node in graph.node for name in node.input}
    made = (name for node in graph.node for name in node.output if name not in read)
    graph.output.extend(ValueInfoProto(name=name) for name in made)


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
