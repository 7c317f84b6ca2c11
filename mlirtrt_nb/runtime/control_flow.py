"""Branches and loops of a program, as functions of a call's values. Who decides is always the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir import dtypes
from .schedule import Buffer

__all__ = ["branch", "repeat"]

Values = list[Any]
Run = Callable[[Values], None]
Read = Callable[[Values], Any]
Put = Callable[[Values, int, np.ndarray, Any], None]


def branch(condition: Read, then: Sequence[Run], other: Sequence[Run]) -> Run:
    """Run `then` where the condition's one element is true, else `other`."""

    def run(values: Values) -> None:
        for step in then if condition(values).item() else other:
            step(values)

    return run


def repeat(
    number: int,
    trips: Read | None,
    going: Read | None,
    collected: Sequence[tuple[int, Buffer]],
    body: Sequence[Run],
    put: Put,
) -> Run:
    """Run `body` turn after turn.

    Args:
        number: the buffer that is told the number of the turn, an array of one i64.
        trips: the most turns; None for no limit.
        going: looked at before each turn; None if it always goes on.
        collected: what the body appends to.
        put: called with the values, the number of a buffer of `collected`, the array of what was appended to
            it, and what its value was before the loop.
    """

    def run(values: Values) -> None:
        most = None if trips is None else trips(values).item()
        before = [values[n] for n, _ in collected]
        for n, _ in collected:
            values[n] = []
        turn = 0
        while (most is None or turn < most) and (going is None or going(values).item()):
            values[number].fill(turn)
            for step in body:
                step(values)
            turn += 1
        for (n, buffer), earlier in zip(collected, before, strict=True):
            put(values, n, _joined(values[n], buffer), earlier)

    return run


def _joined(parts: Sequence[np.ndarray], buffer: Buffer) -> np.ndarray:
    """The parts along a new first axis; with none, an empty array in which what is not known is 0."""
    if parts:
        return np.stack(parts)
    kind = np.dtype(object) if buffer.dtype == "!onnx.string" else dtypes.by_mlir(buffer.dtype).np
    return np.empty((0, *(max(dim, 0) for dim in (buffer.shape or ())[1:])), kind)
