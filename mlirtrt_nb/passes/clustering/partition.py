"""Cutting a dataflow graph into convex clusters of one backend each. Plain integers in, plain integers out.

Two steps, both exact about cycles:

1. *Depth.* A node's depth is the largest number of backend changes on any path that leads to it. Two nodes of
   one backend and one depth cannot have a path between them through another backend, so joining connected
   ones with union-find never closes a cycle. Linear in the edges.
2. *Merge.* The clusters of step 1 form a small graph. Backends take turns, highest benefit first, and pairs of
   their clusters (neighbours first, then independent ones) are joined whenever no path leads from one to the
   other through a third.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

__all__ = ["partition", "topological_order"]


class _UnionFind:
    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def find(self, node: int) -> int:
        while self.parent[node] != node:
            self.parent[node] = self.parent[self.parent[node]]
            node = self.parent[node]
        return node

    def union(self, a: int, b: int) -> None:
        self.parent[self.find(b)] = self.find(a)


def partition(
    backends: Sequence[str],
    producers: Sequence[Iterable[int]],
    benefits: dict[str, int],
    *,
    merge_independent: bool = True,
) -> list[int]:
    """The cluster number of each node.

    Args:
        backends: backend name per node, nodes in a topological order.
        producers: per node, the nodes whose results it reads (each smaller than the node itself).
        benefits: backend -> benefit; a backend that is missing here is never joined with its neighbours.
        merge_independent: whether clusters without a path between them are joined too.

    Returns:
        One number per node: equal numbers share a cluster. Every cluster is convex: no path leaves it
        and comes back.
    """
    union = _UnionFind(len(backends))
    _join_equal_depth(union, backends, producers, benefits)
    for backend in sorted(benefits, key=lambda name: -benefits[name]):
        _merge(union, backend, backends, producers, merge_independent)
    return [union.find(node) for node in range(len(backends))]


def _join_equal_depth(
    union: _UnionFind, backends: Sequence[str], producers: Sequence[Iterable[int]], benefits: dict[str, int]
) -> None:
    depth = [0] * len(backends)
    for node, backend in enumerate(backends):
        for producer in producers[node]:
            change = backends[producer] != backend or backend not in benefits
            depth[node] = max(depth[node], depth[producer] + change)
        if backend in benefits:
            for producer in producers[node]:
                if backends[producer] == backend and depth[producer] == depth[node]:
                    union.union(producer, node)


def _merge(
    union: _UnionFind,
    backend: str,
    backends: Sequence[str],
    producers: Sequence[Iterable[int]],
    independent: bool,
) -> None:
    graph = _condense(union, producers)
    members = sorted({union.find(n) for n, name in enumerate(backends) if name == backend})
    merged = True
    while merged and len(members) > 1:
        merged = False
        for first, second in _pairs(members, graph, independent):
            if _joinable(graph, first, second):
                union.union(first, second)
                _absorb(graph, first, second)
                members.remove(second)
                merged = True
                break


def _condense(union: _UnionFind, producers: Sequence[Iterable[int]]) -> dict[int, set[int]]:
    """Cluster -> the clusters that read its results."""
    graph: dict[int, set[int]] = {}
    for node, sources in enumerate(producers):
        here = union.find(node)
        graph.setdefault(here, set())
        for source in sources:
            there = union.find(source)
            if there != here:
                graph.setdefault(there, set()).add(here)
    return graph


def _pairs(members: list[int], graph: dict[int, set[int]], independent: bool) -> Iterable[tuple[int, int]]:
    neighbours = [(a, b) for a in members for b in members if b in graph[a]]
    yield from neighbours
    if independent:
        yield from ((a, b) for n, a in enumerate(members) for b in members[n + 1 :] if b not in graph[a])


def _joinable(graph: dict[int, set[int]], first: int, second: int) -> bool:
    """Whether joining closes no cycle: no path between the two through a third cluster."""
    return not _reaches(graph, first, second) and not _reaches(graph, second, first)


def _reaches(graph: dict[int, set[int]], start: int, goal: int) -> bool:
    """Whether a path of at least two edges leads from `start` to `goal`."""
    stack = [node for node in graph[start] if node != goal]
    seen = set(stack)
    while stack:
        node = stack.pop()
        for successor in graph[node]:
            if successor == goal:
                return True
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)
    return False


def _absorb(graph: dict[int, set[int]], first: int, second: int) -> None:
    graph[first] |= graph.pop(second)
    graph[first] -= {first, second}
    for node, successors in graph.items():
        if second in successors:
            successors.discard(second)
            if node != first:
                successors.add(first)


def topological_order(clusters: Sequence[int], producers: Sequence[Iterable[int]]) -> list[int]:
    """The cluster numbers in an order in which each comes after all it reads from, earliest node first."""
    readers: dict[int, set[int]] = {}
    waiting: dict[int, int] = dict.fromkeys(clusters, 0)
    for node, sources in enumerate(producers):
        for source in sources:
            a, b = clusters[source], clusters[node]
            if a != b and b not in readers.setdefault(a, set()):
                readers[a].add(b)
                waiting[b] += 1

    first_node: dict[int, int] = {}
    for node, cluster in enumerate(clusters):
        first_node.setdefault(cluster, node)
    ready = [(first_node[c], c) for c, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, cluster = heapq.heappop(ready)
        order.append(cluster)
        for reader in readers.get(cluster, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heapq.heappush(ready, (first_node[reader], reader))
    return order
