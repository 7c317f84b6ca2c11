"""Times of each engine layer; on the CPU from the profile that ONNX Runtime writes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engine.base import Engine

__all__ = ["LayerTimes", "read_profile"]


@dataclass(frozen=True)
class LayerTimes:
    """What one layer of an engine took in each profiled run, in ms, and the source nodes it was made from."""

    engine: str
    layer: str
    kind: str
    times_ms: tuple[float, ...]
    sources: tuple[str, ...] = ()


def read_profile(path: str | Path, engine: Engine, skip: int = 0) -> list[LayerTimes]:
    """The layers in a profile that ONNX Runtime wrote, in the order in which they ran.

    `skip` leaves out that many first runs, in which memory is still being allocated.
    """
    times: dict[str, list[float]] = defaultdict(list)
    kinds: dict[str, str] = {}
    for event in _kernels(json.loads(Path(path).read_text())):
        layer = event["name"].removesuffix("_kernel_time")
        times[layer].append(event["dur"] / 1e3)
        kinds[layer] = event["args"].get("op_name", "")
    sources = {layer.name: layer.sources for layer in engine.report.layers}
    return [
        LayerTimes(engine.name, layer, kinds[layer], tuple(values[skip:]), _sources(layer, sources))
        for layer, values in times.items()
    ]


def _sources(layer: str, sources: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A layer's sources; ONNX Runtime ends the name of what it rewrites in words such as `_nchwc`."""
    while layer and layer not in sources:
        layer = layer.rpartition("_")[0]
    return sources.get(layer, ())


def _kernels(events: Sequence[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    return (event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"))
