"""Which nodes of an acyclic graph may be joined without closing a cycle, by sets of bits.

Joining two nodes closes a cycle exactly if a path leads from one to the other through a third. With one integer
of bits per node for what such paths reach, the candidates of a node are found by a few operations on integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Reachability"]


class Reachability:
    """A graph given as node -> its successors, which `join` makes smaller."""

    def __init__(self, successors: Mapping[int, set[int]]) -> None:
        self._index = {node: position for position, node in enumerate(successors)}
        self._nodes = list(successors)
        self._gone = 0
        self._after = [_bits(self._index[s] for s in successors[node]) for node in self._nodes]
        self._before = _reversed(self._after)
        self._update()

    def __contains__(self, node: int) -> bool:
        return node in self._index

    def joinable(self, node: int, members: int, *, adjacent: bool) -> int | None:
        """The first of `members` (see `select`) that may join `node`; only a neighbour if `adjacent`."""
        at = self._index[node]
        allowed = members & ~(self._through[at] | self._back[at] | 1 << at | self._gone)
        if adjacent:
            allowed &= self._after[at] | self._before[at]
        return self._nodes[(allowed & -allowed).bit_length() - 1] if allowed else None

    def select(self, nodes: Iterable[int]) -> int:
        """`nodes` as a set of bits."""
        return _bits(self._index[node] for node in nodes)

    def join(self, kept: int, gone: int) -> None:
        """Let `kept` have the edges of `gone`, which is no longer in the graph."""
        a, b = self._index[kept], self._index.pop(gone)
        self._gone |= 1 << b
        around = _positions(self._after[b] | self._before[b])
        for edges in (self._after, self._before):
            edges[a] = (edges[a] | edges[b]) & ~(1 << a | 1 << b)
            edges[b] = 0
        for node in around:
            for edges in (self._after, self._before):
                if edges[node] >> b & 1:
                    edges[node] = edges[node] & ~(1 << b) | (1 << a if node != a else 0)
        self._update()

    def _update(self) -> None:
        """Per node, what paths of two edges or more lead to, and what such paths come from."""
        order = self._order()
        self._through = _closure(self._after, reversed(order))
        self._back = _closure(self._before, order)

    def _order(self) -> list[int]:
        """Positions, each after those that it comes from."""
        waiting = [edges.bit_count() for edges in self._before]
        order = [position for position, count in enumerate(waiting) if not count]
        for position in order:  # grows while it is walked
            for reader in _positions(self._after[position]):
                waiting[reader] -= 1
                if not waiting[reader]:
                    order.append(reader)
        return order


def _closure(edges: Sequence[int], order: Iterable[int]) -> list[int]:
    """Per node, what its neighbours along `edges` reach; `order` has them before it."""
    through = [0] * len(edges)
    for position in order:
        found = 0
        for neighbour in _positions(edges[position]):
            found |= edges[neighbour] | through[neighbour]
        through[position] = found
    return through


def _bits(positions: Iterable[int]) -> int:
    found = 0
    for position in positions:
        found |= 1 << position
    return found


def _positions(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _reversed(edges: Sequence[int]) -> list[int]:
    found = [0] * len(edges)
    for position, bits in enumerate(edges):
        for other in _positions(bits):
            found[other] |= 1 << position
    return found
