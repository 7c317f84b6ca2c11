"""A function of onnx ops as an ONNX model of its own opset, graph attributes included, weights left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, helper
from torch_mlir import ir

from ...ir.constants import handle_name, strings_of, value_of
from ...ir.context import definition
from ...ir.locations import sources_of
from .model_writer import ModelWriter, tensor_proto
from .ops import is_absent
from .schemas import identity, least
from .value_graph import ValueGraph
from .value_types import Port, ports, type_proto, value_info

__all__ = ["ExportedModel", "OnnxGraph", "declare", "export_function", "finished", "opset_import"]

_SEGMENTS = {"operandSegmentSizes", "resultSegmentSizes"}
_CUSTOM_OWN = {"domain", "op_type"}
# Ops whose attribute becomes an initializer: what an engine's dialect has folded may be read by an onnx op.
_ELEMENTS = {"onnx.constant": "value", "tensorrt.constant": "weights"}


@dataclass(frozen=True)
class ExportedModel:
    """A model without its weights.

    `weights` lists the names that it needs from the program's table. `inputs` and `outputs` are the
    function's own, with the names that they have in the model (`plan.name` unless that is taken). `types`
    gives the MLIR types of the main graph's values by name.
    """

    model: ModelProto
    weights: tuple[str, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    types: Mapping[str, ir.Type]


def opset_import(function: ir.Operation) -> dict[str, int]:
    """The opsets that a function, or one around it, names; {} if none does. ONNX's own domain is ""."""
    found: Any = function
    while found is not None:
        if "onnx.opset_import" in found.attributes:
            table = ir.DictAttr(found.attributes["onnx.opset_import"])
            named = {entry.name: int(ir.IntegerAttr(entry.attr).value) for entry in table}
            return {("" if domain == "ai.onnx" else domain): version for domain, version in named.items()}
        parent = found.parent
        found = parent.operation if parent is not None else None
    return {}


def export_function(function: ir.Operation, weights: Mapping[str, np.ndarray]) -> ExportedModel:
    """The ONNX model of a func.func whose body is onnx ops.

    Raises KeyError naming an op of another dialect, a type that ONNX lacks, or a weight that is missing.
    """
    opsets = opset_import(function) or {"": _newest()}
    writer = ModelWriter(opsets, weights)
    graph = OnnxGraph(writer)
    block = function.regions[0].blocks[0]
    inputs, outputs = declare(graph, function, block)
    operations = list(block.operations)
    for operation in operations[:-1]:
        graph.operation(operation.operation)
    graph.outputs(list(operations[-1].operands), [port.name for port in outputs])
    return finished(graph, inputs, outputs)


def declare(graph: ValueGraph, function: ir.Operation, block: ir.Block) -> tuple[list[Port], list[Port]]:
    """Name a function's arguments and reserve its results' names; both with the names that they got."""
    arguments, results = ports(function)
    inputs = [
        replace(port, name=graph.define(value, port.name))
        for port, value in zip(arguments, block.arguments, strict=True)
    ]
    return inputs, [replace(port, name=graph.writer.unique(port.name)) for port in results]


def finished(graph: ValueGraph, inputs: Sequence[Port], outputs: Sequence[Port]) -> ExportedModel:
    """The model around a main graph whose nodes are complete."""
    sides = ([value_info(p.name, p.type, p.dimension_names) for p in side] for side in (inputs, outputs))
    writer = graph.writer
    model = writer.model(graph.proto("main", *sides))
    return ExportedModel(model, tuple(writer.used), tuple(inputs), tuple(outputs), graph.types())


def _newest() -> int:
    from onnx import defs

    return int(defs.onnx_opset_version())


