"""NumPy arrays to and from ONNX Runtime's values, for every element type, also those that NumPy lacks."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ...ir import dtypes

__all__ = ["SPECIAL", "array_of", "is_numpys", "ort_value"]

_NUMBERS = "fiub"

# ONNX Runtime's spelling of the types that NumPy lacks -> MLIR's.
SPECIAL = {
    "tensor(bfloat16)": "bf16",
    "tensor(float8e4m3fn)": "f8E4M3FN",
    "tensor(float8e4m3fnuz)": "f8E4M3FNUZ",
    "tensor(float8e5m2)": "f8E5M2",
    "tensor(float8e5m2fnuz)": "f8E5M2FNUZ",
    "tensor(float8e8m0)": "f8E8M0FNU",
    "tensor(float4e2m1)": "f4E2M1FN",
    "tensor(int4)": "i4",
    "tensor(uint4)": "ui4",
    "tensor(int2)": "i2",
    "tensor(uint2)": "ui2",
}


def is_numpys(dtype: np.dtype) -> bool:
    """Whether a dtype is one of NumPy's numbers, whose arrays ONNX Runtime takes and gives as they are.

    ml_dtypes are not, though one of them, float8_e5m2, is of the kind "f" too. An unpickled dtype is no
    longer NumPy's own object (1), but neither is it a registered type (2).
    """
    return dtype.kind in _NUMBERS and dtype.isbuiltin != 2


def ort_value(array: np.ndarray) -> Any:
    """An OrtValue on the memory of `array`; only strided data and elements of less than a byte are copied."""
    import onnxruntime

    array = np.asarray(array, order="C")  # ascontiguousarray would give a scalar an axis
    if is_numpys(array.dtype) or array.dtype.kind == "O":
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    kind = dtypes.by_numpy(array.dtype)
    raw = array.view(np.uint16 if kind.bits == 16 else np.uint8)
    if kind.bits < 8:
        raw = _packed(raw, kind.bits)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, kind.onnx)


def _packed(raw: np.ndarray, bits: int) -> np.ndarray:
    """An array of the same shape whose first bytes hold the elements packed, low bits first."""
    packed = np.zeros_like(raw)
    per_byte = 8 // bits
    flat, out = raw.reshape(-1), packed.reshape(-1)
    for n in range(per_byte):
        part = (flat[n::per_byte] & ((1 << bits) - 1)) << (n * bits)
        out[: part.size] |= part.astype(np.uint8)
    return packed


def array_of(value: Any) -> np.ndarray:
    """The array of a tensor OrtValue (ONNX Runtime's own class or its wrapper), copied."""
    kind = SPECIAL.get(value.data_type())
    if kind is None:
        return value.numpy()
    entry = dtypes.by_mlir(kind)
    shape = tuple(value.shape())
    count = int(np.prod(shape))
    raw = np.frombuffer(ctypes.string_at(value.data_ptr(), entry.nbytes(count)), np.uint8)
    if entry.bits < 8:
        raw = _unpacked(raw, entry.bits, count, signed=kind.startswith("i"))
    return raw.view(entry.np).reshape(shape)


def _unpacked(raw: np.ndarray, bits: int, count: int, *, signed: bool) -> np.ndarray:
    """One element to a byte, sign-extended if `signed`."""
    per_byte = 8 // bits
    mask = (1 << bits) - 1
    out = np.stack([(raw >> (n * bits)) & mask for n in range(per_byte)], axis=-1).reshape(-1)[:count]
    if signed:
        out = ((out ^ (1 << (bits - 1))).astype(np.int8) - np.int8(1 << (bits - 1))).view(np.uint8)
    return np.ascontiguousarray(out)
