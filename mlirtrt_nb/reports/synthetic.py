"""Inputs for measuring when the user gives none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..ir import dtypes
from ..memory import no_room

if TYPE_CHECKING:
    from ..runtime.schedule import Signature

__all__ = ["synthetic_inputs"]


def synthetic_inputs(inputs: Sequence[Signature], seed: int = 0) -> list[np.ndarray]:
    """One array per input, of the first profile's opt shape where the shape varies.

    Floating-point values are from a normal distribution; integers are 0, which is a valid index everywhere;
    booleans are true.

    Raises InputError for an input whose shape is not known or that is no array of numbers, TargetError for one
    that this machine's memory does not hold.
    """
    rng = np.random.default_rng(seed)
    return [_array(signature, rng) for signature in inputs]


def _array(signature: Signature, rng: np.random.Generator) -> np.ndarray:
    shape = signature.ranges[0][1] if signature.ranges else signature.shape
    if signature.dtype.startswith("!") or shape is None or any(dim < 0 for dim in shape):
        raise InputError(
            f"no inputs can be made up for {signature.name!r} ({signature.dtype})", hint="give inputs="
        )
    dtype = dtypes.by_mlir(signature.dtype).np
    try:
        return _values(shape, dtype, rng)
    except MemoryError:
        raise no_room(f"input {signature.name!r}", math.prod(shape) * dtype.itemsize) from None


def _values(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    if dtype.kind in "iu":
        return np.zeros(shape, dtype)
    return rng.standard_normal(shape, dtype=np.float32).astype(dtype)
