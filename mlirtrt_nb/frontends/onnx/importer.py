"""An ONNX graph to the onnx dialect: initializers become constants, subgraphs regions, names locations."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto
from torch_mlir import ir
from torch_mlir.dialects import builtin, func

from ...errors import InvalidModelError
from ...ir.constants import attribute_of
from ...ir.opdef import VARIADIC_SLOTS
from .attributes import AttributeMaker, constant_array, plain_value
from .checks import AXIS_OPS, check_axis
from .loops import argument_types
from .nodes import all_nodes, describe, read_names
from .op_forms import OpForm, form_of
from .types import TypeTable
from .weights import TensorReader

__all__ = ["Importer", "op_names"]

# In training mode it must name all its outputs, read or not.
_ALL_RESULTS = ("onnx.batchnormalization",)
_GRAPH = AttributeProto.GRAPH
_INVENTED = "unk__"  # how ONNX's inference names dimensions that it knows nothing of
# Variadic ops whose inputs may be taken in groups, as one op holds at most VARIADIC_SLOTS.
_SPLITTABLE = frozenset({"Concat", "Sum", "Max", "Min"})
_PYTHON_KINDS = {int: AttributeProto.INT, float: AttributeProto.FLOAT, str: AttributeProto.STRING}


def op_names(model: ModelProto) -> set[str]:
    """The ops of the onnx dialect that the module of `model` may have."""
    imports = _imports(model)
    kinds = {("" if n.domain == "ai.onnx" else n.domain, n.op_type) for n in all_nodes(model.graph)}
    forms = [form_of(domain, op, imports.get(domain, 1)) for domain, op in kinds]
    ends = {"onnx.yield"} if any(form.regions for form in forms) else set()
    return {"onnx.constant", "onnx.novalue", *ends, *(form.name for form in forms)}


def _imports(model: ModelProto) -> dict[str, int]:
    """The version of each domain; ONNX's own is ""."""
    return {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}


