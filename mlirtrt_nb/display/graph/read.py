"""A function, or any block, as a `Graph`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .model import Edge, Graph, Node

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["CALLS", "GraphReader"]

CALLS = ("tensorrt.call_alloc", "func.call")
_ENDS = ("func.return", "plan.yield", "onnx.yield", "tensorrt.yield", "scf.yield", "stablehlo.return")
# Attributes that say which of several things an op does.
_KINDS = (
    "activationType",
    "elementwiseOperation",
    "unaryOperation",
    "reduceOperation",
    "poolingType",
    "op_type",
    "target",
)
_ENUM = re.compile(r"\bk([A-Z][A-Z0-9_]*)")


class GraphReader:
    """Reads blocks of one program.

    Args:
        functions: the program's functions by path, for what calls name.
        constants: whether constants are nodes.
        open_regions: whether the regions of an op are drawn inside of it.
        open_clusters: whether clusters and called functions are drawn inside.
    """

    def __init__(
        self,
        functions: Mapping[str, ir.OpView],
        *,
        constants: bool = False,
        open_regions: bool = True,
        open_clusters: bool = True,
    ) -> None:
        self._functions = functions
        self._constants = constants
        self._open_regions = open_regions
        self._open_clusters = open_clusters

    def function(self, function: ir.Operation, name: str) -> Graph:
        """The function's first block, with its inputs and outputs by their names."""
        return self.block(
            function.regions[0].blocks[0],
            name,
            _port_names(function, "arg_attrs"),
            _port_names(function, "res_attrs"),
        )

    def block(
        self,
        block: ir.Block,
        name: str,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        captured: Sequence[tuple[ir.Value, str]] = (),
    ) -> Graph:
        """A block's ops. `captured` are values from around it that it reads, with what they are called."""
        graph = Graph(name)
        places: dict[ir.Value, int] = {}
        for number, value in enumerate(block.arguments):
            label = inputs[number] if number < len(inputs) and inputs[number] else f"%arg{number}"
            places[value] = graph.add(_port("input", label, value))
        for value, label in captured:
            places[value] = graph.add(_port("input", label, value))
        for op in block.operations:
            operation = op.operation
            if operation.name in _ENDS:
                _outputs(graph, operation, places, outputs)
            else:
                self._operation(graph, operation, places)
        return graph

    def _operation(self, graph: Graph, operation: ir.Operation, places: dict[ir.Value, int]) -> None:
        from ...passes.clustering.values import captured_values, is_constant

        if is_constant(operation) and not self._constants:
            return
        node = self._node(operation, graph, places)
        position = graph.add(node)
        for value in captured_values(operation):
            if value in places:
                graph.edges.append(Edge(places[value], position, type_text(value.type)))
        places.update((result, position) for result in operation.results)

    def _node(self, operation: ir.Operation, graph: Graph, places: dict[ir.Value, int]) -> Node:
        node = op_node(operation)
        inner = self._inner(operation, graph, places)
        if inner:
            node.ops = sum(child.ops for part in inner for child in part.nodes if child.kind == "op")
            is_cluster = operation.name in CALLS or operation.name == "plan.cluster"
            if is_cluster:
                node.warning = next(
                    (child.warning for part in inner for child in part.nodes if child.warning), ""
                )
            opened = self._open_clusters if is_cluster else self._open_regions
            if opened:
                node.inner = inner
            else:
                node.folded = inner
                node.detail = f"{node.ops} ops inside" if node.ops != 1 else "1 op inside"
        return node

    def _inner(self, operation: ir.Operation, graph: Graph, places: dict[ir.Value, int]) -> list[Graph]:
        from ...passes.clustering.values import captured_values
        from ...passes.plan.steps import symbol_path

        if operation.name in CALLS:
            path = symbol_path(operation.attributes["callee"])
            function = self._functions.get(path)
            bodyless = function is None or not function.regions[0].blocks
            return [] if bodyless or function is None else [self.function(function.operation, "")]
        direct = set(operation.operands)
        outer = [value for value in captured_values(operation) if value in places and value not in direct]
        captured = [
            (value, graph.nodes[places[value]].source or graph.nodes[places[value]].label) for value in outer
        ]
        names = _region_names(operation)
        return [
            self.block(region.blocks[0], names[number], captured=captured)
            for number, region in enumerate(operation.regions)
            if len(region.blocks)
        ]


