"""A GPU's stand-in for tests: memory of the host, work done when it is waited for.

Work put on a stream is kept back until something waits for it, so that a missing wait, a copy in the wrong
direction or a buffer reused too early shows as wrong numbers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnxruntime import InferenceSession

from mlirtrt_nb.dialects.onnx.ort_session import SessionSettings, open_session
from mlirtrt_nb.engine.base import Engine
from mlirtrt_nb.ir import dtypes
from mlirtrt_nb.plan import Plan
from mlirtrt_nb.runtime.cuda import CudaProgram

__all__ = ["ONE_THREAD", "LazyDevice", "LazyEngine", "array_at", "cuda_program"]

FLOAT = np.dtype(np.float32)

ONE_THREAD = SessionSettings(threads=1)


class LazyDevice:
    """Stands in for `CudaDriver`: streams are lists of work, done at `synchronize`."""

    architecture = "sm89"

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.pool: dict[int, Any] = {}
        self.clock = 0.0

    def allocate(self, nbytes: int) -> int:
        block = ctypes.create_string_buffer(b"\xff" * max(nbytes, 1))
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    allocate_pinned = allocate

    def free(self, address: int) -> None:
        del self.blocks[address]

    free_pinned = free

    def allocate_on(self, stream: list[Callable[[], None]], nbytes: int) -> int:
        return self.allocate(nbytes)

    def free_on(self, stream: list[Callable[[], None]], address: int) -> None:
        if stream:
            stream.append(lambda: self.free(address))
        else:
            self.free(address)

    def stream(self) -> list[Callable[[], None]]:
        return []

    def destroy_stream(self, stream: list[Callable[[], None]]) -> None:
        assert not stream, "work was left undone"

    def synchronize(self, stream: list[Callable[[], None]]) -> None:
        for work in stream:
            work()
        stream.clear()

    def copy(self, target: int, source: int, nbytes: int, stream: list[Callable[[], None]]) -> None:
        stream.append(lambda: ctypes.memmove(target, source, nbytes))

    def event(self) -> list[float]:
        return []

    def destroy_event(self, event: list[float]) -> None:
        event.clear()

    def record(self, event: list[float], stream: list[Callable[[], None]]) -> None:
        def tick() -> None:
            self.clock += 1.0
            event.append(self.clock)

        stream.append(tick)

    def elapsed_ms(self, first: list[float], last: list[float]) -> float:
        return last[0] - first[0]

    def conditions(self) -> dict[str, Any]:
        return {"gpu": "stand-in"}


class LazyEngine:
    """Stands in for a TensorRT engine: an ONNX Runtime engine that reads and writes addresses on a stream."""

    scratch_bytes = 1000

    def __init__(self, engine: Engine, weights: Mapping[str, np.ndarray]) -> None:
        self.engine = engine
        self.session: InferenceSession = open_session(engine.blob, weights, ONE_THREAD).session
        self._kinds = [dtypes.by_mlir(binding.dtype).np for binding in engine.inputs]
        self.scratch: list[tuple[int, int]] = []

    def enqueue(
        self,
        stream: list[Callable[[], None]],
        inputs: Sequence[tuple[int, tuple[int, ...]]],
        place: Callable[[int, tuple[int, ...]], int],
        scratch: int,
        scratch_bytes: int,
    ) -> list[tuple[int, ...]]:
        assert scratch and scratch_bytes >= self.scratch_bytes
        self.scratch.append((scratch, scratch_bytes))
        # What varies is taken to have the shape of the first input.
        shapes = [b.shape if min(b.shape, default=0) >= 0 else inputs[0][1] for b in self.engine.outputs]
        targets = [place(number, shape) for number, shape in enumerate(shapes)]

        def work() -> None:
            ctypes.memset(scratch, 0xEE, scratch_bytes)  # an engine may write anywhere in its scratch memory
            names = [binding.name for binding in self.engine.inputs]
            arrays = [array_at(*where, kind).copy() for where, kind in zip(inputs, self._kinds, strict=True)]
            feeds = dict(zip(names, arrays, strict=True))
            for target, result in zip(targets, self.session.run(None, feeds), strict=True):
                ctypes.memmove(target, result.ctypes.data, result.nbytes)

        stream.append(work)
        return shapes

    def profile(self, enqueue: Callable[[], None]) -> Mapping[str, float]:
        enqueue()
        return {layer.name: 0.5 for layer in self.engine.report.layers}


def array_at(address: int, shape: tuple[int, ...], kind: np.dtype = FLOAT) -> np.ndarray:
    """The array that lies at an address."""
    count = int(np.prod(shape)) * kind.itemsize
    return np.ctypeslib.as_array((ctypes.c_ubyte * count).from_address(address)).view(kind).reshape(shape)


def cuda_program(plan: Plan, device: LazyDevice) -> CudaProgram:
    """A Plan's program for "cuda" on the stand-in, with the engines that it has for "cpu"."""
    engines = {engine.name: engine for engine in plan.engine_values if engine.target == "cpu"}

    def load(engine: Engine) -> LazyEngine:
        return LazyEngine(engine, plan.weights)

    return CudaProgram(plan.schedules["cuda"], engines, plan.weights, device, ONE_THREAD, load)
