"""The ops that the ONNX standard defines by others: their definitions, for a node and its types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onnx import FunctionProto, NodeProto, TypeProto, defs

__all__ = ["function_of"]


def function_of(
    node: NodeProto, types: Sequence[TypeProto], opset_import: Mapping[str, int]
) -> FunctionProto | None:
    """What `node` is made of, as a function that imports the opsets of `opset_import`.

    `types` are those of the node's inputs in order, empty for an absent one. None where the standard has no
    definition, or has one of ops that mean something else in these opsets.
    """
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        schema = defs.get_schema(node.op_type, opset_import[domain], domain)
    except (KeyError, defs.SchemaError):
        return None
    found = _definition(schema, node, types, opset_import[domain])
    if found is None or not _means_the_same(found, opset_import):
        return None
    del found.opset_import[:]
    for name, version in opset_import.items():
        entry = found.opset_import.add()
        entry.domain, entry.version = name, version
    return found


def _definition(schema: Any, node: NodeProto, types: Sequence[TypeProto], version: int) -> FunctionProto | None:
    if schema.has_context_dependent_function:
        known = [v for v in schema.context_dependent_function_opset_versions if v <= version]
        if not known:
            return None
        kinds = [kind.SerializeToString() for kind in types]
        made = schema.get_context_dependent_function_with_opset_version(
            max(known), node.SerializeToString(), kinds
        )
        return FunctionProto.FromString(made) if made else None
    if schema.has_function:
        known = [v for v in schema.function_opset_versions if v <= version]
        return FunctionProto.FromString(schema.get_function_with_opset_version(max(known))) if known else None
    return None


def _means_the_same(function: FunctionProto, opset_import: Mapping[str, int]) -> bool:
    """Whether each op of the function is the same one in the opsets that the function and the model import."""
    theirs = {entry.domain: entry.version for entry in function.opset_import}
    for node in _nodes(function.node):
        if node.domain not in opset_import:
            return False
        # Some definitions do not say which version their ops are of.
        pair = theirs.get(node.domain, opset_import[node.domain]), opset_import[node.domain]
        first, second = (defs.get_schema(node.op_type, version, node.domain) for version in pair)
        if _interface(first) != _interface(second):
            return False
    return True


def _interface(schema: defs.OpSchema) -> object:
    """What tells two versions apart that differ in more than the types they take."""
    defaults = {
        name: attribute.default_value.SerializeToString() for name, attribute in schema.attributes.items()
    }
    return defaults, len(schema.inputs), len(schema.outputs)


def _nodes(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g.node)
