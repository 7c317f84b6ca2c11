"""Layered layout: places boxes in rows so that edges point down, with few crossings and straight long edges.

The steps are those of Sugiyama, Tagawa and Toda: rows by longest paths, edges cut into pieces by invisible
points in each row that they pass, rows ordered by the mean place of their neighbours, then places along the
row. That last step is exact: for given wishes, the best places that keep the order and the gaps are found by
isotonic regression.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Box", "Layout", "lay_out"]

GAP_X = 24.0
GAP_Y = 34.0
_SWEEPS = 12
_POINT = 8.0  # width of an invisible point
_WEIGHT = 8.0  # how much more a long edge wants to be straight in its middle than a box to be centred


@dataclass(frozen=True)
class Box:
    """Left, top, width, height."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Boxes by node; per edge the points that it passes, from the start's bottom to the end's top; the size."""

    boxes: tuple[Box, ...]
    routes: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float


def lay_out(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Place boxes of these (width, height). `edges` must be acyclic; several between two nodes are allowed."""
    if not sizes:
        return Layout((), (), 0.0, 0.0)
    rows = _rows(len(sizes), edges)
    widths = [width for width, _ in sizes]
    chains = _chains(rows, edges, widths)
    layers: list[list[int]] = [[] for _ in range(max(rows) + 1)]
    for node, row in enumerate(rows):
        layers[row].append(node)
    above: list[list[int]] = [[] for _ in widths]
    below: list[list[int]] = [[] for _ in widths]
    for chain in chains:
        for first, second in itertools.pairwise(chain):
            below[first].append(second)
            above[second].append(first)
    _order(layers, above, below)
    centres = _places(layers, above, below, widths, len(sizes))
    return _finished(sizes, layers, rows, chains, centres, widths)


def _rows(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Each node's row: below all that it reads; what has no inputs stands just above its first reader."""
    readers: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for start, end in edges:
        readers[start].append(end)
        waiting[end] += 1
    rows = [0] * count
    has_inputs = [number > 0 for number in waiting]
    queue = [node for node in range(count) if not waiting[node]]
    for node in queue:  # grows while it is walked
        for reader in readers[node]:
            rows[reader] = max(rows[reader], rows[node] + 1)
            waiting[reader] -= 1
            if not waiting[reader]:
                queue.append(reader)
    for node in range(count):
        if not has_inputs[node] and readers[node]:
            rows[node] = min(rows[reader] for reader in readers[node]) - 1
    return rows


def _chains(rows: list[int], edges: Sequence[tuple[int, int]], widths: list[float]) -> list[list[int]]:
    """Each edge as nodes from row to row; the points in between are added to `rows` and `widths`."""
    chains = []
    for start, end in edges:
        chain = [start]
        for row in range(rows[start] + 1, rows[end]):
            chain.append(len(rows))
            rows.append(row)
            widths.append(_POINT)
        chains.append([*chain, end])
    return chains


def _order(layers: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Order each row by the mean place of its neighbours, down and up in turn; the best order found stays."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers, below)
    place = {node: position for layer in layers for position, node in enumerate(layer)}
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        neighbours = above if down else below
        for layer in layers if down else reversed(layers):
            now = {node: float(position) for position, node in enumerate(layer)}
            for node in layer:
                if neighbours[node]:
                    now[node] = sum(place[other] for other in neighbours[node]) / len(neighbours[node])
            layer.sort(key=now.__getitem__)
            place.update((node, position) for position, node in enumerate(layer))
        crossings = _crossings(layers, below)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    for layer, order in zip(layers, best, strict=True):
        layer[:] = order


def _crossings(layers: list[list[int]], below: list[list[int]]) -> int:
    """How many pairs of edges between two rows cross, counted as inversions."""
    total = 0
    for upper, lower in itertools.pairwise(layers):
        place = {node: position for position, node in enumerate(lower)}
        ends = [end for node in upper for end in sorted(place[other] for other in below[node])]
        counts = [0] * (len(lower) + 1)
        for seen, end in enumerate(ends):
            total += seen - _prefix(counts, end)
            _increment(counts, end)
    return total


def _prefix(counts: list[int], end: int) -> int:
    """How many of the ends so far are at most `end` (a Fenwick tree)."""
    position, total = end + 1, 0
    while position:
        total += counts[position]
        position &= position - 1
    return total


def _increment(counts: list[int], end: int) -> None:
    position = end + 1
    while position < len(counts):
        counts[position] += 1
        position += position & -position


def _places(
    layers: list[list[int]],
    above: list[list[int]],
    below: list[list[int]],
    widths: list[float],
    real: int,
) -> list[float]:
    """The centre of each node along its row; nodes from `real` on are points of long edges."""
    centres = [0.0] * len(widths)
    for layer in layers:
        at = 0.0
        for node in layer:
            centres[node] = at + widths[node] / 2
            at += widths[node] + GAP_X
        for node in layer:
            centres[node] -= (at - GAP_X) / 2
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wishes, weights = [], []
            for node in layer:
                near = above[node] if down else below[node]
                near = near or above[node] or below[node]
                wish = sum(centres[other] for other in near) / len(near) if near else centres[node]
                wishes.append(wish)
                weights.append(_WEIGHT if node >= real and min(near, default=0) >= real else 1.0)
            for node, centre in zip(
                layer, _spread([widths[node] for node in layer], wishes, weights), strict=True
            ):
                centres[node] = centre
    return centres


def _spread(widths: list[float], wishes: list[float], weights: list[float]) -> list[float]:
    """The centres nearest to the wishes (least squares) that keep the order and the gaps."""
    offsets, at = [], 0.0
    for number, width in enumerate(widths):
        at += width / 2
        offsets.append(at)
        at += width / 2 + GAP_X * (1 if number + 1 < len(widths) else 0)
    blocks: list[list[float]] = []  # mean, weight, how many
    for wish, weight, offset in zip(wishes, weights, offsets, strict=True):
        blocks.append([wish - offset, weight, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, heavy, many = blocks.pop()
            last = blocks[-1]
            total = last[1] + heavy
            blocks[-1] = [(last[0] * last[1] + mean * heavy) / total, total, last[2] + many]
    means = [mean for mean, _, many in blocks for _ in range(int(many))]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _finished(
    sizes: Sequence[tuple[float, float]],
    layers: list[list[int]],
    rows: list[int],
    chains: list[list[int]],
    centres: list[float],
    widths: list[float],
) -> Layout:
    left = min(centre - width / 2 for centre, width in zip(centres, widths, strict=True))
    right = max(centre + width / 2 for centre, width in zip(centres, widths, strict=True))
    tops, heights, at = [], [], 0.0
    for layer in layers:
        height = max((sizes[node][1] for node in layer if node < len(sizes)), default=0.0)
        tops.append(at)
        heights.append(height)
        at += height + GAP_Y
    boxes = tuple(
        Box(
            centres[node] - width / 2 - left,
            tops[rows[node]] + (heights[rows[node]] - height) / 2,
            width,
            height,
        )
        for node, (width, height) in enumerate(sizes)
    )
    routes = []
    for chain in chains:
        first, last = boxes[chain[0]], boxes[chain[-1]]
        x, end = first.x + first.width / 2, last.x + last.width / 2
        # Straight to the edge of the row first: a taller box may stand beside.
        points = [(x, first.y + first.height), (x, tops[rows[chain[0]]] + heights[rows[chain[0]]])]
        for node in chain[1:-1]:
            points.append((centres[node] - left, tops[rows[node]]))
            points.append((centres[node] - left, tops[rows[node]] + heights[rows[node]]))
        points += [(end, tops[rows[chain[-1]]]), (end, last.y)]
        routes.append(tuple(dict.fromkeys(points)))
    return Layout(boxes, tuple(routes), right - left, at - GAP_Y)
