"""Runs a program before clustering on the CPU, on batches whose shapes may differ, some of them at once."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, islice

import numpy as np

from ..compilation import finish
from ..errors import EngineBuildError
from ..passes.base import PassContext
from ..program import Program
from ..runtime.session import Session
from .batches import Batch
from .whole_engine import WholeEngine

__all__ = ["Runner"]

_Bounds = dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
_Outputs = dict[str, np.ndarray]

# Small batches run side by side, which keeps cores busier than the threads of an op do. Each has its own
# activations in memory, so large ones, whose ops have work for all cores, run one after another.
_MOST_AT_ONCE = 4
_SMALL = 2 << 20  # bytes of inputs


class Runner:
    """One engine; or a session of a Plan of several, made anew for a wider range of shapes if a batch is out
    of range."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._varying = [
            spec.name for spec in program.inputs if not all(isinstance(d, int) for d in spec.shape)
        ]
        self._bounds: _Bounds = {}
        self._ready: WholeEngine | Session | None = None
        self._at_once = 1

    def runs(self, given: Iterator[Batch]) -> Iterator[tuple[Batch, _Outputs]]:
        """Each batch with its outputs by name, in order. Of small batches a few are taken in advance."""
        for first in given:
            if sum(array.nbytes for array in first.values()) <= _SMALL:
                yield from self._side_by_side(chain([first], given))
            else:
                yield first, self._ready_for(first).run(first)

    def _side_by_side(self, given: Iterator[Batch]) -> Iterator[tuple[Batch, _Outputs]]:
        copies = (_copy(batch) for batch in given)
        ahead = deque(islice(copies, _MOST_AT_ONCE))
        self._at_once = min(len(ahead), _cores())
        waiting: deque[tuple[Batch, Future[_Outputs]]] = deque()
        with ThreadPoolExecutor(self._at_once) as pool:
            while ahead or waiting:
                # One more than run at once, so that there is work while what was found is looked at.
                while ahead and len(waiting) <= self._at_once:
                    batch = ahead.popleft()
                    waiting.append((batch, pool.submit(self._ready_for(batch).run, batch)))
                    ahead.extend(islice(copies, 1))
                done, outputs = waiting.popleft()
                yield done, outputs.result()

    def _ready_for(self, batch: Batch) -> WholeEngine | Session:
        if isinstance(self._ready, WholeEngine):
            return self._ready
        wider = {name: self._widened(name, batch[name].shape) for name in self._varying}
        if self._ready is None or wider != self._bounds:
            self._bounds = wider
            self._ready = self._open(batch)
        return self._ready

    def _widened(self, name: str, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        low, high = self._bounds.get(name, (shape, shape))
        return tuple(map(min, low, shape)), tuple(map(max, high, shape))

    def _open(self, batch: Batch) -> WholeEngine | Session:
        if self._ready is None:
            threads = max(1, _cores() // self._at_once) if self._at_once > 1 else 0
            with suppress(EngineBuildError):
                return WholeEngine(self._program, threads)
        profile = {name: (low, tuple(batch[name].shape), high) for name, (low, high) in self._bounds.items()}
        return finish(self._program, PassContext(("cpu",), (profile,) if profile else ())).session("cpu")


def _copy(batch: Batch) -> Batch:
    """The same batch in memory of its own: whoever gives the next one may write it over this one."""
    return {name: array.copy() for name, array in batch.items()}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
