"""Targets: what `target=` means and which engine builder serves it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from .target_names import AHEAD_OF_TIME, TARGETS, parse_targets

if TYPE_CHECKING:
    from .engine.base import EngineBuilder

__all__ = ["AHEAD_OF_TIME", "TARGETS", "builder_for", "default_targets", "device_kind", "parse_targets"]


def default_targets() -> tuple[str, ...]:
    """What precisions are compared for where no target is given: the CPU and, where TensorRT-RTX is installed,
    sm89."""
    return ("cpu", "sm89") if find_spec("tensorrt_rtx_bindings") else ("cpu",)


def device_kind(target: str) -> str:
    """ "cpu" or "cuda": which of a Plan's programs serves the target."""
    return "cpu" if target == "cpu" else "cuda"


def builder_for(target: str, *, compiled: bool = False) -> EngineBuilder:
    """The builder of engines for `target`; on "cpu", of those that MLIR compiles itself if `compiled`."""
    if compiled:
        from .engine.host.builder import HostBuilder

        return HostBuilder()
    if target == "cpu":
        from .engine.onnxruntime.builder import OnnxRuntimeBuilder

        return OnnxRuntimeBuilder()
    from .engine.tensorrt.builder import TensorRtBuilder

    return TensorRtBuilder()
