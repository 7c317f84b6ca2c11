"""Whole compile for `sm89`, from load to Plan and by way of the worker, beside the peer's parse and build."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import mlirtrt_nb as mt

from .cases import SPINE, case
from .peers.tensorrt_parser import build_with_parser
from .table import Benchmark, Row

__all__ = ["run"]


def run(names: Sequence[str] = SPINE, repeats: int = 3) -> list[Benchmark]:
    """Median of `repeats` runs of each, in turn, after one of each that is not counted (imports, first use)."""
    benchmark = Benchmark("compile time", "NVIDIA OnnxParser + the same builder", 1.3, None)
    _once("squeezenet")
    for name in names:
        pairs = [_once(name) for _ in range(repeats)]
        peers = [peer for _, peer in pairs if peer is not None]
        peer = statistics.median(peers) if peers else None
        note = "" if peers else "the peer refuses it"
        benchmark.rows.append(
            Row(name, "load to Plan", statistics.median(ours for ours, _ in pairs), peer, "s", note)
        )
    return [benchmark]


def _once(name: str) -> tuple[float, float | None]:
    path, shapes, _ = case(name)
    start = time.perf_counter()
    mt.compile(path, target="sm89", shapes=shapes, cache=False)
    ours = time.perf_counter() - start
    peer = build_with_parser(path, shapes)
    return ours, None if peer.refusal else peer.seconds
