"""The longest common subsequence of two sequences of lines, by bit vectors: exact, and quick on whole models.

Python's integers are the bit vectors, so a row of the dynamic-programming table costs a few operations on
N bits (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004). Texts too long for a table are first cut
at lines that occur once on each side.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

__all__ = ["matching_pairs"]

# Bits of a table: 400 million are 50 MB.
_LARGEST_TABLE = 400_000_000

Keys = Sequence[Hashable]


def matching_pairs(before: Keys, after: Keys) -> list[tuple[int, int]]:
    """Indices of lines that are the same, increasing on both sides, as many as can be."""
    return list(_pairs(before, after, 0, len(before), 0, len(after)))


def _pairs(a: Keys, b: Keys, a0: int, a1: int, b0: int, b1: int) -> Iterator[tuple[int, int]]:
    while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
        yield a0, b0
        a0, b0 = a0 + 1, b0 + 1
    tail = 0
    while a0 < a1 - tail and b0 < b1 - tail and a[a1 - tail - 1] == b[b1 - tail - 1]:
        tail += 1
    yield from _middle(a, b, a0, a1 - tail, b0, b1 - tail)
    for n in range(tail, 0, -1):
        yield a1 - n, b1 - n


def _middle(a: Keys, b: Keys, a0: int, a1: int, b0: int, b1: int) -> Iterator[tuple[int, int]]:
    if a0 == a1 or b0 == b1:
        return
    if (a1 - a0) * (b1 - b0) <= _LARGEST_TABLE:
        for n, m in _by_table(a[a0:a1], b[b0:b1]):
            yield a0 + n, b0 + m
        return
    for n, m in _anchors(a[a0:a1], b[b0:b1]):
        yield from _pairs(a, b, a0, a0 + n, b0, b0 + m)
        # The anchors' indices count from the middle's start, which moves with each.
        yield a0 + n, b0 + m
        a0, b0 = a0 + n + 1, b0 + m + 1
    if (a1 - a0) * (b1 - b0) <= _LARGEST_TABLE:
        yield from _pairs(a, b, a0, a1, b0, b1)


def _by_table(a: Keys, b: Keys) -> list[tuple[int, int]]:
    """Pairs by the bit-vector table; row m has a zero where the m-th line of `b` makes the sequence longer."""
    places: dict[Hashable, int] = {}
    for n, key in enumerate(a):
        places[key] = places.get(key, 0) | 1 << n
    full = (1 << len(a)) - 1
    row, rows = full, []
    for key in b:
        hits = row & places.get(key, 0)
        row = ((row + hits) | (row - hits)) & full
        rows.append(row)
    return _walked_back(rows, len(a))


def _walked_back(rows: list[int], column: int) -> list[tuple[int, int]]:
    found = []
    number = len(rows)
    while number and column:
        if rows[number - 1] >> (column - 1) & 1:
            column -= 1
            continue
        number -= 1
        if number == 0 or rows[number - 1] >> (column - 1) & 1:
            column -= 1
            found.append((column, number))
    return found[::-1]


def _anchors(a: Keys, b: Keys) -> list[tuple[int, int]]:
    """Lines that occur once on each side, the longest increasing run of them, each as the distance from the
    one before."""
    once_a, once_b = _once(a), _once(b)
    chosen = _increasing([(n, once_b[key]) for key, n in once_a.items() if key in once_b])
    steps, last = [], (-1, -1)
    for n, m in chosen:
        steps.append((n - last[0] - 1, m - last[1] - 1))
        last = (n, m)
    return steps


def _once(keys: Keys) -> dict[Hashable, int]:
    counts = Counter(keys)
    return {key: n for n, key in enumerate(keys) if counts[key] == 1}


def _increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second entries increase; the first ones do already."""
    ends: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for number, (_, m) in enumerate(pairs):
        at = bisect_left(ends, m)
        before.append(tops[at - 1] if at else -1)
        if at == len(ends):
            ends.append(m)
            tops.append(number)
        else:
            ends[at], tops[at] = m, number
    chosen, number = [], tops[-1] if tops else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]
