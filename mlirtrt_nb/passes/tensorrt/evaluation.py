"""What a tensorrt op computes from constants, in NumPy: ops that shapes, indices and masks are made with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from torch_mlir import ir

from ...ir import dtypes, shapes
from ...ir.builder import Op

__all__ = ["EVALUATED", "evaluate"]

Array = np.ndarray
Find = Callable[[ir.Value | None], Array | None]


def evaluate(op: Op, find: Find) -> Array | None:
    """The op's one result, of its declared type; None where NumPy may differ from TensorRT.

    Args:
        op: a live op, one of `EVALUATED`, whose result type is static.
        find: the array of an operand; None for one that is absent.
    """
    kind = ir.RankedTensorType(op.operation.results[0].type)
    with np.errstate(all="ignore"):
        found = _RULES[op.definition.mnemonic](op, find, kind)
    if found is None or list(found.shape) != kind.shape:
        return None
    dtype = dtypes.by_mlir(kind.element_type).np
    return found if found.dtype == dtype else None


def _is_safe(*arrays: Array) -> bool:
    """Of types that are NumPy's own, and without NaN, which kernels order differently."""
    return all(a.dtype.kind in "fiub" for a in arrays) and not any(
        bool(np.isnan(a).any()) for a in arrays if _is_float(a.dtype)
    )


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f"


def _quotient(a: Array, b: Array) -> Array | None:
    if _is_float(a.dtype):
        return a / b
    if not b.all():
        return None
    # Integer division goes towards zero; the quotient's magnitude is exact in integers.
    magnitude = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), magnitude, -magnitude).astype(a.dtype)


def _floor_quotient(a: Array, b: Array) -> Array | None:
    return np.floor(a / b) if _is_float(a.dtype) else (a // b if b.all() else None)


def _power(a: Array, b: Array) -> Array | None:
    return a**b if _is_float(a.dtype) else None


_BINARY: dict[str, Callable[[Array, Array], Array | None]] = {
    "kSUM": np.add,
    "kSUB": np.subtract,
    "kPROD": np.multiply,
    "kMAX": np.maximum,
    "kMIN": np.minimum,
    "kDIV": _quotient,
    "kFLOOR_DIV": _floor_quotient,
    "kPOW": _power,
    "kAND": np.logical_and,
    "kOR": np.logical_or,
    "kXOR": np.logical_xor,
    "kEQUAL": np.equal,
    "kGREATER": np.greater,
    "kLESS": np.less,
}
_UNARY: dict[str, Callable[[Array], Array]] = {
    "kNEG": np.negative,
    "kABS": np.abs,
    "kNOT": np.logical_not,
    "kSIGN": np.sign,
    "kSQRT": np.sqrt,
    "kEXP": np.exp,
    "kLOG": np.log,
    "kFLOOR": np.floor,
    "kCEIL": np.ceil,
    "kROUND": np.rint,
    "kRECIP": np.reciprocal,
}


def _element_wise(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    rule = _BINARY.get(op.attr("elementwiseOperation"))
    a, b = find(op.operand("input1")), find(op.operand("input2"))
    return rule(a, b) if rule and a is not None and b is not None and _is_safe(a, b) else None


def _unary(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    rule, x = _UNARY.get(op.attr("unaryOperation")), find(op.operand("input"))
    return rule(x) if rule and x is not None and _is_safe(x) else None


def _cast(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    x = find(op.operand("input"))
    target = dtypes.by_mlir(kind.element_type).np
    if x is None or x.dtype.kind not in "fiub" or target.kind not in "fiub":
        return None
    if _is_float(x.dtype) and target.kind in "iu" and not _fits(x, target):
        return None
    return x.astype(target)


def _fits(x: Array, target: np.dtype) -> bool:
    """Whether the values of floats are in the range of an integer type."""
    bounds, wide = np.iinfo(target), x.astype(np.float64)
    return bool(np.all((wide >= float(bounds.min)) & (wide < float(bounds.max))))


def _select(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    condition, one, other = (find(value) for value in op.operation.operands)
    if condition is None or one is None or other is None:
        return None
    return np.where(condition, one, other)


def _shape(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    """Needs no constant: a static type is enough."""
    source = op.type("input").shape
    return np.array(source, dtypes.by_mlir(kind.element_type).np) if shapes.is_static(source) else None


def _reshape(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    x = find(op.operand("input"))
    return None if x is None else x.reshape(kind.shape)


def _transpose(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    x = find(op.operand("input"))
    order = [ir.AffineDimExpr(result).position for result in op.attr("permutation").results]
    return None if x is None else x.transpose(order)


def _shuffle(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    x, first, second = find(op.operand("input")), op.attr("first_transpose"), op.attr("second_transpose")
    if x is None:
        return None
    middle = [0] * kind.rank
    for place, dim in zip(second, kind.shape, strict=True):
        middle[place] = dim
    return x.transpose(first).reshape(middle).transpose(second)


def _broadcast(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    x, places = find(op.operand("input")), op.attr("broadcast_dims")
    if x is None:
        return None
    order = sorted(range(len(places)), key=places.__getitem__)
    dims = [1] * kind.rank
    for n in order:
        dims[places[n]] = x.shape[n]
    return np.broadcast_to(x.transpose(order).reshape(dims), kind.shape)


def _slice(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    x = find(op.operand("input"))
    parts = [_part(op, find, name) for name in ("start", "size", "stride")]
    if x is None or op.attr("mode") != "kDEFAULT" or any(part is None for part in parts):
        return None
    for axis, (start, size, stride) in enumerate(zip(*parts, strict=True)):  # type: ignore[arg-type]
        places = start + stride * np.arange(size)
        if size and (places.min() < 0 or places.max() >= x.shape[axis]):
            return None
        x = x.take(places, axis)
    return x


def _part(op: Op, find: Find, name: str) -> Sequence[int] | None:
    static, value = op.attr(f"static_{name}"), op.operand(name)
    if value is None:
        return static  # type: ignore[no-any-return]
    found = find(value)
    return None if found is None else found.tolist()


def _concatenation(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    arrays = [find(value) for value in op.group("inputs")]
    given = [array for array in arrays if array is not None]
    return np.concatenate(given, op.attr("axis")) if len(given) == len(arrays) else None


def _gather(op: Op, find: Find, kind: ir.RankedTensorType) -> Array | None:
    data, indices = find(op.operand("data")), find(op.operand("indices"))
    axis = shapes.axis_of(op.attr("axis"), op.type("data").rank)
    if data is None or indices is None or axis is None or op.attr("numBroadcastDims"):
        return None
    length = data.shape[axis]
    if indices.size and (indices.min() < -length or indices.max() >= length):
        return None
    return data.take(indices, axis)


_RULES: dict[str, Callable[[Op, Find, ir.RankedTensorType], Array | None]] = {
    "element_wise": _element_wise,
    "unary": _unary,
    "cast": _cast,
    "identity": _cast,
    "select": _select,
    "shape": _shape,
    **dict.fromkeys(("reshape", "expand_rank", "collapse_rank", "squeeze", "unsqueeze"), _reshape),
    "transpose": _transpose,
    "shuffle": _shuffle,
    "broadcast": _broadcast,
    "slice": _slice,
    "concatenation": _concatenation,
    "gather": _gather,
}
# The mnemonics that `evaluate` knows.
EVALUATED = frozenset(_RULES)
