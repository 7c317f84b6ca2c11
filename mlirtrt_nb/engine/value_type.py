"""How the layers of a report say a value's type: shape, element type and size."""

from __future__ import annotations

import math

from torch_mlir import ir

from ..ir import dtypes

__all__ = ["described"]


def described(kind: ir.Type | None) -> tuple[str, str, int | None]:
    """Shape ("1x?x8"), MLIR element type and size of a value; the size only if it is known."""
    if not isinstance(kind, ir.RankedTensorType | ir.MemRefType):
        return "", "" if kind is None else str(kind), None
    dims = [None if kind.is_dynamic_dim(n) else kind.get_dim_size(n) for n in range(kind.rank)]
    element = str(kind.element_type)
    return "x".join("?" if d is None else str(d) for d in dims), element, _bytes(dims, element)


def _bytes(dims: list[int | None], element: str) -> int | None:
    known = [dim for dim in dims if dim is not None]
    if len(known) < len(dims) or element == "!onnx.string":
        return None
    try:
        return dtypes.by_mlir(element).nbytes(math.prod(known))
    except KeyError:  # an element that no array has: an index, a vector
        return None
