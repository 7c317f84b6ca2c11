"""Result types of single onnx ops, by ONNX's own inference, and how types are combined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from onnx import TensorProto, TypeProto, checker, defs, helper, shape_inference
from torch_mlir import ir

from ...ir import dtypes
from ...ir.shapes import DYNAMIC
from .export import OnnxGraph
from .families import BROADCASTING, SAME_SHAPE
from .model_writer import ModelWriter, tensor_proto
from .ops import is_absent
from .runtime_types import runtime_types
from .schemas import identity
from .value_types import type_proto

__all__ = ["TypeInference", "is_settled", "join", "merge"]

# Elementwise ops, where the schemas' inference would say the same.
_SIMPLE = (SAME_SHAPE | BROADCASTING) - {"BatchNormalization", "Dropout", "LayerNormalization", "CastLike"}
# Ops that runtimes run on more than the rules allow: Range on tensors of one element that are not scalars.
_LENIENT = frozenset({"Range"})
_SMALL = 1024  # elements of a value that inference may want to see


class TypeInference:
    """Infers types of ops in the current context under one opset import.

    `known(value)` gives the array of a value that is constant, or None. `failure` is the first op whose
    operands contradict its rules, and what they contradict.
    """

    def __init__(self, opset_import: Mapping[str, int], known: Callable[[ir.Value], np.ndarray | None]) -> None:
        self._opset_import = dict(opset_import)
        self._imports = [helper.make_opsetid(domain, version) for domain, version in opset_import.items()]
        self._known = known
        self.failure: tuple[ir.Operation, str] | None = None

    def results(self, operation: ir.Operation) -> list[ir.Type | None]:
        """The type of each result as far as inference knows; None where it knows nothing, or fails."""
        if operation.name == "onnx.custom":
            return runtime_types(operation, self._opset_import, self._known)
        domain, kind = identity(operation.name)
        if not domain and kind in _SIMPLE:
            found = _simple(operation, kind)
            if found is not None:
                return [found] + [None] * (len(operation.results) - 1)
        by_schema = self.by_schema(operation)
        if domain and not any(by_schema):
            return runtime_types(operation, self._opset_import, self._known)
        return by_schema

    def by_schema(self, operation: ir.Operation) -> list[ir.Type | None]:
        """`results`, but only what the inference of the op's schema says, whatever is declared."""
        domain, kind = identity(operation.name)
        nothing: list[ir.Type | None] = [None] * len(operation.results)
        try:
            opset = max(self._opset_import[domain], _SIZED_RIGHT_FROM.get((domain, kind), 1))
            schema = _schema(kind, opset, domain)
            graph = OnnxGraph(ModelWriter(self._opset_import, {}))
            types, data = self._operands(graph, operation)
            graph.operation(operation)
            node = graph.nodes[-1]
            found = shape_inference.infer_node_outputs(
                schema, node, types, data, opset_imports=self._imports, ir_version=_IR_VERSION
            )
            if any(d.dim_value < 0 for kind in found.values() for d in kind.tensor_type.shape.dim):
                raise shape_inference.InferenceError("a dimension of the result would be negative")
        except (shape_inference.InferenceError, checker.ValidationError) as error:
            if self.failure is None and kind not in _LENIENT:
                self.failure = (operation, str(error).strip())
            return nothing
        except (KeyError, ValueError, TypeError, RuntimeError, defs.SchemaError):
            return nothing
        names = list(node.output) + [""] * (len(operation.results) - len(node.output))
        return [_mlir_type(found.get(name)) if name else None for name in names]

    def _operands(
        self, graph: OnnxGraph, operation: ir.Operation
    ) -> tuple[dict[str, TypeProto], dict[str, TensorProto]]:
        types: dict[str, TypeProto] = {}
        data: dict[str, TensorProto] = {}
        for index, value in enumerate(operation.operands):
            if is_absent(value):
                continue
            name = graph.define(value, f"v{index}")
            types[name] = type_proto(value.type)
            array = self._known(value)
            if array is not None and array.size <= _SMALL:
                data[name] = tensor_proto(array, name)
        return types, data


