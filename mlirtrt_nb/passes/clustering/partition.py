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
from collections import Counter
from collections.abc import Iterable, Sequence

from .reachability import Reachability

__all__ = ["MERGES", "partition", "settled_partition", "topological_order"]

# Which clusters of one backend are joined after step 1: all that may be, only neighbours, or none.
MERGES = ("all", "neighbours", "none")


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
    merge: str = "all",
) -> list[int]:
    """The cluster number of each node.

    Args:
        backends: backend name per node, nodes in a topological order.
        producers: per node, the nodes whose results it reads (each smaller than the node itself).
        benefits: backend -> benefit; a backend that is missing here is never joined with its neighbours.
        merge: one of `MERGES`.

    Returns:
        One number per node: equal numbers share a cluster. Every cluster is convex: no path leaves it
        and comes back.
    """
    union = _UnionFind(len(backends))
    _join_equal_depth(union, backends, producers, benefits)
    if merge != "none":
        for backend in sorted(benefits, key=lambda name: -benefits[name]):
            _merge(union, backend, backends, producers, merge == "all")
    return [union.find(node) for node in range(len(backends))]


def settled_partition(
    backends: Sequence[str],
    producers: Sequence[Iterable[int]],
    benefits: dict[str, int],
    *,
    merge: str = "all",
    least: int = 1,
    small: tuple[str, str] = ("tensorrt", "host"),
) -> tuple[list[int], list[str]]:
    """`partition`, after which clusters of `small[0]` with fewer than `least` nodes belong to `small[1]`.

    Those nodes are then clustered again with their new neighbours, until no cluster is too small.

    Returns:
        The cluster number and the backend of each node.
    """
    settled = list(backends)
    while True:
        clusters = partition(settled, producers, benefits, merge=merge)
        sizes = Counter(cluster for cluster, name in zip(clusters, settled, strict=True) if name == small[0])
        too_small = {cluster for cluster, size in sizes.items() if size < least}
        if not too_small:
            return clusters, settled
        for node, cluster in enumerate(clusters):
            if cluster in too_small:
                settled[node] = small[1]


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
    """Join clusters of `backend`: first neighbours, then, if `independent`, any, until none may be joined."""
    roots = [union.find(node) for node in range(len(backends))]
    members = sorted({root for root, name in zip(roots, backends, strict=True) if name == backend})
    if len(members) < 2:
        return
    graph = Reachability(_condense(roots, producers))
    chosen = graph.select(members)
    for adjacent in (True, False)[: 1 + independent]:
        merged = True
        while merged:
            merged = False
            for first in members:
                while first in graph:
                    second = graph.joinable(first, chosen, adjacent=adjacent)
                    if second is None:
                        break
                    union.union(first, second)
                    graph.join(first, second)
                    merged = True


def _condense(roots: Sequence[int], producers: Sequence[Iterable[int]]) -> dict[int, set[int]]:
    """Cluster -> the clusters that read its results."""
    graph: dict[int, set[int]] = {root: set() for root in roots}
    for here, sources in zip(roots, producers, strict=True):
        for source in sources:
            if roots[source] != here:
                graph[roots[source]].add(here)
    return graph


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
