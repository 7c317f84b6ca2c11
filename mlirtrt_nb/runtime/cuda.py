"""Runs a Plan's program on a GPU: TensorRT engines on streams, host parts on ONNX Runtime."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from threading import Lock
from typing import Any

import numpy as np

from ..dialects.onnx.ort_session import SessionSettings
from ..engine.base import Engine
from ..engine.host_engine import open_engine
from .control_flow import branch, repeat
from .cuda_memory import CudaMemory, Values, address_of
from .host import callees
from .profiling import LayerTimes
from .schedule import Schedule, Step
from .tensorrt_engine import DeviceEngine, TensorRTEngine

__all__ = ["CudaProgram"]

Run = Callable[[Values], None]


class CudaProgram:
    """A `plan.program` for "cuda" made ready.

    Args:
        schedule: the program.
        engines: callee -> engine: of the GPU's target for what is enqueued, of "cpu" for what is called.
        weights: the Plan's arrays.
        driver: CUDA (`CudaDriver`).
        settings: how ONNX Runtime runs the host parts.
        load: makes an engine ready; TensorRT's own by default.
    """

    device = "cuda"

    def __init__(
        self,
        schedule: Schedule,
        engines: Mapping[str, Engine],
        weights: Mapping[str, np.ndarray],
        driver: Any,
        settings: SessionSettings | None = None,
        load: Callable[[Engine], DeviceEngine] = TensorRTEngine,
    ) -> None:
        self.schedule = schedule
        self._engines = engines
        self._driver = driver
        self._lock = Lock()
        callees(schedule, engines)
        every = list(schedule.all_steps())
        enqueued = {step.callee for step in every if step.kind == "enqueue"}
        called = {step.callee for step in every if step.kind == "call"}
        self._device_engines = {name: load(engines[name]) for name in enqueued}
        self._sessions = {name: open_engine(engines[name], weights, settings) for name in called}
        numbers = {step.stream for step in every if step.stream is not None}
        self._streams = {number: driver.stream() for number in sorted(numbers)}
        self._events: dict[int, Any] = {}
        self._memory = CudaMemory(schedule, driver)
        self._fixed = self._memory.fixed(weights)
        self._steps = [self._make(step) for step in schedule.steps]
        self._outputs = {b.index: n for n, b in enumerate(schedule.buffers) if b.role == "output"}

    def call(self, inputs: Sequence[Any]) -> list[Any]:
        """Run on inputs in host or device memory, and return fresh arrays in host memory."""
        return self._execute([*inputs, *self._fixed[len(inputs) :]])

    def bound(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[[], list[Any]]:
        """A function that reads these inputs and writes these outputs, in host or device memory."""
        fixed = [*inputs, *self._fixed[len(inputs) :]]
        for index, number in self._outputs.items():
            fixed[number] = outputs[index]
        return lambda: self._execute(fixed.copy())

    def timed(self, inputs: Sequence[Any]) -> dict[str, float]:
        """Run once; trtexec's metrics in ms, from events around each step. Latency is the sum of the parts."""
        driver, stream = self._driver, next(iter(self._streams.values()))
        marks = [driver.event() for _ in range(len(self._steps) + 1)]
        enqueue_ms = 0.0
        with self._lock:
            values = [*inputs, *self._fixed[len(inputs) :]]
            driver.record(marks[0], stream)
            for step, run, mark in zip(self.schedule.steps, self._steps, marks[1:], strict=True):
                start = time.perf_counter()
                run(values)
                if step.kind == "enqueue":
                    enqueue_ms += (time.perf_counter() - start) * 1e3
                driver.record(mark, stream)
            driver.synchronize(stream)
            self._memory.release()
        parts = dict.fromkeys(("H2D Latency", "GPU Compute Time", "D2H Latency"), 0.0)
        for step, before, after in zip(self.schedule.steps, marks, marks[1:], strict=False):
            parts[self._part(step)] += driver.elapsed_ms(before, after)
        for mark in marks:
            driver.destroy_event(mark)
        return {"Latency": sum(parts.values()), "Enqueue Time": enqueue_ms, **parts}

    def profile(self, inputs: Sequence[Any], runs: int) -> list[LayerTimes]:
        """What each layer of each TensorRT engine takes, by TensorRT's own profiler."""
        times: dict[tuple[str, str], list[float]] = {}
        for callee, engine in self._device_engines.items():
            for _ in range(runs):
                for layer, ms in engine.profile(lambda: self.call(inputs)).items():
                    times.setdefault((callee, layer), []).append(ms)
        return [self._layer(callee, layer, values) for (callee, layer), values in times.items()]

    def conditions(self) -> dict[str, Any]:
        """What a measurement of this program should be labelled with."""
        found = {engine.report.builder for engine in self._engines.values() if engine.target != "cpu"}
        return {
            "device": self.device,
            **self._driver.conditions(),
            "runtime": ", ".join(sorted(found)),
            "cuda_graph": False,
            "transfers": "included",
        }

    def close(self) -> None:
        """Free the device memory, the streams and the engines."""
        driver = self._driver
        self._device_engines, self._sessions, self._steps = {}, {}, []
        self._memory.close()
        for event in self._events.values():
            driver.destroy_event(event)
        for stream in self._streams.values():
            driver.destroy_stream(stream)

    # One call ----------------------------------------------------------------------------------------------

    def _execute(self, values: Values) -> list[Any]:
        with self._lock:  # the arena and the contexts serve one call at a time
            for run in self._steps:
                run(values)
            self._memory.release()
            return [values[self._outputs[index]] for index in range(len(self._outputs))]

    # Making steps ------------------------------------------------------------------------------------------

    def _make(self, step: Step) -> Run:
        stream = self._streams[step.stream] if step.stream is not None else None
        if step.kind == "copy":
            return self._copy(step, stream)
        if step.kind == "move":
            return self._move(step, stream)
        if step.kind == "append":
            part, collected = step.ins[0], step.outs[0]
            return lambda values: values[collected].append(values[part].copy())  # the next turn writes over it
        if step.kind == "if":
            return self._branch(step)
        if step.kind == "repeat":
            return self._repeat(step)
        if step.kind == "enqueue":
            return self._enqueue(step, stream)
        if step.kind == "call":
            return self._host_call(step)
        if step.kind == "synchronize":
            return lambda values: self._driver.synchronize(stream)
        assert step.event is not None
        if step.kind == "record":
            self._events[step.event] = self._driver.event()
            return lambda values: self._driver.record(self._events[step.event], stream)  # type: ignore[index]
        return lambda values: self._driver.wait(stream, self._events[step.event])  # type: ignore[index]

    def _copy(self, step: Step, stream: Any) -> Run:
        source, target = step.ins[0], step.outs[0]

        def on_host(values: Values) -> None:
            found = values[source]
            values[target] = self._memory.of(target, tuple(found.shape), None, values)
            np.copyto(values[target], found)

        def on_stream(values: Values) -> None:
            found = values[source]
            values[target] = self._memory.of(target, tuple(found.shape), stream, values)
            self._driver.copy(address_of(values[target]), address_of(found), found.nbytes, stream)

        return on_stream if stream is not None else on_host

    def _move(self, step: Step, stream: Any) -> Run:
        """A copy, or where neither buffer has a place, the memory itself, which then is the target's."""
        source, target = step.ins[0], step.outs[0]
        if any(self.schedule.buffers[n].offset is not None for n in (source, target)):
            return self._copy(step, stream)

        return partial(self._memory.hand_over, source, target)

    def _branch(self, step: Step) -> Run:
        condition = step.ins[0]
        then, other = ([self._make(inner) for inner in block] for block in step.blocks)
        return branch(itemgetter(condition), then, other)

    def _repeat(self, step: Step) -> Run:
        assert step.number is not None
        return repeat(
            number=step.number,
            trips=None if step.trips is None else itemgetter(step.trips),
            going=None if step.going is None else itemgetter(step.going),
            collected=[(n, self.schedule.buffers[n]) for n in step.outs],
            body=[self._make(inner) for inner in step.blocks[0]],
            put=self._memory.keep,
        )

    def _enqueue(self, step: Step, stream: Any) -> Run:
        engine = self._device_engines[step.callee]
        scratch = self._memory.scratch(step, engine)

        def enqueue(values: Values) -> None:
            def place(number: int, shape: tuple[int, ...]) -> int:
                target = step.outs[number]
                values[target] = self._memory.of(target, shape, stream, values)
                return address_of(values[target])

            inputs = [(address_of(values[n]), tuple(values[n].shape)) for n in step.ins]
            engine.enqueue(stream, inputs, place, *scratch)

        return enqueue

    def _host_call(self, step: Step) -> Run:
        session = self._sessions[step.callee].session
        engine = self._engines[step.callee]
        names = [binding.name for binding in engine.outputs]

        def call(values: Values) -> None:
            feeds = {b.name: values[n] for b, n in zip(engine.inputs, step.ins, strict=True)}
            results = session.run(names or None, feeds)  # assertions give nothing that a step writes
            for n, result in zip(step.outs, results, strict=bool(names)):
                if isinstance(result, np.ndarray) and self.schedule.buffers[n].offset is not None:
                    values[n] = self._memory.of(n, result.shape, None, values)
                    np.copyto(values[n], result)
                elif values[n] is not None and self.schedule.buffers[n].role == "output":
                    np.copyto(values[n], result)
                else:
                    values[n] = result

        return call

    # Times -------------------------------------------------------------------------------------------------

    def _part(self, step: Step) -> str:
        """Which of trtexec's metrics a step counts for."""
        if step.kind == "copy":
            spaces = [self.schedule.buffers[n].space for n in (*step.ins, *step.outs)]
            if spaces[1] == "device":
                return "H2D Latency"
            if spaces[0] == "device":
                return "D2H Latency"
        return "GPU Compute Time"

    def _layer(self, callee: str, layer: str, times: list[float]) -> LayerTimes:
        row = next((row for row in self._engines[callee].report.layers if row.name == layer), None)
        kind, sources = (row.kind, row.sources) if row is not None else ("", ())
        return LayerTimes(callee, layer, kind, tuple(times), sources)
