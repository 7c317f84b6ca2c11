"""Weights handed to the builder without copying: a pointer into the program's own arrays.

The builder reads through the pointer while it builds, so the bank keeps every array alive until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch_mlir import ir

from ...errors import EngineBuildError
from ...ir import constants, dtypes
from ...ir.nibbles import pack
from .types import tensorrt_type

__all__ = ["WeightBank"]

_ELIDED = "__elided__"


class WeightBank:
    """Makes `trt.Weights` from attributes; lives as long as the network that uses them."""

    def __init__(self, trt: Any, table: Mapping[str, np.ndarray]) -> None:
        self._trt = trt
        self._table = table
        self._kept: list[Any] = []

    def weights(self, attribute: ir.Attribute) -> Any:
        """The weights of a `dense` or `dense_resource` attribute, aliasing its bytes.

        Copied only where TensorRT lays values out otherwise: splats, strided arrays and 4-bit types.
        Raises `EngineBuildError` for a handle whose array is not in the table, or not of its type.
        """
        shaped = ir.RankedTensorType(attribute.type)  # type: ignore[attr-defined]
        spelling = str(shaped.element_type)
        count = int(np.prod(shaped.shape, dtype=np.int64))
        if count == 0:
            return self._trt.Weights(tensorrt_type(self._trt, spelling))  # refused with an address
        array = np.ascontiguousarray(self._array(attribute, shaped))
        if dtypes.by_mlir(spelling).bits == 4:
            array = _packed(array, count)
        self._kept.append(array)
        address = array.__array_interface__["data"][0]
        return self._trt.Weights(tensorrt_type(self._trt, spelling), address, count)

    def integers(self, values: Sequence[int], element: str = "i64") -> Any:
        """Weights of a few integers, for axes and shapes."""
        array = np.array(values, dtypes.by_mlir(element).np)
        self._kept.append(array)
        return self._trt.Weights(
            tensorrt_type(self._trt, element), array.__array_interface__["data"][0], array.size
        )

    def _array(self, attribute: ir.Attribute, shaped: ir.RankedTensorType) -> np.ndarray:
        name = constants.handle_name(attribute)
        if name is None:
            return self._dense(attribute)
        if name in self._table:
            return _fitting(name, self._table[name], shaped)
        if name == _ELIDED:  # printed without its bytes: builds as zeros, so that such text still compiles
            return np.zeros(shaped.shape, dtypes.by_mlir(shaped.element_type).np)
        raise EngineBuildError(f"the weights named {name!r} are not in the program's table")

    def _dense(self, attribute: ir.Attribute) -> np.ndarray:
        self._kept.append(attribute)
        try:
            return np.asarray(memoryview(attribute))  # type: ignore[arg-type]
        except (TypeError, ValueError, BufferError):  # element types without a Python buffer, and empty ones
            return constants.value_of(attribute, {})


def _fitting(name: str, array: np.ndarray, shaped: ir.RankedTensorType) -> np.ndarray:
    """`array`, which TensorRT reads as the type says, by address alone."""
    kind = dtypes.by_mlir(shaped.element_type)
    count = int(np.prod(shaped.shape, dtype=np.int64))
    packed = kind.bits == 4 and array.dtype.itemsize == 1 and array.size == kind.nbytes(count)
    if not packed and (array.dtype != kind.np or array.size != count):
        found = f"an array of {array.dtype}, {array.size} values"
        raise EngineBuildError(f"the weights named {name!r} are {found}; their type is {shaped}")
    return array


def _packed(array: np.ndarray, count: int) -> np.ndarray:
    """Two 4-bit values a byte, low nibble first. An array that has that size already is packed."""
    flat = array.reshape(-1).view(np.uint8)
    return flat if flat.size == (count + 1) // 2 and count > 1 else pack(flat)
