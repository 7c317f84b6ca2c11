"""Layers and activation bytes of the `sm89` engine, beside NVIDIA's own parser with the same builder."""

from __future__ import annotations

from collections.abc import Sequence

import mlirtrt_nb as mt
from mlirtrt_nb.engine.tensorrt.layer_log import layer_count

from .cases import SPINE, case
from .peers.tensorrt_parser import build_with_parser
from .table import Benchmark, Row

__all__ = ["run"]


def run(names: Sequence[str] = SPINE) -> list[Benchmark]:
    """One row per model and measure. A model with several engines counts the sum over its engines."""
    benchmark = Benchmark("engine parity", "NVIDIA OnnxParser + the same builder", 1.00, 1.05)
    for name in names:
        path, shapes, _ = case(name)
        peer = build_with_parser(path, shapes)
        plan = mt.compile(path, target="sm89", shapes=shapes, cache=False)
        engines = [engine for engine in plan.engine_values if engine.target == "sm89"]
        note = f"{len(engines)} engines" if len(engines) != 1 else ""
        if peer.refusal:
            note = f"the peer refuses it: {' '.join(peer.refusal.split())[:60]}"
        layers = sum(layer_count(engine.report.layers) for engine in engines)
        bytes_ = sum(engine.report.activation_bytes or 0 for engine in engines)
        has = peer.refusal is None
        benchmark.rows += [
            Row(name, "layers", layers, peer.layer_count if has else None, "", note),
            Row(name, "activation bytes", bytes_, peer.activation_bytes if has else None, "B", note),
        ]
    return [benchmark]
