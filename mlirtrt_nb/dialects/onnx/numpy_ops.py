"""ONNX ops on NumPy arrays: those that shape arithmetic and reshaping of weights are made of.

Only ops whose NumPy result is the exact ONNX result are here. A function returns None where the values are
outside what ONNX defines (an index out of range, a division by zero); the op then stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, Final

import numpy as np

from ...ir import dtypes
from ...ir.builder import Op

__all__ = ["compute", "knows"]

Arrays = Sequence[np.ndarray | None]
_Function = Callable[[Op, Arrays], Any]
# ml_dtypes' own arithmetic rounds differently from runtimes in corner cases, so those types are left alone.
_PLAIN: Final = "fiub"


def knows(name: str) -> bool:
    """Whether `compute` can do the op ("onnx.concat")."""
    return name in _TABLE


def compute(op: Op, arrays: Arrays) -> np.ndarray | None:
    """The op's first result from its operands' values (None for an absent one), or None if undefined.

    The result may be a view of an operand.
    """
    if any(array is not None and array.dtype.kind not in _PLAIN for array in arrays) and op.name not in _MOVING:
        return None
    with np.errstate(all="ignore"):
        try:
            found = _TABLE[op.name](op, arrays)
        except (ValueError, IndexError, OverflowError, TypeError):
            return None
    return None if found is None else np.asarray(found)


def _at(arrays: Arrays, index: int) -> np.ndarray | None:
    return arrays[index] if index < len(arrays) else None


def _ints(op: Op, arrays: Arrays, name: str, index: int) -> list[int] | None:
    """A list that older opsets have as an attribute and newer ones as an operand."""
    given = op.attr(name)
    if given is not None:
        return [int(v) for v in given]
    array = _at(arrays, index)
    return None if array is None else [int(v) for v in array.reshape(-1)]


def _elementwise(function: Callable[..., Any]) -> _Function:
    def run(op: Op, arrays: Arrays) -> Any:
        first = arrays[0]
        assert first is not None
        # NumPy promotes scalars and small types; ONNX keeps the operands' type.
        return function(*arrays).astype(first.dtype, copy=False)

    return run


def _compare(function: Callable[..., Any]) -> _Function:
    return lambda op, arrays: function(*arrays)


def _many(function: Callable[..., Any]) -> _Function:
    def run(op: Op, arrays: Arrays) -> Any:
        result = arrays[0]
        for array in arrays[1:]:
            result = function(result, array)
        return result

    return run


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f":
        return a / b
    if not np.all(b):
        raise ValueError("division by zero")
    if a.dtype.kind == "u":
        return a // b
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def _mod(op: Op, arrays: Arrays) -> Any:
    a, b = arrays
    assert a is not None and b is not None
    if b.dtype.kind != "f" and not np.all(b):
        return None
    return (np.fmod if op.attr("fmod") else np.mod)(a, b).astype(a.dtype, copy=False)


def _cast(op: Op, arrays: Arrays) -> Any:
    array, to = arrays[0], op.attr("to")
    assert array is not None
    if not isinstance(to, int):
        return None
    try:
        kind = dtypes.by_onnx(to)
    except KeyError:
        return None
    if kind.np.kind not in _PLAIN:
        return None
    if array.dtype.kind == "f" and kind.np.kind in "iu":
        limits = np.iinfo(kind.np)
        # Out of range is undefined; the margin also covers limits that the float type cannot hold.
        if not np.all(np.isfinite(array)) or np.any(array <= limits.min - 1) or np.any(array >= limits.max):
            return None
    return array.astype(kind.np, copy=False)


def _gather(op: Op, arrays: Arrays) -> Any:
    data, indices = arrays
    assert data is not None and indices is not None
    return np.take(data, indices, axis=op.attr("axis") or 0)


def _slice(op: Op, arrays: Arrays) -> Any:
    data = arrays[0]
    assert data is not None
    starts, ends = _ints(op, arrays, "starts", 1), _ints(op, arrays, "ends", 2)
    if starts is None or ends is None:
        return None
    axes = _ints(op, arrays, "axes", 3) or list(range(len(starts)))
    steps = _ints(op, arrays, "steps", 4) or [1] * len(starts)
    index: list[Any] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        index[axis] = _bounds(start, end, step, data.shape[axis])
    return data[tuple(index)]


def _bounds(start: int, end: int, step: int, size: int) -> slice:
    """ONNX's clamping of one axis of a Slice, as a Python slice."""
    low, high = (0, size) if step > 0 else (-1, size - 1)
    start = min(max(start + size if start < 0 else start, 0), high)
    end = min(max(end + size if end < 0 else end, low), high if step > 0 else size)
    return slice(start, None if end < 0 else end, step)


def _squeeze(op: Op, arrays: Arrays) -> Any:
    data = arrays[0]
    assert data is not None
    axes = _ints(op, arrays, "axes", 1)
    return np.squeeze(data, None if axes is None else tuple(axes))


def _unsqueeze(op: Op, arrays: Arrays) -> Any:
    data, axes = arrays[0], _ints(op, arrays, "axes", 1)
    assert data is not None
    return None if axes is None else np.expand_dims(data, tuple(axes))


