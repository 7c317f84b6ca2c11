"""One op as an ONNX Runtime session of its own: nothing is fused, and narrow floats are computed on as f32.

Weights are inputs of these models, so that ops of one kind, shape and set of attributes share a session
whatever their weights are.
"""

from __future__ import annotations

import threading
from collections import ChainMap, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper
from torch_mlir import ir
from torch_mlir.dialects import builtin, func

from ..dialects.onnx.export import ExportedModel
from ..dialects.onnx.model_writer import rename
from ..dialects.onnx.ort_arrays import SPECIAL, array_of, ort_value
from ..dialects.onnx.ort_session import RUN_ONCE, open_session, runtime_errors
from ..engine.onnxruntime.emit import export
from ..engine.reference.session import ReferenceSession
from ..errors import EngineBuildError, MlirTrtError
from ..ir.constants import attribute_of, handle_name, value_of
from .rounding import WIDE, is_low_precision, widen

__all__ = ["SingleOp"]

# Ops that are worth several threads. Each session has threads of its own, which must not spin between calls.
_HEAVY = frozenset(
    f"tensorrt.{name}" for name in ("convolution", "deconvolution", "matrix_multiply", "einsum", "attention")
)
_QUIET = {"session.intra_op.allow_spinning": "0"}
_MOST_SESSIONS = 4096

_sessions: OrderedDict[bytes, Any] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class _Weight:
    """A weight of the op: the array as it lies in the program's table, and its shape in the model."""

    array: np.ndarray
    shape: tuple[int, ...]


class SingleOp:
    """An op that is ready to run on arrays.

    Args:
        operation: a tensorrt or onnx op; its program must stay alive.
        weights: the program's table.

    Raises EngineBuildError for an op that neither ONNX Runtime nor ONNX's reference evaluator has.
    """

    def __init__(self, operation: ir.Operation, weights: Mapping[str, np.ndarray]) -> None:
        with operation.context, ir.Location.unknown():
            isolated = _Isolated(operation, weights)
            self.operands = isolated.operands
            exported = export(isolated.function.operation, isolated.weights)
        # The narrow arrays are widened again at each run, so that weights are not held twice.
        table = ChainMap(isolated.narrow, isolated.weights)  # type: ignore[arg-type]
        model, self._weights = _without_weights(exported, table)
        self._inputs = [port.name for port in exported.inputs]
        self._outputs = [port.name for port in exported.outputs]
        self._session = _session(model, isolated.label)

    def run(self, operands: Sequence[Any]) -> list[Any]:
        """The results on arrays for `self.operands`; floats that the op keeps narrow come as f32."""
        feeds = {name: _wide(value) for name, value in zip(self._inputs, operands, strict=True)}
        for name, weight in self._weights.items():
            feeds[name] = widen(weight.array).reshape(weight.shape)
        # An op without results, an assertion, has an output all the same: ONNX Runtime runs nothing without.
        return self._session.run(self._outputs or None, feeds)[: len(self._outputs)]


def _wide(value: Any) -> Any:
    return widen(value) if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS" else value


def _widened(kind: ir.Type) -> ir.Type:
    """The type with a narrow float element widened; sequences and the like as they are."""
    if not isinstance(kind, ir.RankedTensorType) or not is_low_precision(str(kind.element_type)):
        return kind
    return ir.RankedTensorType.get(list(kind.shape), ir.Type.parse(WIDE))


