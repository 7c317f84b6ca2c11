"""The one allocation that holds a program's placed buffers on the host."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from ..ir import dtypes
from ..memory import machine_bytes, no_room, size_text
from .schedule import Buffer, Schedule

__all__ = ["HostArena"]

_ALIGN = 64


class HostArena:
    """Memory for the buffers of one space; `arrays` maps a buffer's number to its view of it.

    Raises TargetError if this machine has too little.
    """

    def __init__(self, schedule: Schedule, space: str, nbytes: int) -> None:
        memory = _allocated(schedule, space, nbytes + _ALIGN)
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


def _allocated(schedule: Schedule, space: str, nbytes: int) -> np.ndarray:
    """That many bytes. Some systems would give them all the same, and end the process once they are written."""
    if nbytes <= machine_bytes():
        with suppress(MemoryError):
            return np.empty(nbytes, np.uint8)
    placed = [b for b in schedule.buffers if b.offset is not None and b.space == space]
    largest = max(placed, key=lambda buffer: buffer.bytes or 0)
    kind = "x".join([*("?" if dim < 0 else str(dim) for dim in largest.shape or ()), largest.dtype])
    most = f"{largest.name!r} of {kind} with {size_text(largest.bytes or 0)}"
    raise no_room(f"what is kept between engines, most of all {most},", nbytes)