def _reshape(op: Op, arrays: Arrays) -> Any:
    data, shape = arrays[0], _ints(op, arrays, "shape", 1)
    assert data is not None
    if shape is None:
        return None
    if not op.attr("allowzero"):
        shape = [data.shape[i] if d == 0 else d for i, d in enumerate(shape)]
    return data.reshape(shape)


def _transpose(op: Op, arrays: Arrays) -> Any:
    data = arrays[0]
    assert data is not None
    return np.asarray(np.transpose(data, op.attr("perm")), order="C")


def _concat(op: Op, arrays: Arrays) -> Any:
    return np.concatenate([a for a in arrays if a is not None], axis=op.attr("axis") or 0)


def _expand(op: Op, arrays: Arrays) -> Any:
    data, shape = arrays
    assert data is not None and shape is not None
    wanted = np.broadcast_shapes(data.shape, tuple(int(d) for d in shape))
    return np.asarray(np.broadcast_to(data, wanted), order="C")  # ascontiguousarray gives a scalar an axis


def _where(op: Op, arrays: Arrays) -> Any:
    condition, a, b = arrays
    assert condition is not None and a is not None and b is not None
    return np.where(condition, a, b).astype(a.dtype, copy=False)


def _range(op: Op, arrays: Arrays) -> Any:
    start, limit, delta = (a.reshape(()) for a in arrays if a is not None)
    if start.dtype.kind != "i" or not delta:
        return None
    count = max(ceil((int(limit) - int(start)) / int(delta)), 0)
    return (int(start) + np.arange(count, dtype=np.int64) * int(delta)).astype(start.dtype)


def _constant_of_shape(op: Op, arrays: Arrays) -> Any:
    shape, value = arrays[0], op.raw("value")
    assert shape is not None
    if value is None:
        return np.zeros(shape, np.float32)
    fill = np.array(value)
    return np.full(tuple(int(d) for d in shape), fill.reshape(()), fill.dtype)


def _shape(op: Op, arrays: Arrays) -> Any:
    assert arrays[0] is not None
    return np.array(arrays[0].shape, np.int64)[op.attr("start") or 0 : op.attr("end")]


def _size(op: Op, arrays: Arrays) -> Any:
    assert arrays[0] is not None
    return np.array(arrays[0].size, np.int64)


def _reduce(function: Callable[..., Any]) -> _Function:
    def run(op: Op, arrays: Arrays) -> Any:
        data, axes = arrays[0], _ints(op, arrays, "axes", 1)
        assert data is not None
        if data.dtype.kind == "f" and function in (np.sum, np.prod):
            return None  # the order of additions matters
        if not axes and op.attr("noop_with_empty_axes"):
            return data
        keep = op.attr("keepdims")
        found = function(data, axis=tuple(axes) if axes else None, keepdims=keep is None or bool(keep))
        return np.asarray(found).astype(data.dtype, copy=False)

    return run


_TABLE: Final[dict[str, _Function]] = {
    "onnx.identity": lambda op, arrays: arrays[0],
    "onnx.cast": _cast,
    "onnx.gather": _gather,
    "onnx.slice": _slice,
    "onnx.squeeze": _squeeze,
    "onnx.unsqueeze": _unsqueeze,
    "onnx.reshape": _reshape,
    "onnx.transpose": _transpose,
    "onnx.concat": _concat,
    "onnx.expand": _expand,
    "onnx.where": _where,
    "onnx.range": _range,
    "onnx.constantofshape": _constant_of_shape,
    "onnx.shape": _shape,
    "onnx.size": _size,
    "onnx.add": _elementwise(np.add),
    "onnx.sub": _elementwise(np.subtract),
    "onnx.mul": _elementwise(np.multiply),
    "onnx.div": _elementwise(_divide),
    "onnx.mod": _mod,
    "onnx.neg": _elementwise(np.negative),
    "onnx.abs": _elementwise(np.abs),
    "onnx.floor": _elementwise(np.floor),
    "onnx.ceil": _elementwise(np.ceil),
    "onnx.sqrt": _elementwise(np.sqrt),
    "onnx.min": _many(np.minimum),
    "onnx.max": _many(np.maximum),
    "onnx.equal": _compare(np.equal),
    "onnx.greater": _compare(np.greater),
    "onnx.greaterorequal": _compare(np.greater_equal),
    "onnx.less": _compare(np.less),
    "onnx.lessorequal": _compare(np.less_equal),
    "onnx.and": _compare(np.logical_and),
    "onnx.or": _compare(np.logical_or),
    "onnx.xor": _compare(np.logical_xor),
    "onnx.not": _compare(np.logical_not),
    "onnx.reduceprod": _reduce(np.prod),
    "onnx.reducesum": _reduce(np.sum),
    "onnx.reducemin": _reduce(np.min),
    "onnx.reducemax": _reduce(np.max),
}
# Ops that only move elements, so any element type will do.
_MOVING_NAMES: Final = (
    "concat expand gather identity reshape shape size slice squeeze transpose unsqueeze where"
)
_MOVING: Final = frozenset(f"onnx.{name}" for name in _MOVING_NAMES.split())
