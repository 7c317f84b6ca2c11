"""Small questions about nodes: how to name one in a message, and what its subgraphs read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onnx import AttributeProto, GraphProto, NodeProto

__all__ = ["all_nodes", "describe", "free_names", "read_names", "subgraphs"]

_GRAPH_KINDS: Final = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


def describe(node: NodeProto) -> str:
    """The node in words: "node 'conv1' (Conv)"."""
    name = node.name or next((o for o in node.output if o), "")
    domain = f"{node.domain}." if node.domain not in ("", "ai.onnx") else ""
    return f"node {name!r} ({domain}{node.op_type})"


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs among the node's attributes: bodies and branches, not those nested in them."""
    for attribute in node.attribute:
        if attribute.type in _GRAPH_KINDS:
            if attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs


def free_names(node: NodeProto) -> set[str]:
    """The names that the node's subgraphs read from outside."""
    free: set[str] = set()
    for graph in subgraphs(node):
        bound = {entry.name for entry in graph.input} | {tensor.name for tensor in graph.initializer}
        bound |= {sparse.values.name for sparse in graph.sparse_initializer}
        bound |= {name for inner in graph.node for name in inner.output}
        read = {name for inner in graph.node for name in (*inner.input, *free_names(inner))}
        read |= {entry.name for entry in graph.output}
        free |= read - bound
    return free - {""}


def read_names(graph: GraphProto) -> Iterator[str]:
    """Every name that the graph, or a graph in it, reads."""
    for node in graph.node:
        yield from node.input
        for graph_inside in subgraphs(node):
            yield from read_names(graph_inside)
    yield from (entry.name for entry in graph.output)


def all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """Every node of the graph, or of a graph in it."""
    for node in graph.node:
        yield node
        for graph_inside in subgraphs(node):
            yield from all_nodes(graph_inside)