def op_node(operation: ir.Operation) -> Node:
    """An op's box, without what is inside."""
    from ...ir.context import shown_name
    from ...ir.locations import sources_of

    shown = shown_name(operation.name)
    sources = sources_of(operation.location)
    results = [type_text(result.type) for result in operation.results if str(result.type) != "none"]
    warning = _text(operation, "plan.fallback")
    lines = [" ".join(filter(None, [shown, _which(operation)]))]
    lines += [f"from {', '.join(sources[:6])}"] if sources else []
    lines += (
        [f"reads {', '.join(type_text(value.type) for value in operation.operands)}"]
        if len(operation.operands)
        else []
    )
    lines += [f"gives {', '.join(results)}"] if results else []
    lines += [f"not in an engine: {warning}"] if warning else []
    return Node(
        label=_label(operation, shown),
        detail=", ".join(results[:2]) + (f" and {len(results) - 2} more" if len(results) > 2 else ""),
        title="\n".join(lines),
        op=shown,
        source=sources[0] if sources else "",
        warning=warning,
    )


def type_text(kind: ir.Type) -> str:
    """ "1x3x224x224 f32" of a tensor; the type's own text otherwise."""
    text = str(kind)
    found = re.fullmatch(r"(?:tensor|memref)<((?:[?\d]+x)*)([^x,<>][^,<>]*)(?:,.*)?>", text)
    return f"{found[1].rstrip('x')} {found[2]}".strip() if found else text


def _label(operation: ir.Operation, shown: str) -> str:
    which = _which(operation)
    if "callee" in operation.attributes:
        return f"{str(operation.attributes['callee']).replace('::@', '::').lstrip('@')}"
    mnemonic = shown.partition(".")[2] or shown
    return f"{mnemonic} {which}" if which else mnemonic


def _which(operation: ir.Operation) -> str:
    """Which of several things the op does: "RELU", "tensorrt"."""
    for name in _KINDS:
        if name in operation.attributes:
            text = str(operation.attributes[name])
            found = _ENUM.search(text)
            backend = re.search(r"#plan\.(\w+)_backend", text)
            return found[1] if found else backend[1] if backend else text.strip('"')[:24]
    return ""


def _text(operation: ir.Operation, name: str) -> str:
    if name not in operation.attributes:
        return ""
    return str(operation.attributes[name].value)  # type: ignore[attr-defined]


def _port(kind: str, label: str, value: ir.Value) -> Node:
    text = type_text(value.type)
    return Node(label, text, kind, title=f"{kind} {label}: {text}", source=label, ops=0)


def _outputs(graph: Graph, end: ir.Operation, places: dict[ir.Value, int], names: Sequence[str]) -> None:
    for number, value in enumerate(end.operands):
        label = names[number] if number < len(names) and names[number] else f"result {number}"
        position = graph.add(_port("output", label, value))
        if value in places:
            graph.edges.append(Edge(places[value], position, type_text(value.type)))


def _port_names(function: ir.Operation, key: str) -> list[str]:
    if key not in function.attributes:
        return []
    listed = function.attributes[key]
    return [str(entry["plan.name"].value) if "plan.name" in entry else "" for entry in listed]  # type: ignore[attr-defined]


def _region_names(operation: ir.Operation) -> list[str]:
    if len(operation.regions) == 2 and operation.name.endswith((".if", ".conditional")):
        return ["then", "else"]
    return [
        f"region {number}" if len(operation.regions) > 1 else "" for number in range(len(operation.regions))
    ]
