"""Runs a program before clustering on the CPU, on batches whose shapes may differ."""

from __future__ import annotations

import numpy as np

from ..compilation import finish
from ..passes.base import PassContext
from ..program import Program
from ..runtime.session import Session
from .batches import Batch

__all__ = ["Runner"]

_Bounds = dict[str, tuple[tuple[int, ...], tuple[int, ...]]]


class Runner:
    """A session on the CPU that is made anew, for a wider range of shapes, when a batch is out of range."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._varying = [
            spec.name for spec in program.inputs if not all(isinstance(d, int) for d in spec.shape)
        ]
        self._bounds: _Bounds = {}
        self._session: Session | None = None

    def run(self, batch: Batch) -> dict[str, np.ndarray]:
        """The outputs of one batch by name."""
        wider = {name: self._widened(name, batch[name].shape) for name in self._varying}
        if self._session is None or wider != self._bounds:
            self._bounds = wider
            self._session = self._open(batch)
        return dict(self._session.run(batch))

    def _widened(self, name: str, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        low, high = self._bounds.get(name, (shape, shape))
        return tuple(map(min, low, shape)), tuple(map(max, high, shape))

    def _open(self, batch: Batch) -> Session:
        profile = {name: (low, tuple(batch[name].shape), high) for name, (low, high) in self._bounds.items()}
        context = PassContext(("cpu",), (profile,) if profile else ())
        return finish(self._program, context).session("cpu")
