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
    ours: Callable[[], Any], peer: Callable[[], Any], *, seconds: float = 3.0, inner: int = 1, least: int = 7
) -> tuple[float, float]:
    """Median seconds of one call of each, measured A B A B ... after a warm-up of both.

    `inner` calls are timed together, for calls of microseconds.
    """
    for call in (ours, peer):
        for _ in range(max(2, inner // 10)):
            call()
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < least:
        for kept, call in zip(times, (ours, peer), strict=True):
            start = time.perf_counter()
            for _ in range(inner):
                call()
            kept.append((time.perf_counter() - start) / inner)
    return statistics.median(times[0]), statistics.median(times[1])


def in_process(module: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Run `python -m module arguments` alone and return the JSON object on its last line."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])
