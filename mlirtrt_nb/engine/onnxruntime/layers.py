"""The layers of a CPU engine for the report: the nodes that ONNX Runtime makes of the emitted ones.

They are read from the model that ONNX Runtime writes after its fusions, before it picks memory layouts for
the machine that it runs on. The weights take no part in that: they are the model's inputs meanwhile.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from onnx import ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto
from torch_mlir import ir

from ...dialects.onnx.export import ExportedModel
from ...dialects.onnx.model_writer import label_of
from ...dialects.onnx.ort_session import SessionSettings, open_session
from ...ir import dtypes
from ..base import LayerRow
from ..value_type import described

__all__ = ["emitted_layers", "fused_layers", "tensor_bytes"]

# What is done to weights once, when ONNX Runtime opens the model with them.
_FOLDED = frozenset({"Cast", "Mul"})
# What ONNX Runtime adds to the names of a node and of its values where it doubles or rewrites it.
_ADDED = re.compile(r"(/duplicated|_nchwc|_token_\d+)+$")
_FUSIONS = SessionSettings(threads=1, optimization="extended", prepack=False)


def fused_layers(exported: ExportedModel) -> tuple[LayerRow, ...]:
    """One row per node after fusion, with the sources of all emitted nodes that went into it.

    Raises ONNX Runtime's exceptions if it refuses the model.
    """
    light = _weights_as_inputs(exported.model)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fused.onnx"
        open_session(light.SerializeToString(), {}, _FUSIONS, dump_to=str(path))
        fused = ModelProto.FromString(path.read_bytes())
    return tuple(_rows(exported, fused))


def emitted_layers(exported: ExportedModel) -> tuple[LayerRow, ...]:
    """One row per emitted node, for a model that has to have its weights as constants."""
    return tuple(_rows(exported, exported.model))


def _weights_as_inputs(model: ModelProto) -> ModelProto:
    light = ModelProto()
    light.CopyFrom(model)
    del light.graph.initializer[:]
    for tensor in model.graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL:
            light.graph.initializer.append(tensor)
            continue
        kind = TypeProto()
        kind.tensor_type.elem_type = tensor.data_type
        kind.tensor_type.shape.SetInParent()
        for size in tensor.dims:
            kind.tensor_type.shape.dim.add(dim_value=size)
        light.graph.input.append(ValueInfoProto(name=tensor.name, type=kind))
    return light


def _rows(exported: ExportedModel, fused: ModelProto) -> Iterator[LayerRow]:
    origin = _Origin(exported.model.graph.node, fused.graph.node)
    types = {**_rounded(exported), **exported.types}
    weights = {tensor.name: tensor_bytes(tensor) for tensor in exported.model.graph.initializer}
    for node in fused.graph.node:
        outputs = [name for name in node.output if name]
        if node.op_type in _FOLDED and all(name in weights for name in node.input):
            weights[outputs[0]] = sum(weights[name] for name in node.input)
            continue
        known = [described(types.get(name) or types.get(_ADDED.sub("", name))) for name in outputs]
        sizes = [size for _, _, size in known if size is not None]
        yield LayerRow(
            name=node.name,
            kind=node.op_type,
            inputs=tuple(name for name in node.input if name and name not in weights),
            outputs=tuple(outputs),
            shapes=tuple(shape for shape, _, _ in known),
            dtypes=tuple(dtype for _, dtype, _ in known),
            weights_bytes=sum(weights.get(name, 0) for name in node.input),
            output_bytes=sum(sizes) if len(sizes) == len(known) else None,
            sources=origin.sources(node),
        )


def _rounded(exported: ExportedModel) -> dict[str, ir.Type]:
    """The types of rounded values that are no values of the function: one clips them next, to 0 and more."""
    graph = exported.model.graph
    elements = {tensor.name: tensor.data_type for tensor in graph.initializer}
    found: dict[str, ir.Type] = {}
    for node in graph.node:
        if node.op_type == "QuantizeLinear" and len(node.input) == 3 and node.input[2] in elements:
            kind = exported.types.get(node.input[0])
            if isinstance(kind, ir.RankedTensorType):
                element = ir.Type.parse(dtypes.by_onnx(elements[node.input[2]]).mlir, kind.context)
                unknown = ir.Location.unknown(kind.context)
                found[node.output[0]] = ir.RankedTensorType.get(kind.shape, element, loc=unknown)
    return found


def tensor_bytes(tensor: TensorProto) -> int:
    """The size of an initializer, inside the model or outside it."""
    if tensor.data_type == TensorProto.STRING:
        return sum(map(len, tensor.string_data))
    return dtypes.by_onnx(tensor.data_type).nbytes(math.prod(tensor.dims))


class _Origin:
    """Finds the emitted nodes behind a fused one: those between its inputs and its outputs."""

    def __init__(self, emitted: Iterable[NodeProto], fused: Iterable[NodeProto]) -> None:
        nodes = list(emitted)
        self._place = {id(node): n for n, node in enumerate(nodes)}
        self._makers = {name: node for node in nodes for name in node.output}
        self._kept = {name for node in fused for name in node.output}
        self._named = {node.name: node for node in nodes if node.name}

    def sources(self, node: NodeProto) -> tuple[str, ...]:
        """Labels of the emitted nodes behind a fused one, in order; none for what ONNX Runtime puts in."""
        found: dict[int, NodeProto] = {}
        inputs = set(node.input)
        rest = list(node.output)
        while rest:
            name = rest.pop()
            maker = self._makers.get(name)
            outside = name in inputs or (name in self._kept and name not in node.output)
            if maker is not None and not outside and id(maker) not in found:
                found[id(maker)] = maker
                rest += maker.input
        made = sorted(found.values(), key=lambda maker: self._place[id(maker)])
        made = made or self._repeated(node)
        return tuple(dict.fromkeys(part for n in made for part in label_of(n.name).split(" + ")))

    def _repeated(self, node: NodeProto) -> list[NodeProto]:
        """The emitted node that ONNX Runtime has doubled or rewritten, by the name."""
        found = self._named.get(node.name) or self._named.get(_ADDED.sub("", node.name))
        return [] if found is None else [found]
