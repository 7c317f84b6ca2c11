"""Timing two callables in turn, so that a drift of the machine's speed hits both alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["Cores", "alternate", "in_process", "interval", "middle", "rounds"]

_Made = TypeVar("_Made")
_THREADS = Path("/proc/self/task")  # of Linux; elsewhere threads run where the system puts them


def alternate(
    ours: Callable[[], Any], peer: Callable[[], Any], *, seconds: float = 2.0, inner: int = 1, least: int = 2
) -> tuple[float, float]:
    """Seconds of one call of each: those of the round in the middle; see `rounds`."""
    return middle(rounds(ours, peer, seconds=seconds, inner=inner, least=least))


def rounds(
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    *,
    seconds: float = 2.0,
    inner: int = 1,
    least: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> list[tuple[float, float]]:
    """Seconds of one call of each in rounds of four calls, in the order A B B A B A A B, after a warm-up.

    On a shared machine one and the same model takes half as long again for some seconds, so only calls beside
    each other can be compared. The order turns because a call's threads go on spinning for a moment and so
    slow the one after it, because a call after one of the other session finds the caches without its weights,
    and because a disturbance that lasts for two calls must not fall on one of them more often than on the
    other. In either half alone the second session is the faster one, by a fifth for some models.
    `inner` calls are timed together, for calls of microseconds; `least` is a number of rounds; `clock` may be
    `time.process_time`, which other processes disturb less.
    """
    for call in (ours, peer):
        for _ in range(max(2, inner // 10)):
            call()
    found: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < least:
        sums = {ours: 0.0, peer: 0.0}
        for call in (ours, peer, peer, ours, peer, ours, ours, peer):
            sums[call] += _time(call, inner, clock)
        found.append((sums[ours] / 4, sums[peer] / 4))
    return found


def middle(found: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The round whose ratio is the middle one of all."""
    return sorted(found, key=lambda times: times[0] / times[1])[len(found) // 2]


def interval(found: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Between which ratios the middle one of all possible rounds lies, with 95 % confidence, by their order."""
    ratios = sorted(ours / peer for ours, peer in found)
    half = 0.98 * len(ratios) ** 0.5
    low, high = int(len(ratios) / 2 - half), int(len(ratios) / 2 + half)
    return ratios[max(low, 0)], ratios[min(high, len(ratios) - 1)]


def _time(call: Callable[[], Any], inner: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(inner):
        call()
    return (clock() - start) / inner


class Cores:
    """Within it this thread keeps to the first of its cores, those that `spread` sees started to the others.

    The system may let two threads share a core while another is idle, and more often so for whoever comes
    second; that would be taken for a difference between the two.
    """

    def __enter__(self) -> Cores:
        self._all = sorted(os.sched_getaffinity(0)) if _THREADS.exists() else []
        if self._all:
            os.sched_setaffinity(0, self._all[:1])
        return self

    def __exit__(self, *_: object) -> None:
        if self._all:
            os.sched_setaffinity(0, self._all)

    def spread(self, make: Callable[[], _Made]) -> _Made:
        """Call `make`, and keep each thread that it starts on a core of its own, as far as there are cores."""
        if not self._all:
            return make()
        before = _threads()
        made = make()
        others = self._all[1:] or self._all
        for number, thread in enumerate(sorted(_threads() - before)):
            os.sched_setaffinity(thread, {others[number % len(others)]})
        return made


def _threads() -> set[int]:
    return {int(path.name) for path in _THREADS.iterdir()}


def in_process(module: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Run `python -m module arguments` alone and return the JSON object on its last line."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])
