"""What a drawn graph is: nodes with edges between them, and graphs inside of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Edge", "Graph", "Node"]


@dataclass
class Node:
    """A box.

    kind: "op"; "input" or "output", an end of a graph; "more", what stands for nodes that are left out.
    label, detail: its two lines. title: all that is known of it, for tooltips and screen readers.
    op: the op's name ("tensorrt.convolution"), "" for other kinds. source: where it came from.
    warning: why TensorRT does not take it, or "".
    inner: graphs that are drawn inside of it, each with a name ("then"). folded: such that are not drawn there.
    ops: how many ops it stands for.
    """

    label: str
    detail: str = ""
    kind: str = "op"
    title: str = ""
    op: str = ""
    source: str = ""
    warning: str = ""
    inner: list[Graph] = field(default_factory=list)
    folded: list[Graph] = field(default_factory=list)
    ops: int = 1


@dataclass(frozen=True)
class Edge:
    """From one node to another, by position. `label` is the value's type."""

    start: int
    end: int
    label: str = ""


@dataclass
class Graph:
    """Nodes in an order in which they can run, and edges; `name` says what it is of."""

    name: str = ""
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def add(self, node: Node) -> int:
        """Put a node at the end; its position."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def walk(self) -> Iterator[Node]:
        """Every node that is drawn, those inside of others after them."""
        for node in self.nodes:
            yield node
            for graph in node.inner:
                yield from graph.walk()

    def neighbours(self) -> list[set[int]]:
        """Per node, the nodes that an edge joins it with, either way."""
        found: list[set[int]] = [set() for _ in self.nodes]
        for edge in self.edges:
            found[edge.start].add(edge.end)
            found[edge.end].add(edge.start)
        return found

    def subgraph(self, keep: set[int]) -> tuple[Graph, dict[int, int]]:
        """The graph of the nodes in `keep`, and the new position of each."""
        place = {node: number for number, node in enumerate(sorted(keep))}
        nodes = [self.nodes[node] for node in sorted(keep)]
        edges = [
            Edge(place[edge.start], place[edge.end], edge.label)
            for edge in self.edges
            if edge.start in keep and edge.end in keep
        ]
        return Graph(self.name, nodes, edges), place
