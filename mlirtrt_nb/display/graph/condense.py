"""Smaller graphs of large ones: rows of ops in one box, the neighbourhood of a node, the first nodes."""

from __future__ import annotations

from collections import Counter

from .model import Edge, Graph, Node

__all__ = ["first_nodes", "join_chains", "neighbourhood"]

_SHOWN = 3


def join_chains(graph: Graph) -> Graph:
    """Each run of ops that feed only one another becomes one node."""
    after: list[set[int]] = [set() for _ in graph.nodes]
    before: list[set[int]] = [set() for _ in graph.nodes]
    for edge in graph.edges:
        after[edge.start].add(edge.end)
        before[edge.end].add(edge.start)
    run_of: dict[int, int] = {}
    runs: list[list[int]] = []
    for number in range(len(graph.nodes)):
        previous = next(iter(before[number])) if len(before[number]) == 1 else None
        joins = (
            previous is not None
            and after[previous] == {number}
            and _is_plain(graph.nodes[number])
            and _is_plain(graph.nodes[previous])
        )
        if joins and previous is not None:
            run_of[number] = run_of[previous]
            runs[run_of[number]].append(number)
        else:
            run_of[number] = len(runs)
            runs.append([number])
    nodes = [_joined([graph.nodes[member] for member in run]) for run in runs]
    edges = [
        Edge(run_of[edge.start], run_of[edge.end], edge.label)
        for edge in graph.edges
        if run_of[edge.start] != run_of[edge.end]
    ]
    return Graph(graph.name, nodes, edges)


def _is_plain(node: Node) -> bool:
    return node.kind == "op" and node.ops == 1 and not node.inner and not node.folded


def _joined(members: list[Node]) -> Node:
    if len(members) == 1:
        return members[0]
    labels = [member.label for member in members]
    shown = " → ".join(labels[:_SHOWN]) + (" → …" if len(labels) > _SHOWN else "")
    kinds = ", ".join(f"{count} {op}" for op, count in Counter(member.op for member in members).most_common())
    listed = [f"{member.label}{f' ({member.source})' if member.source else ''}" for member in members]
    more = [f"and {len(listed) - 20} more"] if len(listed) > 20 else []
    return Node(
        label=shown,
        detail=f"{len(members)} ops: {members[0].source or '?'} … {members[-1].source or '?'}",
        title="\n".join([f"{len(members)} ops in a row: {kinds}", *listed[:20], *more]),
        op=members[0].op,
        source=members[0].source,
        warning="; ".join(dict.fromkeys(member.warning for member in members if member.warning)),
        ops=len(members),
    )


def neighbourhood(graph: Graph, centres: set[int], hops: int) -> Graph:
    """The nodes at most `hops` edges from `centres`; what is left out beyond them stands in small boxes."""
    near = graph.neighbours()
    keep, edge_of_it = set(centres), set(centres)
    for _ in range(hops):
        edge_of_it = {other for node in edge_of_it for other in near[node]} - keep
        keep |= edge_of_it
    return _cut(graph, keep)


def first_nodes(graph: Graph, limit: int) -> Graph:
    """The first `limit` nodes."""
    return graph if len(graph.nodes) <= limit else _cut(graph, set(range(limit)))


def _cut(graph: Graph, keep: set[int]) -> Graph:
    """The graph of `keep`, with a small box at each node that has other neighbours."""
    small, place = graph.subgraph(keep)
    left_in: dict[int, set[int]] = {}
    left_out: dict[int, set[int]] = {}
    for edge in graph.edges:
        if edge.end in keep and edge.start not in keep:
            left_in.setdefault(edge.end, set()).add(edge.start)
        elif edge.start in keep and edge.end not in keep:
            left_out.setdefault(edge.start, set()).add(edge.end)
    for node, others in left_in.items():
        small.edges.append(Edge(small.add(_more(graph, others)), place[node]))
    for node, others in left_out.items():
        small.edges.append(Edge(place[node], small.add(_more(graph, others))))
    return small


def _more(graph: Graph, others: set[int]) -> Node:
    names = [graph.nodes[other].source or graph.nodes[other].label for other in sorted(others)]
    listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    label = f"… {names[0]}" if len(names) == 1 else f"… {len(names)} more"
    return Node(label, kind="more", title=f"not drawn: {listed}", ops=0)
