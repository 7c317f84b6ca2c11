"""Small pieces that several emitters need: shapes as tensors, reshapes, transposes, ranges."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from ....errors import EngineBuildError
from ....ir.values import rank_of
from ..scope import Scope

__all__ = [
    "dims_of",
    "range_to",
    "rank_of",
    "reshape",
    "shape_i64",
    "size_of",
    "transpose",
    "unsqueeze",
    "vector",
]


def dims_of(value: ir.Value) -> list[int]:
    """The static shape, -1 where a dimension varies."""
    kind = ir.RankedTensorType(value.type)
    return [-1 if kind.is_dynamic_dim(n) else kind.get_dim_size(n) for n in range(kind.rank)]


def shape_i64(scope: Scope, name: str) -> str:
    """The shape of an ONNX value, a vector of i64."""
    return scope.op("Shape", [name])


def size_of(scope: Scope, name: str, axis: int) -> str:
    """The length of one axis, of rank 1."""
    return scope.ops("Shape", [name], 1, start=axis, end=axis + 1)[0]


def vector(scope: Scope, value: ir.Value) -> str:
    """A shape operand as i64."""
    return scope.cast(scope.tensor(value), "i64")


def reshape(scope: Scope, name: str, shape: Sequence[int] | str, *, literal_zero: bool = False) -> str:
    """Reshape to numbers (0 copies a dimension unless `literal_zero`) or to a vector of i64."""
    target = shape if isinstance(shape, str) else scope.literal(list(shape)) if shape else _empty(scope)
    return scope.op("Reshape", [name, target], allowzero=1 if literal_zero else None)


def _empty(scope: Scope) -> str:
    return scope.literal([], "i64")


def transpose(scope: Scope, name: str, permutation: Sequence[int]) -> str:
    """Permute the axes; the name itself if nothing moves."""
    order = list(permutation)
    return name if order == list(range(len(order))) else scope.op("Transpose", [name], perm=order)


def unsqueeze(scope: Scope, name: str, axes: Sequence[int]) -> str:
    """Insert axes of length 1 at places of the result."""
    return scope.op("Unsqueeze", [name, scope.literal(list(axes))]) if axes else name


def range_to(scope: Scope, size: str | int) -> str:
    """0, 1, .. size - 1 as i64; `size` is a number or the name of a vector of one i64."""
    if isinstance(size, int):
        return scope.literal(list(range(size)))
    end = scope.op("Squeeze", [size])
    return scope.op("Range", [scope.literal(0), end, scope.literal(1)])


def refuse(reason: str, hint: str | None = None) -> EngineBuildError:
    """The error to raise for what has no form here."""
    return EngineBuildError(reason, hint=hint)
