"""Placing buffers that live at different times into one arena.

Finding the smallest arena is NP-hard. Greedy best fit over a few orders of the buffers comes within a few
percent of the lower bound (the bytes live at the worst moment), which is computed too: the distance shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Lifetime", "Placement", "place"]


@dataclass(frozen=True)
class Lifetime:
    """A buffer: its size in bytes, and the first and last step that touch it."""

    bytes: int
    first: int
    last: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether both are live at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Placement:
    """Where each buffer lies, in the order given.

    `peak` is the arena's size; `lower_bound` what no placement can beat. `aliases` numbers groups of buffers
    that share bytes of the arena; None for one that shares none.
    """

    offsets: tuple[int, ...]
    peak: int
    lower_bound: int
    aliases: tuple[int | None, ...]


_ORDERS: tuple[Callable[[Lifetime], tuple[int, ...]], ...] = (
    lambda b: (-b.bytes, b.first),
    lambda b: (-b.bytes * (b.last - b.first + 1), b.first),
    lambda b: (b.first, -b.bytes),
    lambda b: (b.first - b.last, -b.bytes),
)


def place(buffers: Sequence[Lifetime], alignment: int) -> Placement:
    """Offsets such that no two buffers that are live together share a byte, each a multiple of `alignment`."""
    sized = [Lifetime(-(-b.bytes // alignment) * alignment, b.first, b.last) for b in buffers]
    best: list[int] = []
    peak = -1
    bound = _lower_bound(sized)
    for order in _ORDERS:
        offsets = _best_fit(sized, sorted(range(len(sized)), key=lambda n: order(sized[n])))
        top = max((at + b.bytes for at, b in zip(offsets, sized, strict=True)), default=0)
        if peak < 0 or top < peak:
            best, peak = offsets, top
        if peak == bound:
            break
    return Placement(tuple(best), peak, bound, _aliases(sized, best))


def _best_fit(buffers: Sequence[Lifetime], order: Sequence[int]) -> list[int]:
    """Put each buffer into the tightest gap between those already placed that live with it."""
    offsets = [0] * len(buffers)
    placed: list[int] = []
    for n in order:
        busy = sorted(
            (offsets[m], offsets[m] + buffers[m].bytes) for m in placed if buffers[m].overlaps(buffers[n])
        )
        offsets[n] = _tightest_gap(busy, buffers[n].bytes)
        placed.append(n)
    return offsets


def _tightest_gap(busy: Sequence[tuple[int, int]], size: int) -> int:
    end, best, waste = 0, None, 0
    for start, stop in busy:
        gap = start - end
        if gap >= size and (best is None or gap - size < waste):
            best, waste = end, gap - size
        end = max(end, stop)
    return end if best is None else best


def _lower_bound(buffers: Sequence[Lifetime]) -> int:
    """Bytes live at the worst step; it is a first step of some buffer."""
    return max((sum(b.bytes for b in buffers if b.first <= a.first <= b.last) for a in buffers), default=0)


def _aliases(buffers: Sequence[Lifetime], offsets: Sequence[int]) -> tuple[int | None, ...]:
    """Group buffers whose address ranges overlap, directly or through others; groups of one get None."""
    order = sorted((n for n in range(len(buffers)) if buffers[n].bytes), key=lambda n: offsets[n])
    groups: list[list[int]] = []
    end = -1
    for n in order:
        if offsets[n] < end:
            groups[-1].append(n)
        else:
            groups.append([n])
        end = max(end, offsets[n] + buffers[n].bytes)
    numbered: list[int | None] = [None] * len(buffers)
    for number, group in enumerate(group for group in groups if len(group) > 1):
        for n in group:
            numbered[n] = number
    return tuple(numbered)
