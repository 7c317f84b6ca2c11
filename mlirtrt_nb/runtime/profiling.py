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
    layers = engine.report.layers
    named = {layer.name: layer.sources for layer in layers}
    made = {output: layer.sources for layer in layers for output in layer.outputs}
    return [
        LayerTimes(engine.name, layer, kinds[layer], tuple(values[skip:]), _sources(layer, named, made))
        for layer, values in times.items()
    ]


def _sources(
    layer: str, named: Mapping[str, tuple[str, ...]], made: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """A layer's sources, by its name in the report or by what it makes.

    ONNX Runtime ends the name of what it rewrites in words such as `_token_5`; a layer in its own memory layout
    it calls by its output and `_nchwc`.
    """
    output, laid_out, _ = layer.rpartition("_nchwc")
    if laid_out and output in made:
        return made[output]
    while layer and layer not in named:
        layer = layer.rpartition("_")[0]
    return named.get(layer, ())


def _kernels(events: Sequence[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    return (event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"))
