"""Result types of ops that ONNX has no schema for, as ONNX Runtime works them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
from onnx import ModelProto, ValueInfoProto
from torch_mlir import ir

from ...ir import dtypes
from .export import OnnxGraph
from .model_writer import ModelWriter, tensor_proto
from .ops import is_absent
from .ort_arrays import SPECIAL
from .value_types import value_info

__all__ = ["runtime_types"]

_SMALL = 1024  # elements of a value that inference may want to see
# NumPy's types in ONNX Runtime's words, where MLIR spells them otherwise.
_ELEMENTS = {"float": "f32", "double": "f64", "float16": "f16", "bool": "i1"}

Types = tuple[tuple[str, tuple[int | None, ...]] | None, ...]


def runtime_types(
    operation: ir.Operation,
    opset_import: Mapping[str, int],
    known: Callable[[ir.Value], np.ndarray | None],
) -> list[ir.Type | None]:
    """The type of each result; None where ONNX Runtime does not know the op, or knows nothing of a result."""
    nothing: list[ir.Type | None] = [None] * len(operation.results)
    try:
        model = _model(operation, opset_import, known)
    except (KeyError, ValueError, TypeError):
        return nothing
    found = _ask(model.SerializeToString())
    if len(found) != sum(not is_absent(result) for result in operation.results):
        return nothing
    rest = iter(found)
    return [None if is_absent(result) else _type(next(rest)) for result in operation.results]


def _model(
    operation: ir.Operation,
    opset_import: Mapping[str, int],
    known: Callable[[ir.Value], np.ndarray | None],
) -> ModelProto:
    """A model of the one op; what is small and constant is an initializer, the rest are inputs."""
    writer = ModelWriter(opset_import, {})
    graph = OnnxGraph(writer)
    inputs, constants = [], []
    for index, value in enumerate(dict.fromkeys(operation.operands)):
        if is_absent(value):
            continue
        name = graph.define(value, f"v{index}")
        array = known(value)
        if array is not None and array.size <= _SMALL:
            constants.append(tensor_proto(array, name))
        else:
            inputs.append(value_info(name, value.type))
    graph.operation(operation)
    outputs = [ValueInfoProto(name=name) for name in graph.nodes[-1].output if name]
    made = writer.model(graph.proto("op", inputs, outputs))
    made.graph.initializer.extend(constants)
    return made


@lru_cache(maxsize=1024)
def _ask(model: bytes) -> Types:
    """Element type and dimensions of each output; () if ONNX Runtime refuses the model."""
    import onnxruntime

    from .ort_session import runtime_errors

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except runtime_errors():
        return ()
    return tuple(_described(output) for output in session.get_outputs())


def _described(output: object) -> tuple[str, tuple[int | None, ...]] | None:
    kind, shape = output.type, output.shape  # type: ignore[attr-defined]
    name = kind.removeprefix("tensor(").removesuffix(")")
    spelling = SPECIAL.get(kind) or _ELEMENTS.get(name) or name.replace("uint", "ui").replace("int", "i")
    try:
        dtypes.by_mlir(spelling)
    except KeyError:
        return None
    # An unknown rank reads as rank 0 as well.
    return (spelling, tuple(d if isinstance(d, int) else None for d in shape)) if shape else None


def _type(found: tuple[str, tuple[int | None, ...]] | None) -> ir.Type | None:
    if found is None:
        return None
    dynamic = ir.ShapedType.get_dynamic_size()
    dims = [dynamic if dim is None else dim for dim in found[1]]
    return ir.RankedTensorType.get_unchecked(dims, ir.Type.parse(found[0]))
