"""What an engine is: one function built for one target, with a report of what the builder made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex

import numpy as np

from ..progress import Progress

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["Binding", "BuildRequest", "Engine", "EngineBuilder", "EngineReport", "LayerRow", "Shapes"]

# (min, opt, max) of one input.
Shapes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Binding:
    """One input or output of an engine. A dimension that varies is -1. `dtype` is the MLIR spelling."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class LayerRow:
    """One layer as the builder reports it.

    `sources` are the source names (ONNX nodes, cell lines) the layer was fused from, in order. Shapes,
    dtypes and formats are per tensor. None where the builder does not say.
    """

    name: str
    kind: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    tactic: str = ""
    stream: int | None = None
    weights_bytes: int | None = None
    output_bytes: int | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class EngineReport:
    """What the builder said. Byte counts are the builder's own; None where it does not report one."""

    layers: tuple[LayerRow, ...] = ()
    weights_bytes: int | None = None
    activation_bytes: int | None = None
    scratch_bytes: int | None = None
    build_seconds: float = 0.0  # of the builder, also where the engine comes from the cache
    messages: tuple[str, ...] = ()
    builder: str = ""  # "TensorRT-RTX 1.7.1", "ONNX Runtime 1.32.0"
    cached: bool = False  # whether the compilation took it from the engine cache


@dataclass(frozen=True)
class Engine:
    """A built engine: a value that can be pickled and written into a Plan.

    `blob` is the serialised engine (for ONNX Runtime: an ONNX model whose weights are named in
    `weights` and live in the Plan's table). `target` is "cpu", "sm89", "cuda", ...
    """

    name: str
    kind: str  # "tensorrt_rtx" | "tensorrt" | "onnxruntime" | "onnx_reference" | "mlir_host"
    target: str
    blob: bytes | memoryview
    inputs: tuple[Binding, ...]
    outputs: tuple[Binding, ...]
    weights: tuple[str, ...] = ()
    report: EngineReport = field(default_factory=EngineReport)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """For pickling, which a view of the builder's memory or of a file does not take by itself."""
        blob = memoryview(self.blob).toreadonly()
        kept = PickleBuffer(blob) if int(protocol) >= 5 else bytes(blob)
        return _restored, ({**self.__dict__, "blob": kept},)


def _restored(fields: dict[str, Any]) -> Engine:
    return Engine(**fields)


@dataclass(frozen=True)
class BuildRequest:
    """What a builder is asked: a `func.func` of tensorrt ops (or of onnx ops, for ONNX Runtime).

    `profiles[k][i]` gives the k-th profile's (min, opt, max) of argument i, or None if it is static.
    `progress(phase, done, total)` is called as the build moves; if it returns False the build is
    cancelled and `Cancelled` raised. `text` is what the user wrote, for carets, where there is such.
    """

    name: str
    function: ir.Operation
    weights: Mapping[str, np.ndarray]
    target: str
    profiles: tuple[tuple[Shapes | None, ...], ...] = ()
    progress: Progress | None = None
    text: str | None = None


class EngineBuilder(Protocol):
    """Builds engines of one kind. Raises `EngineBuildError` on a refusal, `TargetError` if it cannot run."""

    kind: str

    @property
    def identity(self) -> str:
        """Library, version and settings: what, beside the request, decides the engine."""

    def build(self, request: BuildRequest) -> Engine:
        """The engine of `request.function` for `request.target`."""
