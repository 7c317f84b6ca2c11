"""Which device a Plan runs on here, and with which of its engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..engine.base import Engine
from ..errors import MissingDependencyError, OptionError, TargetError
from ..files import check_unchanged
from .schedule import Schedule
from .session import Executable, Session

if TYPE_CHECKING:
    from ..plan import Plan

__all__ = ["check_device", "engines_by_callee", "open_session", "pick_device"]


_MOST_THREADS = 1024  # ONNX Runtime starts them all at once, and ends the process where it cannot


def check_device(device: object) -> None:
    """Raise OptionError for what names no device."""
    if device not in ("auto", "cpu", "cuda"):
        raise OptionError(f"unknown device {device!r}", hint="auto, cpu or cuda")


def open_session(plan: Plan, device: str, threads: int) -> Session:
    """See `Plan.session`."""
    check_device(device)
    if not isinstance(threads, int | np.integer) or not 0 <= threads <= _MOST_THREADS:
        raise OptionError(f"threads must be a number from 0 to {_MOST_THREADS}, got {threads!r}")
    if device == "auto":
        device = pick_device(plan)
    schedule = plan.schedules.get(device)
    if schedule is None:
        compiled = ", ".join(plan.targets) or "nothing"
        target = "cpu" if device == "cpu" else "the GPU's architecture, or 'cuda'"
        raise TargetError(
            f"the Plan cannot run on {device}: it was compiled for {compiled}",
            hint=f"compile with a target list that has {target}",
        )
    check_unchanged([*plan.weights.values(), *(engine.blob for engine in plan.engine_values)])
    return Session(_program(plan, schedule, threads), plan.name)


def _program(plan: Plan, schedule: Schedule, threads: int) -> Executable:
    from ..dialects.onnx.ort_session import SessionSettings

    settings = SessionSettings(threads=int(threads))
    if schedule.device == "cpu":
        from .host import HostProgram

        return HostProgram(schedule, engines_by_callee(plan, "cpu"), plan.weights, settings)
    from .cuda import CudaProgram
    from .cuda_driver import CudaDriver

    driver = CudaDriver()
    target = matching_target(plan, driver.architecture)
    return CudaProgram(schedule, engines_by_callee(plan, target), plan.weights, driver, settings)


def pick_device(plan: Plan) -> str:
    """ "cuda" if this machine has a GPU for which the Plan has engines, else "cpu"."""
    if "cuda" not in plan.schedules:
        return "cpu"
    if "cpu" not in plan.schedules:
        return "cuda"
    from .cuda_driver import architecture

    try:
        matching_target(plan, architecture())
    except (TargetError, MissingDependencyError):
        return "cpu"
    return "cuda"


def matching_target(plan: Plan, architecture: str) -> str:
    """The target among the Plan's whose engines run on a GPU of that architecture ("sm89").

    Raises TargetError if there is none.
    """
    targets = plan.schedules["cuda"].targets
    for target in (architecture, "cuda"):
        if target in targets:
            return target
    raise TargetError(
        f"this machine's GPU is {architecture}; the Plan has engines for {', '.join(targets)}",
        hint=f"compile with target={architecture!r}",
    )


def engines_by_callee(plan: Plan, target: str) -> Mapping[str, Engine]:
    """The engine that each callee of a program means on `target`: its own, or the CPU's for host functions."""
    found: dict[str, Engine] = {}
    for engine in plan.engine_values:
        if engine.target == target or (engine.target == "cpu" and "::" not in engine.name):
            found[engine.name] = engine
    return found
