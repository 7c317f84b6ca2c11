"""The one allocation that holds a program's placed buffers on the host."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..ir import dtypes
from .schedule import Buffer, Schedule

__all__ = ["HostArena"]

_ALIGN = 64


class HostArena:
    """Memory for the buffers of one space; `arrays` maps a buffer's number to its view of it."""

    def __init__(self, schedule: Schedule, space: str, nbytes: int) -> None:
        memory = np.empty(nbytes + _ALIGN, np.uint8)
        start = -memory.ctypes.data % _ALIGN
        self.memory = memory[start : start + nbytes]
        self.arrays: Mapping[int, np.ndarray] = {
            number: self._view(buffer)
            for number, buffer in enumerate(schedule.buffers)
            if buffer.offset is not None and buffer.space == space
        }

    def _view(self, buffer: Buffer) -> np.ndarray:
        """The buffer's bytes as an array of its shape; of its largest extent, flat, where the shape varies."""
        assert buffer.offset is not None and buffer.bytes is not None
        data = self.memory[buffer.offset : buffer.offset + buffer.bytes].view(dtypes.by_mlir(buffer.dtype).np)
        static = buffer.shape is not None and all(dim >= 0 for dim in buffer.shape)
        return data.reshape(buffer.shape) if static and buffer.shape is not None else data
