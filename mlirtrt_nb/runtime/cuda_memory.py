"""Where a GPU program's buffers lie: one arena, pinned memory, scratch, and what a call allocates."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ir import dtypes
from .device_array import DeviceArray
from .schedule import Buffer, Schedule, Step
from .tensorrt_engine import DeviceEngine

__all__ = ["CudaMemory", "Values", "address_of"]

# Per buffer: a NumPy array in host memory, a DeviceArray, or None before something fills it.
Values = list[Any]

_ALIGN = 256


class CudaMemory:
    """The memory of one program, for one call at a time.

    Args:
        schedule: the program.
        driver: CUDA (`CudaDriver`).
    """

    def __init__(self, schedule: Schedule, driver: Any) -> None:
        self._buffers = schedule.buffers
        self._driver = driver
        self._arena = driver.allocate(schedule.arena_bytes + _ALIGN)
        self._staging = driver.allocate_pinned(schedule.staging_bytes) if schedule.staging_bytes else 0
        self._scratch: dict[str, tuple[int, int]] = {}
        self._loose: dict[int, tuple[Any, int]] = {}  # buffer -> stream and address of what this call allocated

    def fixed(self, weights: Mapping[str, np.ndarray]) -> Values:
        """What every call begins with: constants, and the buffers whose place and shape are known."""
        return [self._placed(buffer, weights) for buffer in self._buffers]

    def of(self, number: int, shape: tuple[int, ...], stream: Any, values: Values) -> Any:
        """Memory of that shape for a buffer: fixed, in the arena, or allocated for this call."""
        buffer = self._buffers[number]
        if values[number] is not None and tuple(values[number].shape) == shape:
            return values[number]
        if buffer.offset is not None:
            return self._view(buffer, shape)
        dtype = dtypes.by_mlir(buffer.dtype).np
        if buffer.space != "device":
            return np.empty(shape, dtype)
        self._give_back(number)  # of an earlier turn of a loop
        address = self._driver.allocate_on(stream, DeviceArray(0, shape, dtype).nbytes)
        self._loose[number] = (stream, address)
        return DeviceArray(address, shape, dtype)

    def hand_over(self, source: int, target: int, values: Values) -> None:
        """Let the memory of a buffer without a place be that of another."""
        values[target], values[source] = values[source], None
        self._give_back(target)
        if source in self._loose:
            self._loose[target] = self._loose.pop(source)

    def keep(self, values: Values, number: int, array: np.ndarray, before: Any) -> None:
        """Put what a loop has collected into the memory that is there for it."""
        given = self._buffers[number].role == "output" and before is not None
        values[number] = before if given else None
        values[number] = self.of(number, array.shape, None, values)
        np.copyto(values[number], array)

    def scratch(self, step: Step, engine: DeviceEngine) -> tuple[int, int]:
        """Address and size of an engine's scratch memory: the Plan's, or its own where that is too small."""
        buffer = self._buffers[step.workspace] if step.workspace is not None else None
        if buffer is not None and (buffer.bytes or 0) >= engine.scratch_bytes:
            return self._address(buffer), buffer.bytes or 0
        if step.callee not in self._scratch:
            self._scratch[step.callee] = (self._driver.allocate(engine.scratch_bytes), engine.scratch_bytes)
        return self._scratch[step.callee]

    def release(self) -> None:
        """Give back what was allocated during the call; its last step has waited for all work."""
        for number in list(self._loose):
            self._give_back(number)

    def close(self) -> None:
        """Free what outlives calls."""
        for address in [self._arena, *(address for address, _ in self._scratch.values())]:
            self._driver.free(address)
        if self._staging:
            self._driver.free_pinned(self._staging)

    def _give_back(self, number: int) -> None:
        if number in self._loose:
            self._driver.free_on(*self._loose.pop(number))

    def _placed(self, buffer: Buffer, weights: Mapping[str, np.ndarray]) -> Any:
        """A constant, or a buffer's fixed memory; None for one whose place or shape varies."""
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


def address_of(memory: Any) -> int:
    """The address of a NumPy array or a DeviceArray."""
    return int(memory.address if isinstance(memory, DeviceArray) else memory.ctypes.data)


def _host_view(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array on host memory that CUDA allocated."""
    count = int(np.prod(shape)) * dtype.itemsize
    raw = (ctypes.c_ubyte * count).from_address(address)
    return np.ctypeslib.as_array(raw).view(dtype).reshape(shape)
