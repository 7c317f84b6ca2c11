"""Targets: what `target=` means and which engine builder serves it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .errors import TargetError

if TYPE_CHECKING:
    from .engine.base import EngineBuilder

__all__ = ["AHEAD_OF_TIME", "TARGETS", "builder_for", "default_targets", "device_kind", "parse_targets"]

# Compute capabilities that TensorRT-RTX builds for on a machine with no GPU; its builder checks them too.
AHEAD_OF_TIME = ("sm75", "sm80", "sm86", "sm89", "sm120", "sm121")
TARGETS = ("cpu", *AHEAD_OF_TIME, "cuda")


def parse_targets(target: str | Iterable[str]) -> tuple[str, ...]:
    """One target or several as a tuple without repeats. Raises TargetError for an unknown one."""
    if not isinstance(target, Iterable) or isinstance(target, bytes):
        raise TargetError(f"unknown target {target!r}", hint=f"targets: {', '.join(TARGETS)}")
    names = [target] if isinstance(target, str) else list(target)
    if not names:
        raise TargetError("no target given", hint=f"targets: {', '.join(TARGETS)}")
    for name in names:
        if name not in TARGETS:
            close = get_close_matches(str(name), TARGETS, 1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise TargetError(f"unknown target {name!r}", hint=f"{meant}targets: {', '.join(TARGETS)}")
    return tuple(dict.fromkeys(names))


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
