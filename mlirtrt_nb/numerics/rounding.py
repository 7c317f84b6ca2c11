"""Rounding as the element types do it: casts, quantization and dequantization, in NumPy and ml_dtypes.

All roundings are to nearest, ties to even. Quantization saturates; a cast to a float type with infinities
overflows to infinity, and one to f8E4M3FN, which has none, saturates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..ir import dtypes

__all__ = ["WIDE", "cast", "dequantize", "is_low_precision", "quantize", "widen"]

Array = np.ndarray

# Floating-point types in which no op computes: values are widened, computed on, and rounded back. Twice a
# type's precision and two bits more make the second rounding harmless for +, -, *, / and sqrt.
_NARROW = frozenset({"f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"})
# What narrow types are widened to.
WIDE = "f32"

# Largest magnitude of the float types that saturate.
_LARGEST = {"f8E4M3FN": 448.0, "f8E4M3FNUZ": 240.0, "f8E5M2FNUZ": 57344.0, "f4E2M1FN": 6.0}
# Of fewer elements a call of ONNX Runtime costs more than it saves.
_FEW = 2048
_INTEGERS = {"i8": (-128, 127), "ui8": (0, 255), "i4": (-8, 7), "ui4": (0, 15)}


def is_low_precision(element: str) -> bool:
    """Whether an MLIR element type is a float narrower than f32."""
    return element in _NARROW


def widen(array: Array) -> Array:
    """A narrow float array as f32, exactly; any other array as it is."""
    element = dtypes.by_numpy(array.dtype).mlir
    if element == "f16":
        return _converted(array, "f32")
    return array.astype(np.float32) if element in _NARROW else array


def _converted(array: Array, element: str) -> Array:
    """Between f32 and f16. NumPy does it in software at 7 ns an element, ONNX Runtime at half a nanosecond."""
    if array.size < _FEW or array.dtype not in (np.float32, np.float16):
        return array.astype(dtypes.by_mlir(element).np)
    found: Array = _conversion(dtypes.by_numpy(array.dtype).mlir, element).run(["y"], {"x": array}, None)[0]
    return found


@cache
def _conversion(source: str, target: str) -> Any:
    """ONNX Runtime's own session of one Cast."""
    from onnx import helper

    from ..dialects.onnx.ort_session import open_session

    kinds = [dtypes.by_mlir(element).onnx for element in (source, target)]
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=kinds[1])],
        "conversion",
        [helper.make_tensor_value_info("x", kinds[0], None)],
        [helper.make_tensor_value_info("y", kinds[1], None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return open_session(model.SerializeToString(), {}).session._sess


def cast(array: Array, element: str) -> Array:
    """`array` in another element type, by MLIR's spelling; itself if it has that type.

    Floats become integers by truncation towards zero, saturating, NaN as 0; anything becomes i1 by
    comparison with zero.
    """
    target = dtypes.by_mlir(element).np
    if array.dtype == target:
        return array
    wide = widen(array)
    with np.errstate(all="ignore"):
        if element in _LARGEST:
            return _saturated(wide.astype(np.float32), element)
        if target.kind == "b":
            return wide != 0
        if wide.dtype.kind == "f" and element not in _NARROW and target.kind != "f":
            return _truncated(wide, element)
        return _converted(wide, element) if element == "f16" else wide.astype(target)


def _saturated(wide: Array, element: str) -> Array:
    limit = np.float32(_LARGEST[element])
    return np.clip(wide, -limit, limit).astype(dtypes.by_mlir(element).np)


def _truncated(wide: Array, element: str) -> Array:
    target = dtypes.by_mlir(element).np
    if element in _INTEGERS:
        low, high = _INTEGERS[element]
        return np.clip(np.trunc(np.nan_to_num(wide, nan=0.0)), low, high).astype(np.int32).astype(target)
    bounds = np.iinfo(target)
    clipped = np.clip(np.nan_to_num(wide.astype(np.float64), nan=0.0), float(bounds.min), float(bounds.max))
    # The largest 64-bit integers have no float64: what rounds up to 2^63 must stay below it.
    return np.where(clipped >= float(bounds.max), bounds.max, clipped.astype(target)).astype(target)


def quantize(
    array: Array, scale: Array, element: str, axis: int | None = None, block: Sequence[int] | None = None
) -> Array:
    """round(array / scale), saturated to `element` ("i8", "f8E4M3FN", "i4"); a NaN becomes 0 in integers.

    Args:
        scale: one number, one per position of `axis`, or one per block of `array`.
        block: elements per block and dimension, where blocks do not divide a dimension evenly.
    """
    with np.errstate(all="ignore"):
        wide = widen(array).astype(np.float32, copy=False)
        ratio = np.asarray(wide / _spread(widen(scale), array.shape, axis, block))
        if element not in _INTEGERS:
            return _saturated(ratio, element)
        low, high = _INTEGERS[element]
        np.clip(np.rint(ratio, out=ratio), low, high, out=ratio)
    broken = np.isnan(ratio)
    if broken.any():
        ratio[broken] = 0
    return ratio.astype(np.int8 if low < 0 else np.uint8).astype(dtypes.by_mlir(element).np, copy=False)


def dequantize(
    array: Array, scale: Array, element: str, axis: int | None = None, block: Sequence[int] | None = None
) -> Array:
    """array * scale, rounded to `element`; the other arguments as for `quantize`."""
    product = array.astype(np.float32) * _spread(widen(scale), array.shape, axis, block)
    return cast(product, element)


def _spread(scale: Array, shape: tuple[int, ...], axis: int | None, block: Sequence[int] | None) -> Array:
    """The scale in a shape that broadcasts against `shape`."""
    scale = scale.astype(np.float32)
    if scale.ndim == 0 or scale.size == 1:
        return scale.reshape(())
    if scale.ndim == 1 and (axis is not None or len(shape) == 1):
        lengths = [1] * len(shape)
        lengths[axis or 0] = scale.size
        return scale.reshape(lengths)
    for dim, (size, count) in enumerate(zip(shape, scale.shape, strict=True)):
        if size != count:
            each = block[dim] if block is not None else -(-size // count)
            scale = np.repeat(scale, each, axis=dim).take(np.arange(size), axis=dim)
    return scale
