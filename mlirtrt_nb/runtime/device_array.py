"""Arrays in device memory: what a CUDA program passes between its steps, and what callers bind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..errors import InputError
from ..ir import dtypes

__all__ = ["DeviceArray", "device_array", "nbytes_of"]


@dataclass(frozen=True)
class DeviceArray:
    """Contiguous device memory. `owner` is whatever must live as long as it does."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype
    owner: Any = None

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How CuPy, PyTorch and Numba see it, without a copy."""
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3}


def device_array(value: Any, what: str) -> DeviceArray | None:
    """`value` as a DeviceArray if it lies on a GPU, else None.

    Takes what has `__cuda_array_interface__` (CuPy, PyTorch, Numba, JAX). Raises InputError for memory that is
    not contiguous, or that only DLPack describes and cuda-core is not there to read.
    """
    if isinstance(value, DeviceArray):
        return value
    try:
        described = getattr(value, "__cuda_array_interface__", None)
    except (AttributeError, TypeError, RuntimeError):  # PyTorch raises for host tensors and odd element types
        described = None
    if described is not None:
        shape, dtype = tuple(described["shape"]), np.dtype(described["typestr"])
        if described.get("strides") not in (None, _c_strides(shape, dtype.itemsize)):
            raise InputError(f"{what} is not contiguous", hint="make a contiguous copy first")
        return DeviceArray(described["data"][0], shape, dtype, value)
    if hasattr(value, "__dlpack_device__") and int(value.__dlpack_device__()[0]) == 2:  # kDLCUDA
        return _from_dlpack(value, what)
    return None


def _from_dlpack(value: Any, what: str) -> DeviceArray:
    try:
        from cuda.core.utils import StridedMemoryView
    except ImportError as error:
        raise InputError(
            f"{what} lies on a GPU and only DLPack describes it",
            hint="pip install 'mlirtrt_nb[cuda]' to read it",
        ) from error
    view = StridedMemoryView.from_dlpack(value, stream_ptr=-1)
    shape, dtype = tuple(view.shape), np.dtype(view.dtype)
    if view.strides is not None and tuple(s * dtype.itemsize for s in view.strides) != _c_strides(
        shape, dtype.itemsize
    ):
        raise InputError(f"{what} is not contiguous", hint="make a contiguous copy first")
    return DeviceArray(int(view.ptr), shape, dtype, (value, view))


def _c_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    return tuple(prod(shape[n + 1 :]) * itemsize for n in range(len(shape)))


def nbytes_of(shape: Sequence[int], dtype: str) -> int:
    """Bytes of a tensor of that shape and MLIR element type."""
    return dtypes.by_mlir(dtype).nbytes(prod(shape))
