"""Runs ONNX's shape inference so that no model can make it end the process.

Its rule for Slice asserts that dimensions are not negative, and they are negative after a convolution or
pooling that does not fit its input. So each Slice is first shown to inference with unknown bounds, and with
its real ones only when the dimensions that it cuts are known to be sound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, shape_inference

from ...errors import InvalidModelError
from .ceil_pooling import CeilPoolings
from .contradictions import refuse_contradictions
from .nodes import all_nodes, describe, subgraphs

__all__ = ["infer_shapes"]

# Added to the name of a Slice's bounds while they are hidden; no name in a file ends so.
_HIDDEN: Final = "\x00hidden"
# Each round may show the Slices that depend on those of the round before.
_ROUNDS: Final = 4


def infer_shapes(model: ModelProto) -> ModelProto:
    """`onnx.shape_inference.infer_shapes` with data propagation, on a copy.

    Raises InvalidModelError if a dimension comes out negative, outside of branches and loops, and for a node
    that cannot take its inputs. What inference itself fails at otherwise stays unknown.
    """
    work = ModelProto()
    work.CopyFrom(model)
    nodes = list(all_nodes(work.graph))
    nested = len(nodes) > len(work.graph.node)
    slices = [node for node in nodes if _has_bounds(node)]
    poolings = CeilPoolings(work, nodes)
    if not slices and not poolings.inputs:
        return _checked(*_run(work, nested))
    for node in slices:
        _hide(work.graph, node)
    symbols = {
        d.dim_param for entry in work.graph.input for d in entry.type.tensor_type.shape.dim if d.dim_param
    }
    inferred, agrees = _run(work, nested)
    for _ in range(_ROUNDS):
        if not slices:
            break
        types = _types(_graphs(inferred.graph, nested), {node.input[0] for node in slices})
        shown = [node for node in slices if _is_sound(types.get(node.input[0], []), symbols)]
        if not shown:
            break
        for node in shown:
            node.input[1] = node.input[1].removesuffix(_HIDDEN)
        slices = [node for node in slices if node.input[1].endswith(_HIDDEN)]
        inferred, agrees = _run(work, nested)
    for _ in range(_ROUNDS):  # each may change what those behind it read
        if not poolings.correct(_types(_graphs(inferred.graph, nested), poolings.inputs)):
            break
        inferred, agrees = _run(work, nested)
    _reveal(inferred.graph)
    inferred = _checked(inferred, agrees)
    poolings.restore(all_nodes(inferred.graph))
    return inferred


def _checked(inferred: ModelProto, agrees: bool) -> ModelProto:
    if not agrees:
        refuse_contradictions(inferred)
    return inferred


def _run(model: ModelProto, nested: bool) -> tuple[ModelProto, bool]:
    """The model with what inference finds, and whether it found nothing to complain of."""
    data = model.SerializeToString()
    agrees = True
    try:
        inferred = shape_inference.infer_shapes(data, check_type=True, strict_mode=True, data_prop=True)
    except Exception:  # the C++ code raises several kinds
        agrees = False
        try:
            # Without strict mode, a node whose inference fails only leaves its results unknown.
            inferred = shape_inference.infer_shapes(data, data_prop=True)
        except Exception:  # a model without shapes still imports
            inferred = ModelProto()
            inferred.CopyFrom(model)
    _refuse_negative(inferred.graph, nested)
    return inferred, agrees


def _graphs(graph: GraphProto, nested: bool) -> Iterator[GraphProto]:
    """The graph and, if nodes have any, the graphs inside it."""
    yield graph
    for node in graph.node if nested else ():
        for inner in subgraphs(node):
            yield from _graphs(inner, nested)


def _has_bounds(node: NodeProto) -> bool:
    return node.op_type == "Slice" and node.domain in ("", "ai.onnx") and len(node.input) > 2


def _hide(graph: GraphProto, node: NodeProto) -> None:
    """Let the node read its starts from an input of the graph, of which nothing is known."""
    node.input[1] += _HIDDEN
    entry = graph.input.add(name=node.input[1])
    entry.type.tensor_type.elem_type = TensorProto.INT64
    entry.type.tensor_type.shape.dim.add()


def _reveal(graph: GraphProto) -> None:
    for node in all_nodes(graph):
        if _has_bounds(node):
            node.input[1] = node.input[1].removesuffix(_HIDDEN)
    kept = [entry for entry in graph.input if not entry.name.endswith(_HIDDEN)]
    if len(kept) < len(graph.input):
        del graph.input[:]
        graph.input.extend(kept)


def _types(graphs: Iterable[GraphProto], names: set[str]) -> dict[str, list[TypeProto]]:
    """Every type that is known of `names`, in any of the graphs."""
    found: dict[str, list[TypeProto]] = {}
    for inner in graphs:
        for entry in chain(inner.input, inner.value_info, inner.output):
            if entry.name in names:
                found.setdefault(entry.name, []).append(entry.type)
        for tensor in inner.initializer:
            if tensor.name not in names:
                continue
            kind = TypeProto()
            kind.tensor_type.shape.SetInParent()
            for size in tensor.dims:
                kind.tensor_type.shape.dim.add(dim_value=size)
            found.setdefault(tensor.name, []).append(kind)
    return found


def _is_sound(types: list[TypeProto], symbols: set[str]) -> bool:
    """Whether all dimensions are known sizes, or inputs' own dimensions, which no later round can change."""
    return bool(types) and all(
        kind.tensor_type.HasField("shape")
        and all(d.HasField("dim_value") or d.dim_param in symbols for d in kind.tensor_type.shape.dim)
        for kind in types
    )


def _refuse_negative(graph: GraphProto, nested: bool) -> None:
    for inner in _graphs(graph, nested):
        for entry in chain(inner.value_info, inner.output):
            dims = [d.dim_value for d in entry.type.tensor_type.shape.dim]
            if dims and min(dims) < 0 and inner is not graph:
                entry.type.tensor_type.ClearField("shape")  # a branch for other shapes, which may never run
            elif dims and min(dims) < 0:
                node = next((n for n in inner.node if entry.name in n.output), None)
                raise InvalidModelError(
                    f"{describe(node) if node else 'a node'} gives {entry.name!r} a negative dimension: {dims}",
                    hint="the input is too small for the window, or a parameter is damaged",
                )
