"""The table of encoders: op name -> how the op becomes layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....ir.builder import Op
from ..scope import Scope

__all__ = ["ENCODERS", "Encoder", "axes_mask", "encodes", "member"]

# Gives the tensors of the op's results, in order; one bare for one result.
Encoder = Callable[[Scope, Op], Any]

ENCODERS: dict[str, Encoder] = {}


def encodes(*names: str) -> Callable[[Encoder], Encoder]:
    """Register the function as the encoder of the tensorrt ops `names` (without the dialect)."""

    def register(function: Encoder) -> Encoder:
        for name in names:
            ENCODERS[f"tensorrt.{name}"] = function
        return function

    return register


def member(enum: Any, spelling: str) -> Any:
    """The member of a TensorRT enum for the dialect's spelling: "kRELU" -> enum.RELU."""
    return getattr(enum, spelling[1:])


def axes_mask(axes: Sequence[int], rank: int) -> int:
    """TensorRT's bit mask of a list of axes; negative ones count from the end."""
    mask = 0
    for axis in axes:
        mask |= 1 << (axis + rank if axis < 0 else axis)
    return mask