class _Isolated:
    """A function of its own around a copy of an op.

    `operands` are the values of the program that are its arguments, in order. Constants that the op reads
    come along: shapes and axes have to be known when it is written as ONNX. `narrow` has the arrays behind
    weights that were widened.
    """

    def __init__(self, operation: ir.Operation, weights: Mapping[str, np.ndarray]) -> None:
        self.label = operation.name
        self._own: dict[str, np.ndarray] = {}
        self.narrow: dict[str, np.ndarray] = {}
        self.weights: ChainMap[str, np.ndarray] = ChainMap(self._own, weights)  # type: ignore[arg-type]
        # What is inside a region keeps its types, since each op there rounds by itself; onnx ops too, since
        # their attributes name types.
        self._widen = operation.name.startswith("tensorrt.") and not len(operation.regions)
        outside = _read_from_outside(operation)
        known = [value for value in outside if _is_constant(value)]
        self.operands = [value for value in outside if not _is_constant(value)]
        module = builtin.ModuleOp()
        with ir.InsertionPoint(module.body):
            made = func.FuncOp("main", ([self._type(v) for v in self.operands], self._results(operation)))
        self._copy_opsets(operation, made)
        self._module = module  # keeps the function alive
        self.function = made
        block = made.add_entry_block()
        arguments = dict(zip(self.operands, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            places = arguments | {value: self._constant(value) for value in known}
            copy = operation.clone(ip=ir.InsertionPoint(block))
            copy.operation.location = ir.Location.unknown()
            _redirect(copy.operation, places)
            self._retype(copy.operation)
            func.ReturnOp(list(copy.operation.results))

    def _type(self, value: ir.Value) -> ir.Type:
        return _widened(value.type) if self._widen else value.type

    def _results(self, operation: ir.Operation) -> list[ir.Type]:
        return [self._type(value) for value in operation.results]

    def _copy_opsets(self, operation: ir.Operation, made: func.FuncOp) -> None:
        found: Any = operation.parent
        while found is not None:
            if "onnx.opset_import" in found.operation.attributes:
                made.attributes["onnx.opset_import"] = found.operation.attributes["onnx.opset_import"]
                return
            found = found.operation.parent

    def _constant(self, value: ir.Value) -> ir.Value:
        copy = value.owner.operation.clone().operation
        copy.location = ir.Location.unknown()
        self._retype(copy)
        return copy.results[value.result_number]  # type: ignore[attr-defined]

    def _retype(self, operation: ir.Operation) -> None:
        """Widen the op's results and the elements that its attributes hold."""
        if not self._widen:
            return
        for result in operation.results:
            wide = _widened(result.type)
            if wide != result.type:
                result.set_type(wide)
        for name in list(operation.attributes):
            key = name if isinstance(name, str) else name.name
            attribute = operation.attributes[key]
            if _holds_narrow(attribute):
                array = value_of(attribute, self.weights)
                wide = operation.attributes[key] = attribute_of(array.astype(np.float32), self._own, "wide")
                handle = handle_name(wide)
                if handle is not None:
                    self.narrow[handle] = array


def _holds_narrow(attribute: ir.Attribute) -> bool:
    if not isinstance(attribute, ir.DenseElementsAttr) and handle_name(attribute) is None:
        return False
    kind = attribute.type  # type: ignore[attr-defined]
    return isinstance(kind, ir.RankedTensorType) and is_low_precision(str(kind.element_type))


def _is_constant(value: ir.Value) -> bool:
    return isinstance(value, ir.OpResult) and value.owner.name in (
        "tensorrt.constant",
        "onnx.constant",
        "onnx.novalue",
    )


def _read_from_outside(operation: ir.Operation) -> list[ir.Value]:
    """The values that the op and its regions read and do not make, each once, in order."""
    found: dict[ir.Value, None] = dict.fromkeys(operation.operands)
    inside: set[ir.Value] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.arguments)
        inside.update(inner.results)
        found.update(dict.fromkeys(inner.operands))
        return ir.WalkResult.ADVANCE

    if len(operation.regions):
        operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return [value for value in found if value not in inside]


def _redirect(operation: ir.Operation, places: Mapping[ir.Value, ir.Value]) -> None:
    """Let a copied op, and what is in its regions, read the values of its new function."""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for n, value in enumerate(inner.operands):
            if value in places:
                inner.operands[n] = places[value]
        return ir.WalkResult.ADVANCE

    operation.walk(visit, ir.WalkOrder.PRE_ORDER)


def _without_weights(
    exported: ExportedModel, table: Mapping[str, np.ndarray]
) -> tuple[ModelProto, dict[str, _Weight]]:
    """The model with its external weights made inputs called by number, and what to feed there."""
    graph = exported.model.graph
    kept: list[TensorProto] = []
    weights: dict[str, _Weight] = {}
    names: dict[str, str] = {}
    for tensor in graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL:
            kept.append(tensor)
            continue
        key = next(entry.value for entry in tensor.external_data if entry.key == "location")
        names[tensor.name] = name = f"weight {len(weights)}"
        shape = tuple(tensor.dims)
        weights[name] = _Weight(table[key], shape)
        graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, shape))
    del graph.initializer[:]
    graph.initializer.extend(kept)
    rename(graph.node, names)
    return exported.model, weights


def _session(model: ModelProto, label: str) -> Any:
    key = model.SerializeToString(deterministic=True)
    with _lock:
        found = _sessions.get(key)
        if found is not None:
            _sessions.move_to_end(key)
            return found
    made = _opened(key, label)
    with _lock:
        _sessions[key] = made
        while len(_sessions) > _MOST_SESSIONS:
            _sessions.popitem(last=False)
    return made


def _opened(model: bytes, label: str) -> Any:
    """A session of ONNX Runtime, or of ONNX's reference evaluator for what that lacks."""
    try:
        settings = replace(RUN_ONCE, threads=0) if label in _HEAVY else RUN_ONCE
        return _OrtSession(open_session(model, {}, settings, config=_QUIET).session)
    except runtime_errors() as refusal:
        try:
            return ReferenceSession(model, {})
        except Exception as error:  # the evaluator has no base class for what it raises
            raise EngineBuildError(f"ONNX Runtime refused it: {refusal}", where=label) from error


class _OrtSession:
    """Runs on arrays of any element type."""

    def __init__(self, session: Any) -> None:
        self._native = session._sess
        self._all = [entry.name for entry in session.get_outputs()]
        types = [entry.type for entry in (*session.get_inputs(), *session.get_outputs())]
        self._plain = not any(kind in SPECIAL for kind in types)

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]:
        names = self._all if names is None else list(names)
        try:
            if self._plain:
                return self._native.run(names, dict(feeds), None)  # type: ignore[no-any-return]
            values = {name: ort_value(array) for name, array in feeds.items()}
            natives = {name: value._ortvalue for name, value in values.items()}
            results = self._native.run_with_ort_values(natives, names, None)
        except runtime_errors() as error:
            reason = " ".join(str(error).split())[:300]
            raise MlirTrtError(f"an op failed while running: {reason}") from error
        return [array_of(value) for value in results]