class Importer:
    """Builds one module. Use inside `with context, ir.Location.unknown()`.

    `weights` is filled with the arrays of large constants, by name.
    """

    def __init__(self, model: ModelProto, reader: TensorReader, weights: dict[str, np.ndarray]) -> None:
        self._model = model
        self._reader = reader
        self._weights = weights
        self._types = TypeTable()
        self._attributes = AttributeMaker(self._types, reader)
        self._imports = _imports(model)
        self._names: dict[str, int] = {}  # label -> the last number given to one like it
        self._absent: ir.Value | None = None
        self._body: ir.Block | None = None
        self._segments: dict[tuple[int, int], ir.Attribute] = {}
        # Types by name, innermost graph last; values likewise.
        self._type_scopes: list[dict[str, TypeProto]] = []
        self._scopes: list[dict[str, ir.Value]] = []
        self._read: list[set[str]] = []

    def module(self) -> builtin.ModuleOp:
        """The module, with the graph as `func.func @main`."""
        module = builtin.ModuleOp()
        graph = self._model.graph
        self._push(graph)
        inputs = [self._types.of(entry.type) for entry in graph.input]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ir.FunctionType.get(inputs, []))
            function.attributes["onnx.opset_import"] = ir.DictAttr.get(
                {
                    domain or "ai.onnx": self._attributes.of_value(AttributeProto.INT, version)
                    for domain, version in self._imports.items()
                }
            )
        locations = [ir.Location.name(entry.name) for entry in graph.input]
        body = ir.Block.create_at_start(function.regions[0], inputs, locations)
        self._body = body
        for entry, argument in zip(graph.input, body.arguments, strict=True):
            self._scopes[-1][entry.name] = argument
        with ir.InsertionPoint(body):
            self._graph(graph)
            outputs = [self._value(entry.name) for entry in graph.output]
            func.ReturnOp(outputs)
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(inputs, [value.type for value in outputs])
        )
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([_value_attributes(e) for e in graph.input])
        function.attributes["res_attrs"] = ir.ArrayAttr.get([_value_attributes(e) for e in graph.output])
        return module

    @cached_property
    def _nodes(self) -> frozenset[str]:
        """The names of nodes, in subgraphs too."""
        return frozenset(node.name for node in all_nodes(self._model.graph) if node.name)

    # Scopes ----------------------------------------------------------------------------------------

    def _push(self, graph: GraphProto) -> None:
        entries = chain(graph.input, graph.value_info, graph.output)
        self._type_scopes.append({entry.name: entry.type for entry in entries})
        self._scopes.append({})
        self._read.append(set(read_names(graph)))

    def _pop(self) -> None:
        self._read.pop()
        self._type_scopes.pop()
        self._scopes.pop()

    def _value(self, name: str) -> ir.Value:
        if not name:
            return self._novalue()
        for scope in reversed(self._scopes):
            found = scope.get(name)
            if found is not None:
                return found
        raise InvalidModelError(f"the tensor {name!r} is written by no node and is no input or initializer")

    def _novalue(self) -> ir.Value:
        if self._absent is None:
            assert self._body is not None
            self._absent = ir.Operation.create(
                "onnx.novalue", [self._types.none], ip=ir.InsertionPoint.at_block_begin(self._body)
            ).result
        return self._absent

    # Graphs ----------------------------------------------------------------------------------------

    def _graph(self, graph: GraphProto) -> None:
        """The graph's constants and nodes at the insertion point."""
        used = self._read[-1]
        for tensor in graph.initializer:
            if tensor.name in used:
                self._constant(tensor.name, self._reader.array(tensor), self._beside_nodes(tensor.name))
        for sparse in graph.sparse_initializer:
            if sparse.values.name in used:
                label = self._beside_nodes(sparse.values.name)
                self._constant(sparse.values.name, self._reader.dense(sparse), label)
        for node in graph.node:
            self._node(node)

    def _constant(self, name: str, array: np.ndarray, label: str) -> None:
        loc = ir.Location.name(self._unique(label))
        if array.dtype.kind in "OUST":
            attribute = self._attributes.strings(array)
            kind = self._types.tensor(_STRING, array.shape)
        else:
            attribute = attribute_of(array, self._weights, name)
            kind = attribute.type  # type: ignore[attr-defined]
        made = ir.Operation.create("onnx.constant", [kind], [], {"value": attribute}, loc=loc)
        self._scopes[-1][name] = made.result

    def _beside_nodes(self, label: str) -> str:
        """A label for a tensor that leaves the names of nodes to the nodes."""
        return f"{label}_value" if label in self._nodes else label

    def _unique(self, label: str) -> str:
        """`label`, numbered if another op has it."""
        taken = self._names.get(label)
        if taken is None:
            self._names[label] = 0
            return label
        while f"{label}_{taken + 1}" in self._names:
            taken += 1
        self._names[label] = taken + 1
        return self._unique(f"{label}_{taken + 1}")

    # Nodes -----------------------------------------------------------------------------------------

    def _node(self, node: NodeProto) -> None:
        domain = "" if node.domain == "ai.onnx" else node.domain
        label = node.name or next((o for o in node.output if o), node.op_type)
        if node.op_type == "Constant" and not domain:
            self._constant(node.output[0], constant_array(node, self._reader), label)
            return
        if node.op_type in _SPLITTABLE and len(node.input) > VARIADIC_SLOTS and not domain:
            node = self._split(node)
        form = form_of(domain, node.op_type, self._imports.get(domain, 1))
        attributes: dict[str, ir.Attribute] = {}
        operands = self._operands(node, form, attributes)
        results = self._results(node, form, attributes)
        graphs = self._attribute_protos(node, form, attributes)
        if form.name == "onnx.custom":
            attributes["domain"] = ir.StringAttr.get(domain)
            attributes["op_type"] = ir.StringAttr.get(node.op_type)
        made = ir.Operation.create(
            form.name,
            results,
            operands,
            attributes,
            regions=len(form.regions),
            loc=ir.Location.name(self._unique(label)),
        )
        for name, graph in graphs:
            self._region(made, name, graph, form)
        scope = self._scopes[-1]
        for name, value in zip(node.output, made.results, strict=False):
            if name:
                scope[name] = value

    def _operands(self, node: NodeProto, form: OpForm, attributes: dict[str, ir.Attribute]) -> list[ir.Value]:
        operands = [self._value(name) for name in node.input]
        missing = form.fixed_operands - len(operands)
        if missing > 0:
            operands += [self._novalue()] * missing
        if node.op_type in AXIS_OPS and operands and isinstance(operands[0].type, ir.RankedTensorType):
            check_axis(node, operands[0].type.rank)
        if form.variadic_operands:
            attributes["operandSegmentSizes"] = self._segment_sizes(node, form.fixed_operands, len(operands))
        elif missing < 0:
            raise InvalidModelError(
                f"{describe(node)} has {len(operands)} inputs; the op takes at most {form.fixed_operands}"
            )
        return operands

    def _results(self, node: NodeProto, form: OpForm, attributes: dict[str, ir.Attribute]) -> list[ir.Type]:
        known = self._type_scopes[-1]
        none, of = self._types.none, self._types.of
        results = [of(known.get(name)) if name else none for name in node.output]
        if not form.variadic_results and form.name not in _ALL_RESULTS:
            # An optional output that nobody reads counts as absent: a Dropout's mask, a MaxPool's indices.
            read = self._read[-1]
            results[1:] = [t if n in read else none for t, n in zip(results[1:], node.output[1:], strict=True)]
        missing = form.fixed_results - len(results)
        if missing > 0:
            results += [none] * missing
        if form.variadic_results:
            attributes["resultSegmentSizes"] = self._segment_sizes(node, form.fixed_results, len(results))
        elif missing < 0:
            raise InvalidModelError(
                f"{describe(node)} has {len(results)} outputs; the op gives at most {form.fixed_results}"
            )
        return results

    def _segment_sizes(self, node: NodeProto, fixed: int, count: int) -> ir.Attribute:
        found = self._segments.get((fixed, count))
        if found is None:
            if count - fixed > VARIADIC_SLOTS:
                raise InvalidModelError(
                    f"{describe(node)} has {count} inputs or outputs; at most {VARIADIC_SLOTS + fixed} fit"
                )
            sizes = [1] * count + [0] * (VARIADIC_SLOTS + fixed - count)
            found = self._segments[fixed, count] = ir.DenseI32ArrayAttr.get(sizes)
        return found

    def _split(self, node: NodeProto) -> NodeProto:
        """`node` on groups of its inputs; the ops of the groups are made here."""
        short = NodeProto()
        short.CopyFrom(node)
        del short.input[:]
        for start in range(0, len(node.input), VARIADIC_SLOTS):
            part = NodeProto()
            part.CopyFrom(node)
            part.name = f"{node.name or node.output[0]}_part{start // VARIADIC_SLOTS}"
            del part.input[:], part.output[:]
            part.input.extend(node.input[start : start + VARIADIC_SLOTS])
            part.output.append(part.name)
            self._node(part)
            short.input.append(part.name)
        return short

    def _attribute_protos(
        self, node: NodeProto, form: OpForm, attributes: dict[str, ir.Attribute]
    ) -> list[tuple[str, GraphProto]]:
        """Fill `attributes` from the node; return its subgraphs by attribute name."""
        graphs: list[tuple[str, GraphProto]] = []
        given = set()
        for proto in node.attribute:
            given.add(proto.name)
            value = plain_value(proto)
            if value is not None:
                if form.implied.get(proto.name) != value:
                    attributes[proto.name] = self._attributes.of_value(proto.type, value)
            elif proto.type == _GRAPH and proto.name in form.regions:
                graphs.append((proto.name, proto.g))
            else:
                attributes[proto.name] = self._other_attribute(node, proto)
        for name, value in form.defaults.items():
            if name not in given:
                kind = _PYTHON_KINDS[type(value)]
                attributes[name] = self._attributes.of_value(kind, value)
        return graphs

    def _other_attribute(self, node: NodeProto, proto: AttributeProto) -> ir.Attribute:
        if proto.type == AttributeProto.TENSOR:
            label = f"{node.name or next(iter(node.output), node.op_type)}.{proto.name}"
            array = self._reader.array(proto.t)
            if array.dtype.kind in "OUST":
                return self._attributes.string_tensor(array)
            return attribute_of(array, self._weights, label)
        if proto.type == AttributeProto.TYPE_PROTO:
            return self._attributes.type(proto)
        kind = AttributeProto.AttributeType.Name(proto.type)
        raise InvalidModelError(
            f"{describe(node)}: attribute {proto.name!r} holds a {kind}, which this op cannot have here"
        )

    def _region(self, made: ir.Operation, name: str, graph: GraphProto, form: OpForm) -> None:
        self._push(graph)
        types = argument_types(made, name, [self._types.of(entry.type) for entry in graph.input])
        block = made.regions[form.regions[name]].blocks.append(
            *types, arg_locs=[ir.Location.name(entry.name) for entry in graph.input]
        )
        for entry, argument in zip(graph.input, block.arguments, strict=True):
            self._scopes[-1][entry.name] = argument
        with ir.InsertionPoint(block):
            self._graph(graph)
            outputs = [self._value(entry.name) for entry in graph.output]
            sizes = ir.DenseI32ArrayAttr.get([1] * len(outputs) + [0] * (VARIADIC_SLOTS - len(outputs)))
            ir.Operation.create("onnx.yield", [], outputs, {"operandSegmentSizes": sizes})
        self._pop()


_STRING = 8  # TensorProto.STRING


def _value_attributes(entry: ValueInfoProto) -> ir.DictAttr:
    """`plan.name`, and the names of the dimensions that have one."""
    attributes: dict[str, ir.Attribute] = {"plan.name": ir.StringAttr.get(entry.name)}
    dims: Iterable[Any] = entry.type.tensor_type.shape.dim
    names = {
        str(axis): ir.StringAttr.get(d.dim_param)
        for axis, d in enumerate(dims)
        if d.dim_param and not d.dim_param.startswith(_INVENTED)
    }
    if names:
        attributes["tensorrt.dimension_names"] = ir.DictAttr.get(names)
    return ir.DictAttr.get(attributes)
