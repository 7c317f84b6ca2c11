"""Runs a Plan's program on the host: ONNX Runtime engines, bound once.

A call only hands over the addresses of the caller's inputs and asks for fresh outputs; everything between two
engines lies in the arena and stays bound.
"""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ..dialects.onnx.ort_session import SessionSettings
from ..engine.base import Engine
from ..engine.host_engine import is_onnxruntime, open_engine
from ..errors import TargetError
from .arena import HostArena
from .host_steps import Run, StepMaker, Values
from .profiling import LayerTimes, read_profile
from .schedule import Schedule

__all__ = ["HostProgram", "callees"]

Readers = list[Callable[[Values], Any]]


class HostProgram:
    """A `plan.program` for "cpu" made ready.

    Args:
        schedule: the program.
        engines: callee -> engine of target "cpu".
        weights: the Plan's arrays, used where they lie.
        settings: how ONNX Runtime runs.
        profile_to: how the names of the files start in which ONNX Runtime says what each layer took.
    """

    device = "cpu"

    def __init__(
        self,
        schedule: Schedule,
        engines: Mapping[str, Engine],
        weights: Mapping[str, np.ndarray],
        settings: SessionSettings | None = None,
        profile_to: str | None = None,
    ) -> None:
        self.schedule = schedule
        self.engines = engines
        self._weights = weights
        self._settings = settings or SessionSettings()
        called = callees(schedule, engines)
        # The threads of an engine that has finished would spin on, on the cores that the next one needs.
        config = {"session.force_spinning_stop": "1"} if len(called) > 1 else None
        self.sessions = {
            callee: open_engine(
                engines[callee],
                weights,
                self._settings,
                config=config,
                profile_to=None if profile_to is None else f"{profile_to}{number}",
            )
            for number, callee in enumerate(called)
        }
        self._arena = HostArena(schedule, "host", schedule.arena_bytes)
        self._lock = Lock()
        fixed: Values = [self._arena.arrays.get(n) for n in range(len(schedule.buffers))]
        for n, buffer in enumerate(schedule.buffers):
            if buffer.role == "constant":
                fixed[n] = weights[buffer.weight]
        # Inputs are the first buffers: the values of a call are its inputs, then these.
        self._rest = fixed[len(schedule.inputs) :]
        self._steps, self._readers = self._bind(fixed)
        self.call: Callable[[Sequence[Any]], list[Any]] = self._lone_call(fixed) or self._run

    def _lone_call(self, fixed: Values) -> Callable[[Sequence[Any]], list[Any]] | None:
        """The call of a program that is one engine from inputs to outputs: nothing but that engine."""
        step = self.schedule.steps[0] if len(self.schedule.steps) == 1 else None
        maker = StepMaker(self.schedule, fixed, self.sessions, self.engines)
        buffers = self.schedule.buffers
        if step is None or not maker.is_direct(step) or any(buffers[n].role != "input" for n in step.ins):
            return None
        run = self.sessions[step.callee].session._sess.run
        ins, outs = maker.names(step)
        names = {buffers[n].index: name for n, name in zip(step.outs, outs, strict=True)}
        wanted = [names[index] for index in range(len(self.schedule.outputs))]
        if list(step.ins) == list(range(len(self.schedule.inputs))):
            return lambda arrays: run(wanted, dict(zip(ins, arrays)), None)  # noqa: B905 - counts were checked
        pairs = list(zip(ins, step.ins, strict=True))
        return lambda arrays: run(wanted, {name: arrays[n] for name, n in pairs}, None)

    def _run(self, inputs: Sequence[Any]) -> list[Any]:
        """Run on arrays that have been checked, and return fresh outputs."""
        values = [*inputs, *self._rest]
        with self._lock:  # the arena and the bindings serve one call at a time
            for step in self._steps:
                step(values)
            return [read(values) for read in self._readers]

    def bound(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray | None]
    ) -> Callable[[], list[Any]]:
        """A function that runs on these arrays in place, without allocating, and returns the outputs.

        An output that is None is allocated by its engine at each run.
        """
        fixed = [*inputs, *self._rest]
        for n, buffer in enumerate(self.schedule.buffers):
            if buffer.role == "output":
                fixed[n] = outputs[buffer.index]
        steps, readers = self._bind(fixed)

        def run() -> list[Any]:
            values = fixed.copy()
            with self._lock:
                for step in steps:
                    step(values)
                return [read(values) for read in readers]

        return run

    def conditions(self) -> dict[str, Any]:
        """What a measurement of this program should be labelled with."""
        import onnxruntime

        return {
            "device": self.device,
            "processor": _processor(),
            "threads": self._settings.threads or "all cores",
            "runtime": f"ONNX Runtime {onnxruntime.__version__}",
        }

    def profile(self, inputs: Sequence[Any], runs: int) -> list[LayerTimes]:
        """What each layer takes, in a program of its own whose engines keep times."""
        with tempfile.TemporaryDirectory() as folder:
            args = (self.schedule, self.engines, self._weights, self._settings)
            profiled = HostProgram(*args, profile_to=f"{folder}/engine")
            for _ in range(runs + 1):
                profiled.call(inputs)
            found = []
            for callee, opened in profiled.sessions.items():
                if not is_onnxruntime(self.engines[callee]):
                    continue  # it keeps no times
                path = opened.session.end_profiling()
                found += read_profile(path, self.engines[callee], skip=1)
            return found

    def timed(self, inputs: Sequence[Any]) -> dict[str, float]:
        """Run once; how long the call took in ms, by the host's clock."""
        start = time.perf_counter()
        self.call(inputs)
        return {"Latency": (time.perf_counter() - start) * 1e3}

    def close(self) -> None:
        """Let go of the engines. The program cannot be called after this."""
        self.sessions, self._steps, self._readers = {}, [], []

    def _bind(self, fixed: Values) -> tuple[list[Run], Readers]:
        maker = StepMaker(self.schedule, fixed, self.sessions, self.engines)
        steps = [maker.make(step) for step in self.schedule.steps]
        numbers = {buffer.index: n for n, buffer in enumerate(self.schedule.buffers) if buffer.role == "output"}
        return steps, [maker.reader(numbers[index]) for index in range(len(numbers))]


def callees(schedule: Schedule, engines: Mapping[str, Engine]) -> list[str]:
    """What a program calls, each once. Raises TargetError if there is no engine for one of them."""
    found = dict.fromkeys(step.callee for step in schedule.all_steps() if step.callee)
    missing = [name for name in found if name not in engines]
    if missing:
        raise TargetError(f"the Plan has no engine for {', '.join(missing)} that runs on {schedule.device}")
    return list(found)


@cache
def _processor() -> str:
    """The processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
