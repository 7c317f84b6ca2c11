"""onnx-expand-functions: ops that ONNX defines by others, and that TensorRT has no layer for, become those."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...program import Program
from ..base import Pass, PassContext, option, register

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TypeProto
    from torch_mlir import ir

__all__ = ["OnnxExpandFunctions"]

# Ops of which TensorRT takes all that they are made of. Others stay whole, for the host's own kernels.
# A Scan is replaced in opset 8 only, by loops over its batch and its sequences.
_EXPANDED = ("CausalConvWithState", "FlexAttention", "LinearAttention", "Scan", "SwiGLU")
_NOT_ONNXS = frozenset({"onnx.custom", "onnx.novalue"})
_LOCAL = "local"
_SMALL = 1024  # elements of a constant that the definition may want to see


@register
class OnnxExpandFunctions(Pass):
    """Replace ops by their definitions in the ONNX standard, where TensorRT has layers for those only."""

    name = "onnx-expand-functions"
    phase = "input"

    ops: list[str] = option(list(_EXPANDED), "the ONNX op types to replace")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from ...dialects.onnx.export import opset_import
        from ...dialects.onnx.schemas import identity
        from .rewriting import functions

        with program.context, ir.Location.unknown():
            for function in functions(program):
                opsets = opset_import(function)
                for op in list(function.regions[0].blocks[0].operations):
                    name = op.operation.name
                    if name.startswith("onnx.") and name not in _NOT_ONNXS and identity(name)[1] in self.ops:
                        _expand(op.operation, program, opsets)


def _expand(operation: ir.Operation, program: Program, opsets: dict[str, int]) -> None:
    """Put the ops of the definition in the place of one op; nothing happens where it has none in this opset."""
    from ...frontends.onnx.load import read_module
    from ..clustering.values import nested

    model, arguments = _model_of(operation, program, opsets)
    if not _define(model, opsets):
        return
    module = read_module(model, program.weights)
    block = module.body.operations[0].regions[0].blocks[0]
    *inner, end = [op.operation for op in block.operations]
    for moved in inner:
        for made in nested(moved):
            made.location = operation.location
        moved.move_before(operation)
    for argument, value in zip(block.arguments, arguments, strict=True):
        argument.replace_all_uses_with(value)
    for result, value in zip(_given(operation), list(end.operands), strict=True):
        result.replace_all_uses_with(value)
    module.operation.erase()
    operation.erase()


def _define(model: ModelProto, opsets: dict[str, int]) -> bool:
    """Let the model's last node be computed by its definition; False if it has none."""
    from ...dialects.onnx.batched_scan import BATCHED_OPSET, expand_scan
    from ...dialects.onnx.functions import function_of

    node = model.graph.node[-1]
    if node.op_type == "Scan" and opsets.get("") == BATCHED_OPSET:
        expand_scan(model)
        return True
    function = function_of(node, _input_types(model, node), opsets)
    if function is None:
        return False
    function.domain = node.domain = _LOCAL
    function.name = node.op_type
    model.functions.append(function)
    entry = model.opset_import.add()
    entry.domain, entry.version = _LOCAL, 1
    return True


def _model_of(
    operation: ir.Operation, program: Program, opsets: dict[str, int]
) -> tuple[ModelProto, list[ir.Value]]:
    """A model of the one op, and the values that its inputs stand for; small constants are in the model."""
    from ...dialects.onnx.export import OnnxGraph
    from ...dialects.onnx.model_writer import ModelWriter
    from ...dialects.onnx.ops import constant_value, is_absent
    from ...dialects.onnx.value_types import value_info
    from ..clustering.values import captured_values

    writer = ModelWriter(opsets, program.weights)
    graph = OnnxGraph(writer)
    arguments: list[ir.Value] = []
    inputs = []
    for number, value in enumerate(captured_values(operation)):
        if is_absent(value):
            continue
        array = constant_value(value, program.weights)
        if array is not None and array.size <= _SMALL:
            graph.bind(value, writer.constant(array))
            continue
        arguments.append(value)
        inputs.append(value_info(graph.define(value, f"input{number}"), value.type))
    graph.operation(operation)
    outputs = [value_info(graph.name(result), result.type) for result in _given(operation)]
    return writer.model(graph.proto("function", inputs, outputs)), arguments


def _input_types(model: ModelProto, node: NodeProto) -> list[TypeProto]:
    from onnx import TypeProto, helper

    known = {entry.name: entry.type for entry in model.graph.input}
    for tensor in model.graph.initializer:
        known[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
    return [known.get(name, TypeProto()) for name in node.input]


def _given(operation: ir.Operation) -> list[ir.Value]:
    """The results that the op gives: those that are not are of type none."""
    from ...dialects.onnx.ops import is_absent

    return [result for result in operation.results if not is_absent(result)]
