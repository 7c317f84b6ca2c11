"""onnx-to-tensorrt: rewrite what TensorRT can take in the tensorrt dialect, and say why the rest stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...program import Program
from ..base import Pass, PassContext, option, register

if TYPE_CHECKING:
    from torch_mlir import ir

    from .conversions.emitter import Emitter
    from .conversions.node import Node

__all__ = ["OnnxToTensorrt"]

_FALLBACK = "plan.fallback"


@register
class OnnxToTensorrt(Pass):
    """Convert onnx ops to the tensorrt dialect. An op that TensorRT cannot take stays, with the reason
    in its attribute `plan.fallback`; so does every op named in `keep`."""

    name = "onnx-to-tensorrt"
    phase = "tensorrt"

    keep: list[str] = option([], "ONNX op types that stay as they are, to run on ONNX Runtime")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir
        from torch_mlir.dialects import func

        with program.context, ir.Location.unknown():
            for operation in program.module.body.operations:
                if isinstance(operation, func.FuncOp) and not operation.is_external:
                    _Function(program, operation.operation, frozenset(self.keep)).convert()
            _drop_unread_weights(program)


class _Function:
    """The conversion of one function: ops are converted in order, then the onnx ones are removed."""

    def __init__(self, program: Program, operation: ir.Operation, keep: frozenset[str]) -> None:
        from ...dialects.onnx.ops import opset
        from .conversions.dims import Dims
        from .conversions.emitter import Emitter

        self._function = operation
        self._block = operation.regions[0].blocks[0]
        self._weights = program.weights
        self._keep = keep
        self._opset = opset(operation)
        self._dims = Dims(program.weights, self._opset)
        self._emitter = Emitter(program.weights)
        self._done: list[ir.Operation] = []

    def convert(self) -> None:
        for operation in [op.operation for op in self._block.operations]:
            if operation.name.startswith("onnx.") and operation.name not in _NOT_OPS:
                reason = self._convert(operation)
                if reason is None:
                    self._done.append(operation)
                else:
                    self._mark(operation, reason)
        self._finish()

    def _mark(self, operation: ir.Operation, reason: str) -> None:
        from torch_mlir import ir

        operation.attributes[_FALLBACK] = ir.StringAttr.get(reason)

    def _convert(self, operation: ir.Operation) -> str | None:
        """Convert one op, or give the reason why it stays."""
        from ...dialects.onnx.schemas import identity
        from .conversions import CONVERTERS, Node, Refused

        if operation.name == "onnx.custom":
            return f"op {_text(operation, 'op_type')} of domain {_text(operation, 'domain')} is not known"
        domain, name = identity(operation.name)
        if name in self._keep:
            return f"{name} is kept by the option keep"
        convert = None if domain else CONVERTERS.get(name)
        if convert is None:
            return f"no TensorRT layer for {name}"
        node = Node(operation, name, self._opset, self._weights, self._dims)
        self._emitter.begin(operation)
        try:
            _check_types(node)
            found = convert(node, self._emitter)
            values = [found] if not isinstance(found, list | tuple) else list(found)
            settled = _settle(node, values, self._emitter)
            _check_limits(self._emitter)
        except Refused as refused:
            self._emitter.undo()
            return str(refused)
        for before, after in settled:
            self._emitter.settle(before, after)
        return None

    def _finish(self) -> None:
        """Point the users that remain at the converted values, and remove what nothing reads."""
        for operation in self._done:
            for result in operation.results:
                after = self._emitter.converted(result)
                if after is not None:
                    result.replace_all_uses_with(after)
        for operation in reversed(self._done):
            operation.erase()
        self._return()
        for operation in reversed([op.operation for op in self._block.operations]):
            if operation.name.startswith(_DIALECTS) and not _is_read(operation):
                operation.erase()

    def _return(self) -> None:
        """Return constants in the tensorrt dialect where it has their type, and declare what is returned."""
        from torch_mlir import ir

        from ...dialects.onnx.ops import is_constant

        end = self._block.operations[len(self._block.operations) - 1].operation
        for index, value in enumerate(end.operands):
            if is_constant(value) and str(value.type.element_type) in _RETURNED:  # type: ignore[attr-defined]
                end.operands[index] = self._emitter.value(value)
        declared = ir.FunctionType(ir.TypeAttr(self._function.attributes["function_type"]).value)
        returned = [value.type for value in end.operands]
        if returned != list(declared.results):
            exact = ir.FunctionType.get(declared.inputs, returned)
            self._function.attributes["function_type"] = ir.TypeAttr.get(exact)


_DIALECTS = ("onnx.", "tensorrt.")
_NOT_OPS = frozenset({"onnx.constant", "onnx.novalue", "onnx.yield"})


def _text(operation: ir.Operation, name: str) -> str:
    return str(operation.attributes[name].value)  # type: ignore[attr-defined]


def _is_read(operation: ir.Operation) -> bool:
    return any(True for result in operation.results for _ in result.uses)


def _check_types(node: Node) -> None:
    from torch_mlir import ir

    from .conversions import Refused

    for value in (*node.inputs, *node.results):
        if value is None:
            continue
        kind = value.type
        if isinstance(kind, ir.UnrankedTensorType) and value in node.results:
            continue  # the converter works it out
        if not isinstance(kind, ir.RankedTensorType):
            raise Refused(f"{kind} is not a tensor of known rank")
        if str(kind.element_type) not in _ELEMENTS:
            raise Refused(f"TensorRT has no element type {kind.element_type}")


_RETURNED = frozenset("f32 f16 bf16 i64 i32 i1".split())
_ELEMENTS = frozenset("f32 f16 bf16 i64 i32 i8 i1 ui8 i4 f8E4M3FN f4E2M1FN f8E8M0FNU".split())


def _settle(
    node: Node, values: list[ir.Value | None], emitter: Emitter
) -> list[tuple[ir.Value, ir.Value]]:
    """The op's results beside what they have become."""
    from .conversions import Refused

    pairs = []
    for index, before in enumerate(node.results):
        after = values[index] if index < len(values) else None
        if after is None:
            if node.is_read(index):
                raise Refused(f"result {index} is used, which no TensorRT layer gives")
            continue
        pairs.append((before, emitter.result(before, after)))
    return pairs


def _check_limits(emitter: Emitter) -> None:
    from ...dialects.tensorrt.limits import refusal
    from .conversions import Refused

    for operation in emitter.created:
        reason = refusal(operation)
        if reason is not None:
            raise Refused(reason)


def _drop_unread_weights(program: Program) -> None:
    """Forget weights that no op names any more, such as those that were reshaped or folded."""
    from torch_mlir import ir

    from ...ir.constants import handle_name

    named: set[str] = set()

    def collect(operation: ir.Operation) -> ir.WalkResult:
        for attribute in operation.attributes.values():
            if type(attribute) is ir.Attribute:  # what the bindings have no class for, handles among it
                name = handle_name(attribute)
                if name is not None:
                    named.add(name)
        return ir.WalkResult.ADVANCE

    program.module.operation.walk(collect)
    for name in [name for name in program.weights if name not in named]:
        del program.weights[name]
