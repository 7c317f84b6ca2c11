"""Writes an ONNX model: unique names, nodes, constants inside the model, and weights that stay outside it.

A weight becomes an initializer without data. Its external-data location is the name of the array in the
program's weight table; `ort_session.open_session` hands the arrays over, so a model's bytes never hold them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from ...ir import dtypes

__all__ = ["INLINE_BYTES", "Graph", "ModelWriter", "label_of", "rename", "tensor_proto"]

# Constants up to this size stand in the model itself; ONNX Runtime's shape inference wants to see them.
INLINE_BYTES = 1024

# Old enough for every supported ONNX Runtime; has no need of newer fields.
_IR_VERSION = 10

_NUMBER = re.compile(r" #\d+$")


def label_of(node_name: str) -> str:
    """The label that a node was given."""
    return _NUMBER.sub("", node_name)


def tensor_proto(array: np.ndarray, name: str = "") -> TensorProto:
    """A TensorProto holding `array`; 4-bit types are packed two to a byte, strings are UTF-8."""
    if array.dtype.kind in "OUST":
        proto = TensorProto(name=name, data_type=TensorProto.STRING, dims=array.shape)
        proto.string_data.extend(
            value if isinstance(value, bytes) else str(value).encode() for value in array.reshape(-1)
        )
        return proto
    kind = dtypes.by_numpy(array.dtype)
    proto = TensorProto(name=name, data_type=kind.onnx, dims=array.shape)
    flat = np.ascontiguousarray(array).reshape(-1)
    proto.raw_data = _pack_nibbles(flat) if kind.bits == 4 else flat.tobytes()
    return proto


def _pack_nibbles(flat: np.ndarray) -> bytes:
    """Two elements to a byte, the first in the low half."""
    raw = flat.view(np.uint8) & 0x0F
    if raw.size % 2:
        raw = np.append(raw, np.uint8(0))
    return (raw[0::2] | (raw[1::2] << 4)).astype(np.uint8).tobytes()


def rename(nodes: Iterable[NodeProto], names: Mapping[str, str]) -> None:
    """Give values other names, in nodes and in the graphs that are attributes of theirs."""
    if not names:
        return
    for node in nodes:
        for side in (node.input, node.output):
            for n, name in enumerate(side):
                if name in names:
                    side[n] = names[name]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g.node, names)
            for graph in attribute.graphs:
                rename(graph.node, names)


class Graph:
    """The nodes of one graph or subgraph, in order."""

    def __init__(self, writer: ModelWriter) -> None:
        self.writer = writer
        self.nodes: list[NodeProto] = []

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        name: str = "",
        domain: str = "",
        attributes: Mapping[str, Any] | Sequence[AttributeProto] = (),
    ) -> NodeProto:
        """Append a node. Attributes are AttributeProtos, or Python values by name; None is left out.

        ONNX Runtime wants node names to differ: the second node of a name is "name #2".
        """
        label = self.writer.node_name(name)
        node = NodeProto(op_type=op_type, input=inputs, output=outputs, name=label, domain=domain)
        if isinstance(attributes, Mapping):
            for key, value in attributes.items():
                if value is not None:
                    node.attribute.append(helper.make_attribute(key, value))
        else:
            node.attribute.extend(attributes)
        if domain:
            self.writer.use_domain(domain)
        self.nodes.append(node)
        return node

    def proto(
        self, name: str, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]
    ) -> GraphProto:
        """The graph as a GraphProto; initializers are the model's."""
        return GraphProto(name=name, node=self.nodes, input=inputs, output=outputs)


class ModelWriter:
    """Names, constants and weights of one model. All initializers belong to the main graph.

    `weights` is the table that handles refer to; `used` lists the names that the model needs from it.
    `table` is that and the large arrays that were given to `array`.
    """

    def __init__(self, opset_import: Mapping[str, int], weights: Mapping[str, np.ndarray]) -> None:
        self.opset_import = {("" if k == "ai.onnx" else k): v for k, v in opset_import.items()}
        self.weights = weights
        self.used: dict[str, None] = {}
        self._own: dict[str, np.ndarray] = {}
        self._names: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._labels: dict[str, int] = {}
        self._initializers: list[TensorProto] = []
        self._constants: dict[Any, str] = {}

    def use_domain(self, domain: str) -> None:
        """Import `domain`, at version 1 if the model names no other."""
        self.opset_import.setdefault("" if domain == "ai.onnx" else domain, 1)

    def unique(self, hint: str) -> str:
        """A value name that the model does not have yet: `hint` itself if it is free."""
        name = hint = hint or "v"
        while name in self._names:
            # Counting on from the last number keeps many values of one label linear.
            count = self._numbers[hint] = self._numbers.get(hint, 0) + 1
            name = f"{hint}_{count}"
        self._names.add(name)
        return name

    def node_name(self, label: str) -> str:
        """`label`, with a number if a node has that name already."""
        count = self._labels[label] = self._labels.get(label, 0) + 1
        return label if count == 1 or not label else self.node_name(f"{label} #{count}")

    def constant(self, array: np.ndarray, hint: str = "constant") -> str:
        """The name of an initializer inside the model; equal constants share one."""
        proto = tensor_proto(array)
        key = proto.SerializeToString()
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = proto.name = self.unique(hint)
            self._initializers.append(proto)
        return found

    def weight(self, name: str, shape: Sequence[int] | None = None) -> str:
        """The name of an initializer for the table's array `name`, seen in another shape if one is given.

        Small arrays are written into the model. Raises KeyError if the table lacks the name.
        """
        array = self.weights[name]
        dims = tuple(array.shape if shape is None else shape)
        if array.nbytes <= INLINE_BYTES or array.dtype.kind in "OUST":
            return self.constant(array.reshape(dims), name)
        key = (name, dims)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self.unique(name)
            self._initializers.append(_external(found, name, array, dims))
            self.used[name] = None
        return found

    def array(self, array: np.ndarray, hint: str) -> str:
        """The name of an initializer for an array that is in no table; a large one is read in place."""
        if array.nbytes <= INLINE_BYTES or array.dtype.kind in "OUST":
            return self.constant(array, hint)
        name = self.unique(hint)
        self._own[name] = array
        self._initializers.append(_external(name, name, array, array.shape))
        return name

    @property
    def table(self) -> Mapping[str, np.ndarray]:
        """Every array that the model's external initializers name."""
        return {**self.weights, **self._own}

    def model(self, graph: GraphProto) -> ModelProto:
        """The finished model around the main graph."""
        graph.initializer.extend(self._initializers)
        imports = [helper.make_opsetid(domain, version) for domain, version in self.opset_import.items()]
        return ModelProto(ir_version=_IR_VERSION, producer_name="mlirtrt_nb", graph=graph, opset_import=imports)


def _external(name: str, key: str, array: np.ndarray, dims: tuple[int, ...]) -> TensorProto:
    kind = dtypes.by_numpy(array.dtype)
    proto = TensorProto(name=name, data_type=kind.onnx, dims=dims, data_location=TensorProto.EXTERNAL)
    for field, value in (("location", key), ("length", str(kind.nbytes(math.prod(dims))))):
        entry = proto.external_data.add()
        entry.key, entry.value = field, value
    return proto
