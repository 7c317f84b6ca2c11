"""Runs a program and a variant of it side by side, and pairs the results of the ops that both have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir import dtypes
from . import rounding
from .interpreter import Executed, Interpreter, Step, Walk
from .op_types import CONVERSIONS

__all__ = ["Pair", "Side", "is_float", "pairs", "shared_steps"]


@dataclass
class Side:
    """An op that has run in one of the two programs, and its run."""

    walk: Walk
    executed: Executed

    @property
    def step(self) -> Step:
        return self.executed.step


@dataclass
class Pair:
    """One op as the reference and as the variant computed it."""

    reference: Side
    variant: Side

    def arrays(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The floating-point results of both, where they have the same shape."""
        for one, two in zip(self.reference.executed.results, self.variant.executed.results, strict=True):
            if is_float(one) and is_float(two) and one.shape == two.shape:
                yield one, two


def is_float(array: Any) -> bool:
    """Whether `array` is an array of one of the floating-point types, the narrow ones among them."""
    if not isinstance(array, np.ndarray) or array.dtype.kind in "OUSbiu":
        return False
    return dtypes.by_numpy(array.dtype).mlir.startswith(("f", "bf"))


def shared_steps(reference: Interpreter, variant: Interpreter) -> dict[int, int]:
    """Step of the variant -> step of the reference that is the same op, in an order that both keep."""
    places = {step.key: step.index for step in reference.steps if step.op not in CONVERSIONS}
    return {step.index: places[step.key] for step in variant.steps if step.key in places}


def pairs(
    reference: Interpreter,
    variant: Interpreter,
    inputs: Mapping[str, np.ndarray],
    *,
    forced: bool = False,
) -> Iterator[Pair]:
    """Each op that both programs have, once both have run it. Afterwards both runs have their outputs.

    Args:
        forced: after each pair the variant goes on with the reference's result, rounded to its own type: its
            next op then shows the error that it makes itself.
    """
    shared = shared_steps(reference, variant)
    ahead = _Ahead(reference.walk(inputs), set(shared.values()))
    walk = variant.walk(inputs)
    for executed in walk:
        if executed.step.index in shared:
            found = ahead.at(shared[executed.step.index])
            yield Pair(Side(ahead.walk, found), Side(walk, executed))
            if forced:
                executed.results = _in_types_of(executed.results, found.results)
    ahead.finish()


class _Ahead:
    """A run that is driven to a wanted op; the results that are wanted later wait."""

    def __init__(self, walk: Walk, wanted: set[int]) -> None:
        self.walk = walk
        self._steps = iter(walk)
        self._wanted = wanted
        self._waiting: dict[int, Executed] = {}

    def at(self, index: int) -> Executed:
        while index not in self._waiting:
            executed = next(self._steps)
            if executed.step.index in self._wanted:
                self._waiting[executed.step.index] = Executed(executed.step, list(executed.results))
        return self._waiting.pop(index)

    def finish(self) -> None:
        """Run what is left, so that the run has its outputs."""
        for _ in self._steps:
            pass


def _in_types_of(own: list[Any], others: list[Any]) -> list[Any]:
    """`others`, rounded to the element types of `own`."""
    made = []
    for mine, other in zip(own, others, strict=True):
        fits = isinstance(mine, np.ndarray) and isinstance(other, np.ndarray) and mine.shape == other.shape
        plain = fits and mine.dtype.kind not in "OUS"
        made.append(rounding.cast(other, dtypes.by_numpy(mine.dtype).mlir) if plain else mine)
    return made
