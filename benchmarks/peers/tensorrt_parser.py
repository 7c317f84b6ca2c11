"""The peer of the TensorRT path: NVIDIA's own ONNX parser and the same builder, read the same way."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlirtrt_nb.engine.base import LayerRow, Shapes
from mlirtrt_nb.engine.tensorrt.builder import new_network, target_config
from mlirtrt_nb.engine.tensorrt.flavor import import_tensorrt
from mlirtrt_nb.engine.tensorrt.layer_log import layer_count, parse_layers, parse_memory
from mlirtrt_nb.engine.tensorrt.logger import BuildLog, attach

__all__ = ["PeerBuild", "build_with_parser"]


@dataclass(frozen=True)
class PeerBuild:
    """What the peer made of a model. `refusal` is its own words where it made nothing; bytes are its own."""

    layers: tuple[LayerRow, ...] = ()
    activation_bytes: int | None = None
    weights_bytes: int | None = None
    engine_bytes: int = 0
    parse_seconds: float = 0.0
    build_seconds: float = 0.0
    refusal: str | None = None

    @property
    def layer_count(self) -> int:
        """Layers that run code on the device."""
        return layer_count(self.layers)

    @property
    def seconds(self) -> float:
        return self.parse_seconds + self.build_seconds


def build_with_parser(
    path: str | os.PathLike[str],
    shapes: Mapping[str, Shapes] | None = None,
    target: str = "sm89",
    flavor: str = "tensorrt_rtx",
) -> PeerBuild:
    """Parse the .onnx file at `path` with `OnnxParser` and build it for `target`.

    `shapes` gives (min, opt, max) of each input with dynamic dimensions.
    """
    trt = import_tensorrt(flavor)
    log = BuildLog()
    logger = attach(trt, log)
    builder = trt.Builder(logger)
    network = new_network(trt, builder)
    parser = trt.OnnxParser(network, logger)
    start = time.perf_counter()
    parsed = parser.parse_from_file(str(Path(path).resolve()))
    parse_seconds = time.perf_counter() - start
    if not parsed:
        reason = parser.get_error(0).desc() if parser.num_errors else "the parser gave no reason"
        return PeerBuild(parse_seconds=parse_seconds, refusal=reason)
    config = target_config(trt, builder, flavor, target)
    _add_profile(builder, config, network, shapes or {})
    start = time.perf_counter()
    blob = builder.build_serialized_network(network, config)
    build_seconds = time.perf_counter() - start
    if blob is None:
        reason = log.errors[-1] if log.errors else "the builder gave no reason"
        return PeerBuild(parse_seconds=parse_seconds, build_seconds=build_seconds, refusal=reason)
    memory = parse_memory(log.report)
    return PeerBuild(
        layers=parse_layers(log.report),
        activation_bytes=memory.activation_bytes,
        weights_bytes=memory.weights_bytes,
        engine_bytes=memoryview(blob).nbytes,
        parse_seconds=parse_seconds,
        build_seconds=build_seconds,
    )


def _add_profile(builder: Any, config: Any, network: Any, shapes: Mapping[str, Shapes]) -> None:
    """One profile with the range of each input whose shape varies."""
    inputs = [network.get_input(index) for index in range(network.num_inputs)]
    if not any(-1 in tensor.shape for tensor in inputs):
        return
    profile = builder.create_optimization_profile()
    for tensor in inputs:
        if -1 in tensor.shape:
            profile.set_shape(tensor.name, *shapes[tensor.name])
    config.add_optimization_profile(profile)
