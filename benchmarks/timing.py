"""Timing two callables in turn, so that a drift of the machine's speed hits both alike."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["alternate", "in_process"]


def alternate(
    ours: Callable[[], Any], peer: Callable[[], Any], *, seconds: float = 2.0, inner: int = 1, least: int = 7
) -> tuple[float, float]:
    """Seconds of one call of each, measured A B B A A B B A ... after a warm-up of both.

    The order turns because a call's threads go on spinning for a moment and so slow the one after it. The
    figure is the fastest tenth of the calls: on a shared machine medians of one and the same model differ by
    half, while its undisturbed calls agree within some percent. `inner` calls are timed together, for calls
    of microseconds.
    """
    for call in (ours, peer):
        for _ in range(max(2, inner // 10)):
            call()
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    order = [(times[0], ours), (times[1], peer)]
    while time.perf_counter() < end or len(times[0]) < least:
        order.reverse()
        for kept, call in order:
            start = time.perf_counter()
            for _ in range(inner):
                call()
            kept.append((time.perf_counter() - start) / inner)
    return _fastest_tenth(times[0]), _fastest_tenth(times[1])


def _fastest_tenth(times: list[float]) -> float:
    return statistics.quantiles(times, n=10)[0]


def in_process(module: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Run `python -m module arguments` alone and return the JSON object on its last line."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])
