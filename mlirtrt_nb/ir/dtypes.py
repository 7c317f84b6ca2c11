"""Element types: MLIR spelling, NumPy dtype, ONNX number, bits. One table for the whole package."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = ["DType", "by_mlir", "by_numpy", "by_onnx"]


@dataclass(frozen=True)
class DType:
    """One element type. `numpy` is the dtype's name (an ml_dtypes name where NumPy has none)."""

    mlir: str
    numpy: str
    onnx: int
    bits: int

    @property
    def np(self) -> np.dtype:
        """The NumPy dtype; importing ml_dtypes only for types that NumPy lacks."""
        return _numpy_dtype(self.numpy)

    def nbytes(self, count: int) -> int:
        """Bytes of `count` packed elements, rounded up."""
        return (count * self.bits + 7) // 8


# ONNX numbers are TensorProto.DataType (onnx.proto). Signless iN is ONNX's signed intN, uiN its unsigned.
_TABLE = (
    DType("f32", "float32", 1, 32),
    DType("ui8", "uint8", 2, 8),
    DType("i8", "int8", 3, 8),
    DType("ui16", "uint16", 4, 16),
    DType("i16", "int16", 5, 16),
    DType("i32", "int32", 6, 32),
    DType("i64", "int64", 7, 64),
    DType("i1", "bool", 9, 8),
    DType("f16", "float16", 10, 16),
    DType("f64", "float64", 11, 64),
    DType("ui32", "uint32", 12, 32),
    DType("ui64", "uint64", 13, 64),
    DType("bf16", "bfloat16", 16, 16),
    DType("f8E4M3FN", "float8_e4m3fn", 17, 8),
    DType("f8E4M3FNUZ", "float8_e4m3fnuz", 18, 8),
    DType("f8E5M2", "float8_e5m2", 19, 8),
    DType("f8E5M2FNUZ", "float8_e5m2fnuz", 20, 8),
    DType("ui4", "uint4", 21, 4),
    DType("i4", "int4", 22, 4),
    DType("f4E2M1FN", "float4_e2m1fn", 23, 4),
    DType("f8E8M0FNU", "float8_e8m0fnu", 24, 8),
    DType("ui2", "uint2", 25, 2),
    DType("i2", "int2", 26, 2),
    DType("f6E2M3FN", "float6_e2m3fn", 27, 6),
    DType("f6E3M2FN", "float6_e3m2fn", 28, 6),
    DType("complex<f32>", "complex64", 14, 64),
    DType("complex<f64>", "complex128", 15, 128),
)
_MLIR = {t.mlir: t for t in _TABLE}
_MLIR["index"] = _MLIR["i64"]  # as it lies in memory on every machine that this package runs on
_NUMPY = {t.numpy: t for t in _TABLE}
_ONNX = {t.onnx: t for t in _TABLE}


@cache
def _numpy_dtype(name: str) -> np.dtype:
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def by_mlir(spelling: object) -> DType:
    """The entry for an MLIR element type (`f32`, or an `ir.Type`); an `index` is an `i64`.

    Raises KeyError if there is none.
    """
    return _MLIR[str(spelling)]


@cache
def by_numpy(dtype: object) -> DType:
    """The entry for a NumPy dtype. Raises KeyError if there is none."""
    return _NUMPY[np.dtype(dtype).name]  # type: ignore[call-overload]


def by_onnx(number: int) -> DType:
    """The entry for an ONNX TensorProto.DataType number. Raises KeyError if there is none (8 is string)."""
    return _ONNX[number]