class OnnxGraph(ValueGraph):
    """A graph whose nodes are onnx ops. Child graphs are regions."""

    def name(self, value: ir.Value) -> str:
        """The name of a value that is already there; "" for an absent one."""
        return "" if is_absent(value) else super().name(value)

    def operation(self, operation: ir.Operation) -> None:
        """Append the node of one onnx op; constants become initializers."""
        kind = operation.name
        if kind == "onnx.novalue":
            return
        elements = _ELEMENTS.get(kind)
        if elements is not None and elements in operation.attributes:
            self.bind(operation.results[0], self._constant(operation, operation.attributes[elements]))
            return
        domain, op_type = _identify(operation)
        sources = sources_of(operation.location)
        label = " + ".join(sources) or op_type
        fewest = least(domain, op_type, self.writer.opset_import.get(domain, 1))
        inputs = _trimmed([self.name(value) for value in operation.operands], fewest[0])
        outputs = self._outputs(operation, label, fewest[1])
        attributes = self._attributes(operation) + self._graphs(operation)
        self.node(op_type, inputs, outputs, name=label, domain=domain, attributes=attributes)

    def _outputs(self, operation: ir.Operation, label: str, fewest: int) -> list[str]:
        if "resultSegmentSizes" in operation.attributes:
            # Of these how many there are counts, and ONNX Runtime ends the process over one without a name.
            return [self.define(result, label) for result in operation.results]
        names = ["" if is_absent(result) else self.define(result, label) for result in operation.results]
        # What nobody reads is absent here, but in ONNX only an optional output may be: TopK has two.
        required = [name or self.writer.unique(label) for name in names[:fewest]]
        return required + _trimmed(names[fewest:])

    def _constant(self, operation: ir.Operation, attribute: ir.Attribute) -> str:
        handle = handle_name(attribute)
        if handle is not None:
            return self.writer.weight(handle)
        label = next(iter(sources_of(operation.location)), "constant")
        return self.writer.constant(_constant_array(attribute, operation.results[0].type), label)

    def _attributes(self, operation: ir.Operation) -> list[AttributeProto]:
        own = _CUSTOM_OWN if operation.name == "onnx.custom" else set()
        return [
            self._attribute(entry.name, entry.attr)
            for entry in _named(operation.attributes)
            if entry.name not in _SEGMENTS and entry.name not in own and "." not in entry.name
        ]

    def _attribute(self, name: str, attribute: ir.Attribute) -> AttributeProto:
        if isinstance(attribute, ir.IntegerAttr | ir.BoolAttr):
            return helper.make_attribute(name, int(attribute.value))
        if isinstance(attribute, ir.FloatAttr):
            return helper.make_attribute(name, float(attribute.value))
        if isinstance(attribute, ir.StringAttr):
            return helper.make_attribute(name, attribute.value)
        if isinstance(attribute, ir.DenseI64ArrayAttr):
            return helper.make_attribute(name, list(attribute), attr_type=AttributeProto.INTS)
        if isinstance(attribute, ir.DenseF32ArrayAttr):
            return helper.make_attribute(name, list(attribute), attr_type=AttributeProto.FLOATS)
        if isinstance(attribute, ir.ArrayAttr):
            return self._list_attribute(name, list(attribute))
        if isinstance(attribute, ir.TypeAttr):
            return helper.make_attribute(name, type_proto(attribute.value))
        if isinstance(attribute, ir.DictAttr):
            return helper.make_attribute(name, tensor_proto(_string_array(attribute)))
        return helper.make_attribute(name, tensor_proto(value_of(attribute, self.writer.weights)))  # type: ignore[arg-type]

    def _list_attribute(self, name: str, items: list[ir.Attribute]) -> AttributeProto:
        if all(isinstance(item, ir.StringAttr) for item in items):
            texts = [ir.StringAttr(item).value for item in items]
            return helper.make_attribute(name, texts, attr_type=AttributeProto.STRINGS)
        if all(isinstance(item, ir.TypeAttr) for item in items):
            return helper.make_attribute(name, [type_proto(ir.TypeAttr(item).value) for item in items])
        arrays = [value_of(item, self.writer.weights) for item in items]  # type: ignore[arg-type]
        return helper.make_attribute(name, [tensor_proto(array) for array in arrays])

    def _graphs(self, operation: ir.Operation) -> list[AttributeProto]:
        declared = definition(operation.name)
        regions = declared.regions if declared is not None else ()
        made = []
        for entry, region in zip(regions, operation.regions, strict=False):
            if len(region.blocks):
                made.append(helper.make_attribute(entry.name, self._graph(entry.name, region.blocks[0])))
        return made

    def _graph(self, name: str, block: ir.Block) -> Any:
        child = OnnxGraph(self.writer, self)
        inputs = [value_info(child.define(a, f"{name}_{n}"), a.type) for n, a in enumerate(block.arguments)]
        operations = list(block.operations)
        for operation in operations[:-1]:
            child.operation(operation.operation)
        returned = list(operations[-1].operands)
        names = [self.writer.unique(f"{name}_out_{n}") for n in range(len(returned))]
        child.outputs(returned, names)
        # No shapes: the branches of an If may differ, and a loop's values may change theirs.
        outputs = [value_info(n, v.type, shape=False) for n, v in zip(names, returned, strict=True)]
        return child.proto(name, inputs, outputs)


def _named(attributes: Any) -> list[ir.NamedAttribute]:
    return [attributes[n] for n in range(len(attributes))]


def _identify(operation: ir.Operation) -> tuple[str, str]:
    if operation.name != "onnx.custom":
        return identity(operation.name)
    values = operation.attributes
    return ir.StringAttr(values["domain"]).value, ir.StringAttr(values["op_type"]).value


def _constant_array(attribute: ir.Attribute, kind: ir.Type) -> np.ndarray:
    """The array of a constant that stands in the IR; strings are an array of string attributes."""
    return strings_of(attribute, kind) if isinstance(attribute, ir.ArrayAttr) else value_of(attribute, {})


def _string_array(attribute: ir.DictAttr) -> np.ndarray:
    """The tensor of strings that a dictionary of `shape` and `strings` stands for."""
    texts = np.array([ir.StringAttr(item).value for item in ir.ArrayAttr(attribute["strings"])], dtype=object)
    return texts.reshape(list(ir.DenseI64ArrayAttr(attribute["shape"])))


def _trimmed(names: list[str], fewest: int = 0) -> list[str]:
    """`names` without the absent ones at the end, `fewest` of them at least."""
    while len(names) > fewest and not names[-1]:
        names.pop()
    return names
