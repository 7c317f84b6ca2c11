"""Element types between MLIR and a TensorRT module."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...errors import EngineBuildError

__all__ = ["mlir_spelling", "tensorrt_type"]

_MEMBERS = {
    "f32": "FLOAT",
    "f16": "HALF",
    "bf16": "BF16",
    "i8": "INT8",
    "si8": "INT8",
    "ui8": "UINT8",
    "i32": "INT32",
    "si32": "INT32",
    "i64": "INT64",
    "si64": "INT64",
    "i1": "BOOL",
    "f8E4M3FN": "FP8",
    "i4": "INT4",
    "f4E2M1FN": "FP4",
    "f8E8M0FNU": "E8M0",
}
_SPELLINGS = {member: spelling for spelling, member in reversed(_MEMBERS.items())}


@cache
def tensorrt_type(trt: Any, spelling: str) -> Any:
    """The `DataType` of an MLIR element type ("f32"). Raises `EngineBuildError` if TensorRT has none."""
    member = _MEMBERS.get("i8" if spelling.startswith("!quant.uniform<i8") else spelling)
    found = getattr(trt.DataType, member, None) if member else None
    if found is None:
        raise EngineBuildError(
            f"TensorRT has no element type {spelling}", hint=f"cast to one of {', '.join(_MEMBERS)}"
        )
    return found


def mlir_spelling(dtype: Any) -> str:
    """The MLIR element type of a `DataType`."""
    return _SPELLINGS[dtype.name]
