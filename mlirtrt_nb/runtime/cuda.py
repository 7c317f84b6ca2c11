"""Runs a Plan's program on a GPU: one arena, TensorRT engines on streams, host parts on ONNX Runtime."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from threading import Lock
from typing import Any

import numpy as np

from ..dialects.onnx.ort_session import SessionSettings
from ..engine.base import Engine
from ..engine.host_engine import open_engine
from ..ir import dtypes
from .control_flow import branch, repeat
from .device_array import DeviceArray
from .host import callees
from .profiling import LayerTimes
from .schedule import Buffer, Schedule, Step
from .tensorrt_engine import DeviceEngine, TensorRTEngine

__all__ = ["CudaProgram"]

# Per buffer: a NumPy array in host memory, a DeviceArray, or None before something fills it.
Values = list[Any]
Run = Callable[[Values], None]

_ALIGN = 256


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
        self._arena = driver.allocate(schedule.arena_bytes + _ALIGN)
        self._staging = driver.allocate_pinned(schedule.staging_bytes) if schedule.staging_bytes else 0
        self._scratch: dict[str, tuple[int, int]] = {}
        self._loose: dict[int, tuple[Any, int]] = {}  # buffer -> stream and address of what this call allocated
        self._fixed: Values = [self._placed(buffer, weights) for buffer in schedule.buffers]
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
            self._release()
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
        for address in [self._arena, *(address for address, _ in self._scratch.values())]:
            driver.free(address)
        if self._staging:
            driver.free_pinned(self._staging)
        for event in self._events.values():
            driver.destroy_event(event)
        for stream in self._streams.values():
            driver.destroy_stream(stream)

    # One call ----------------------------------------------------------------------------------------------

    def _execute(self, values: Values) -> list[Any]:
        with self._lock:  # the arena and the contexts serve one call at a time
            for run in self._steps:
                run(values)
            self._release()
            return [values[self._outputs[index]] for index in range(len(self._outputs))]

    def _release(self) -> None:
        """Give back what was allocated during the call; the last step has waited for all work."""
        for stream, address in self._loose.values():
            self._driver.free_on(stream, address)
        self._loose.clear()

    # Making steps ------------------------------------------------------------------------------------------

    def _placed(self, buffer: Buffer, weights: Mapping[str, np.ndarray]) -> Any:
        """A buffer's fixed memory, or None: the address alone where the shape varies."""
        if buffer.role == "constant":
            return weights[buffer.weight]
        if buffer.offset is None or buffer.space not in ("device", "host_pinned"):
            return None
        shape = buffer.shape if buffer.shape is not None and all(dim >= 0 for dim in buffer.shape) else None
        return self._view(buffer, shape) if shape is not None else None

    def _address(self, buffer: Buffer) -> int:
        assert buffer.offset is not None
        base = self._staging if buffer.space == "host_pinned" else self._arena + -self._arena % _ALIGN
        return base + buffer.offset

    def _view(self, buffer: Buffer, shape: tuple[int, ...]) -> Any:
        """The buffer's place in the arena as an array of that shape."""
        dtype = dtypes.by_mlir(buffer.dtype).np
        if buffer.space == "device":
            return DeviceArray(self._address(buffer), shape, dtype)
        return _host_view(self._address(buffer), shape, dtype)

    def _memory(self, number: int, shape: tuple[int, ...], stream: Any, values: Values) -> Any:
        """Memory of that shape for a buffer: fixed, in the arena, or allocated for this call."""
        buffer = self.schedule.buffers[number]
        if values[number] is not None and tuple(values[number].shape) == shape:
            return values[number]
        if buffer.offset is not None:
            return self._view(buffer, shape)
        dtype = dtypes.by_mlir(buffer.dtype).np
        if buffer.space != "device":
            return np.empty(shape, dtype)
        if number in self._loose:  # of an earlier turn of a loop
            self._driver.free_on(*self._loose.pop(number))
        address = self._driver.allocate_on(stream, DeviceArray(0, shape, dtype).nbytes)
        self._loose[number] = (stream, address)
        return DeviceArray(address, shape, dtype)

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
            values[target] = self._memory(target, tuple(found.shape), None, values)
            np.copyto(values[target], found)

        def on_stream(values: Values) -> None:
            found = values[source]
            values[target] = self._memory(target, tuple(found.shape), stream, values)
            self._driver.copy(_address_of(values[target]), _address_of(found), found.nbytes, stream)

        return on_stream if stream is not None else on_host

    def _move(self, step: Step, stream: Any) -> Run:
        """A copy, or where neither buffer has a place, the memory itself, which then is the target's."""
        source, target = step.ins[0], step.outs[0]
        if any(self.schedule.buffers[n].offset is not None for n in (source, target)):
            return self._copy(step, stream)

        def move(values: Values) -> None:
            values[target], values[source] = values[source], None
            if target in self._loose:
                self._driver.free_on(*self._loose.pop(target))
            if source in self._loose:
                self._loose[target] = self._loose.pop(source)

        return move

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
            put=self._put,
        )

    def _put(self, values: Values, number: int, array: np.ndarray, before: Any) -> None:
        """Keep what a loop has collected, in the memory that is there for it."""
        given = self.schedule.buffers[number].role == "output" and before is not None
        values[number] = before if given else None
        values[number] = self._memory(number, array.shape, None, values)
        np.copyto(values[number], array)

    def _enqueue(self, step: Step, stream: Any) -> Run:
        engine = self._device_engines[step.callee]
        scratch = self._scratch_for(step, engine)

        def enqueue(values: Values) -> None:
            def place(number: int, shape: tuple[int, ...]) -> int:
                target = step.outs[number]
                values[target] = self._memory(target, shape, stream, values)
                return _address_of(values[target])

            inputs = [(_address_of(values[n]), tuple(values[n].shape)) for n in step.ins]
            engine.enqueue(stream, inputs, place, *scratch)

        return enqueue

    def _scratch_for(self, step: Step, engine: DeviceEngine) -> tuple[int, int]:
        """Address and size of an engine's scratch memory: the Plan's, or its own where that is too small."""
        buffer = self.schedule.buffers[step.workspace] if step.workspace is not None else None
        if buffer is not None and (buffer.bytes or 0) >= engine.scratch_bytes:
            return self._address(buffer), buffer.bytes or 0
        if step.callee not in self._scratch:
            self._scratch[step.callee] = (self._driver.allocate(engine.scratch_bytes), engine.scratch_bytes)
        return self._scratch[step.callee]

    def _host_call(self, step: Step) -> Run:
        session = self._sessions[step.callee].session
        engine = self._engines[step.callee]
        names = [binding.name for binding in engine.outputs]

        def call(values: Values) -> None:
            feeds = {b.name: values[n] for b, n in zip(engine.inputs, step.ins, strict=True)}
            results = session.run(names or None, feeds)  # assertions give nothing that a step writes
            for n, result in zip(step.outs, results, strict=bool(names)):
                if isinstance(result, np.ndarray) and self.schedule.buffers[n].offset is not None:
                    values[n] = self._memory(n, result.shape, None, values)
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


def _address_of(memory: Any) -> int:
    return int(memory.address if isinstance(memory, DeviceArray) else memory.ctypes.data)


def _host_view(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array on host memory that CUDA allocated."""
    count = int(np.prod(shape)) * dtype.itemsize
    raw = (ctypes.c_ubyte * count).from_address(address)
    return np.ctypeslib.as_array(raw).view(dtype).reshape(shape)