_IR_VERSION = 10
# Ops whose inference is wrong before an opset: it counted a window of ceil_mode that is left out.
_SIZED_RIGHT_FROM = {("", "AveragePool"): 22, ("", "MaxPool"): 22}


def _simple(operation: ir.Operation, kind: str) -> ir.Type | None:
    """The first result's type of an elementwise op, whose element type is known already."""
    known = operation.results[0].type
    operands = [value.type for value in operation.operands]
    if kind in SAME_SHAPE:
        operands = operands[:1]
    if not all(isinstance(t, ir.RankedTensorType) for t in operands) or not isinstance(known, ir.ShapedType):
        return None
    shape = _broadcast([list(t.shape) for t in operands])
    if shape is None or _is_unknown(known):
        return None
    return ir.RankedTensorType.get_unchecked(shape, known.element_type)


def _broadcast(shapes: list[list[int]]) -> list[int] | None:
    """The shape that all broadcast to; None where they cannot."""
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, rank - len(shape)):
            have = result[axis]
            if have == 1 or (have == DYNAMIC and dim not in (1, have)):
                result[axis] = dim
            elif dim not in (1, have, DYNAMIC):
                return None
    return result


@cache
def _schema(kind: str, version: int, domain: str) -> defs.OpSchema:
    return defs.get_schema(kind, version, domain)


def _mlir_type(proto: TypeProto | None) -> ir.Type | None:
    """The MLIR type of a tensor's TypeProto; None for anything else, or an unknown element type."""
    if proto is None or not proto.HasField("tensor_type"):
        return None
    try:
        element = ir.Type.parse(dtypes.by_onnx(proto.tensor_type.elem_type).mlir)
    except KeyError:
        return None
    if not proto.tensor_type.HasField("shape"):
        return ir.UnrankedTensorType.get(element)
    dims = [d.dim_value if d.HasField("dim_value") else DYNAMIC for d in proto.tensor_type.shape.dim]
    return ir.RankedTensorType.get_unchecked(dims, element)


def is_settled(kind: ir.Type) -> bool:
    """Whether nothing more can be learnt of a type: it is no tensor, or a tensor of static shape."""
    if isinstance(kind, ir.RankedTensorType):
        return kind.has_static_shape
    return not isinstance(kind, ir.UnrankedTensorType)


def _shape(kind: ir.RankedTensorType) -> list[int]:
    return list(kind.shape)


def merge(old: ir.Type, new: ir.Type | None) -> ir.Type:
    """What is known of a value from two true statements about it. Where they contradict, `new` counts."""
    if new is None or not isinstance(new, ir.RankedTensorType):
        return old if new is None or not _is_unknown(old) else new
    if not isinstance(old, ir.RankedTensorType) or old.rank != new.rank:
        return new
    dims = [b if b != DYNAMIC else a for a, b in zip(_shape(old), _shape(new), strict=True)]
    return ir.RankedTensorType.get_unchecked(dims, new.element_type)


def _is_unknown(kind: ir.Type) -> bool:
    return isinstance(kind, ir.UnrankedTensorType) and str(kind.element_type) == "!onnx.any"


def join(a: ir.Type, b: ir.Type) -> ir.Type:
    """What is true of a value that is of one type or the other."""
    if a == b:
        return a
    if not isinstance(a, ir.RankedTensorType | ir.UnrankedTensorType):
        return a
    if not isinstance(a, ir.RankedTensorType) or not isinstance(b, ir.RankedTensorType) or a.rank != b.rank:
        return ir.UnrankedTensorType.get(a.element_type)
    dims = [x if x == y else DYNAMIC for x, y in zip(_shape(a), _shape(b), strict=True)]
    return ir.RankedTensorType.get_unchecked(dims, a.element_type)
