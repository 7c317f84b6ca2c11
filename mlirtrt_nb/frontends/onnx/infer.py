"""Types of every value of a model, by ONNX's own inference with data propagation."""

from __future__ import annotations

from onnx import GraphProto, ModelProto, TensorProto, TypeProto, helper

from ...dialects.onnx.schemas import op_name
from ...errors import InvalidModelError
from .safe_inference import infer_shapes

__all__ = ["infer_types"]


def infer_types(model: ModelProto) -> ModelProto:
    """A copy of `model` whose `value_info` and output types say all that can be known.

    What inference finds goes before what the file declares, as files often keep shapes from before an edit;
    the declared type counts where inference finds nothing. Weights may be stripped.
    """
    declared = _take_declared(model.graph)
    inferred = infer_shapes(model)
    static = all(_is_static(entry.type) for entry in inferred.graph.input)
    _merge(inferred.graph, declared, trust=static)
    return inferred


def _take_declared(graph: GraphProto) -> dict[str, TypeProto]:
    """Remove and return the declared types of intermediate values; outputs keep their element type."""
    declared: dict[str, TypeProto] = {}
    for entry in (*graph.value_info, *graph.output):
        kept = TypeProto()
        kept.CopyFrom(entry.type)
        declared[entry.name] = kept
    # Inference knows nothing of ops without a schema; what the file says of their results it may build on.
    foreign = {
        name for node in graph.node if op_name(node.domain, node.op_type) is None for name in node.output
    }
    kept_entries = [entry for entry in graph.value_info if entry.name in foreign]
    del graph.value_info[:]
    graph.value_info.extend(kept_entries)
    given = _given_types(graph)
    for entry in graph.output:
        if entry.name in given:  # no node makes it: inference reads its type here, and would find none
            entry.type.CopyFrom(given[entry.name])
        elif entry.type.HasField("tensor_type"):
            entry.type.tensor_type.ClearField("shape")
            if entry.name not in foreign:
                entry.type.tensor_type.ClearField("elem_type")
    return declared


def _given_types(graph: GraphProto) -> dict[str, TypeProto]:
    """The types of the outputs that are inputs or weights as they are."""
    outputs = {entry.name for entry in graph.output}
    given = {
        tensor.name: helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
        for tensor in graph.initializer
        if tensor.name in outputs
    }
    given.update({entry.name: entry.type for entry in graph.input if entry.name in outputs})
    return given


def _is_static(proto: TypeProto) -> bool:
    tensor = proto.tensor_type
    return proto.HasField("tensor_type") and all(d.HasField("dim_value") for d in tensor.shape.dim)


def _merge(graph: GraphProto, declared: dict[str, TypeProto], *, trust: bool) -> None:
    entries = {entry.name: entry for entry in (*graph.value_info, *graph.output)}
    for name, proto in declared.items():
        entry = entries.get(name)
        if entry is None:
            entry = graph.value_info.add(name=name)
            entry.type.CopyFrom(proto)
        elif not entry.type.HasField("tensor_type") or not proto.HasField("tensor_type"):
            if entry.type.WhichOneof("value") is None:
                entry.type.CopyFrom(proto)
        else:
            _merge_tensor(name, entry.type.tensor_type, proto.tensor_type, trust=trust)


def _merge_tensor(name: str, found: TypeProto.Tensor, declared: TypeProto.Tensor, *, trust: bool) -> None:
    if found.elem_type and declared.elem_type and found.elem_type != declared.elem_type:
        names = {number: name for name, number in TensorProto.DataType.items()}
        kinds = [names.get(kind, f"type {kind}") for kind in (declared.elem_type, found.elem_type)]
        raise InvalidModelError(f"the model declares {name!r} as {kinds[0]}, but it is made as {kinds[1]}")
    if not found.elem_type:
        found.elem_type = declared.elem_type
    if not declared.HasField("shape"):
        return
    if not found.HasField("shape"):
        found.shape.CopyFrom(declared.shape)
    elif trust and len(found.shape.dim) == len(declared.shape.dim):
        for ours, theirs in zip(found.shape.dim, declared.shape.dim, strict=True):
            if not ours.HasField("dim_value") and theirs.HasField("dim_value"):
                ours.dim_value = theirs.dim_value
