"""What can be wrong with the scales of a quantization, in words that name the channels."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING

import numpy as np

from ..errors import VerificationError
from ..ir.program_checks import program_check

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["check_scales", "constant_scale", "scale_problem"]

_SHOWN = 4


def scale_problem(scale: np.ndarray, axis: int | None = None) -> str | None:
    """What is wrong with scales, None if nothing is: they must be positive and finite.

    Args:
        scale: one for all, one per channel, or one per block.
        axis: the dimension of the data that scales of rank 1 run along.
    """
    values = scale.astype(np.float32)
    kinds = {
        "not a number": np.isnan(values),
        "infinite": np.isinf(values),
        "negative": values < 0,
        "zero": values == 0,
    }
    found = [f"{kind}{_where(places, axis)}" for kind, places in kinds.items() if places.any()]
    return f"the scale is {'; '.join(found)}" if found else None


def _where(places: np.ndarray, axis: int | None) -> str:
    """ " at channels 3, 7 of axis 1" for scales of rank 1, at blocks for higher ranks; "" for one scale."""
    if places.size == 1:
        return ""
    listed = list(_positions(places))
    more = len(listed) - _SHOWN
    text = ", ".join(listed[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    what = ("channel" if places.ndim == 1 else "block") + ("s" if len(listed) > 1 else "")
    return f" at {what} {text}" + (f" of axis {axis}" if axis is not None and places.ndim == 1 else "")


def _positions(places: np.ndarray) -> Iterator[str]:
    for position in np.argwhere(places):
        yield str(position[0]) if position.size == 1 else "[" + ", ".join(map(str, position)) + "]"


_NAMES = ("tensorrt.quantize", "tensorrt.dequantize", "onnx.quantizelinear", "onnx.dequantizelinear")
_DATA, _SCALE = 0, 1


@program_check
def check_scales(module: ir.Operation, weights: MutableMapping[str, np.ndarray]) -> None:
    """Check every constant scale of a module: how many there are, that they are positive and finite.

    Raises VerificationError for the first that is wrong, with its channels.
    """
    from torch_mlir import ir

    found: list[VerificationError] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        error = _error_of(operation, weights) if operation.name in _NAMES else None
        if error is None:
            return ir.WalkResult.ADVANCE
        found.append(error)
        return ir.WalkResult.INTERRUPT

    module.walk(visit)
    if found:
        raise found[0]


def _error_of(operation: ir.Operation, weights: MutableMapping[str, np.ndarray]) -> VerificationError | None:
    from ..ir.context import shown_name
    from ..ir.locations import sources_of

    scale = constant_scale(operation.operands[_SCALE], weights)
    if scale is None:
        return None
    axis = _axis(operation)
    problem = scale_problem(scale, axis) or _count_problem(operation.operands[_DATA].type, scale, axis)
    if not problem:
        return None
    where = ", ".join(sources_of(operation.location)) or None
    return VerificationError(f"{shown_name(operation.name)}: {problem}", where=where)


def constant_scale(value: ir.Value, weights: MutableMapping[str, np.ndarray]) -> np.ndarray | None:
    """The array of a scale that is constant and at hand; None for any other."""
    from torch_mlir import ir

    from ..ir.constants import handle_name, value_of

    owner = value.owner
    if not isinstance(owner, ir.OpView | ir.Operation):
        return None
    name = {"tensorrt.constant": "weights", "onnx.constant": "value"}.get(owner.name)
    if name is None or name not in owner.attributes:
        return None
    attribute = owner.attributes[name]
    handle = handle_name(attribute)
    return None if handle is not None and handle not in weights else value_of(attribute, weights)


def _axis(operation: ir.Operation) -> int | None:
    """The dimension that scales of rank 1 run along, counted from the front; None where that is not known."""
    from torch_mlir import ir

    from ..ir.builder import Op

    axis = Op.of(operation).attr("axis")
    if axis is None or not isinstance(operation.operands[_DATA].type, ir.RankedTensorType):
        return None
    return int(axis) % max(ir.RankedTensorType(operation.operands[_DATA].type).rank, 1)


def _count_problem(kind: ir.Type, scale: np.ndarray, axis: int | None) -> str | None:
    from torch_mlir import ir

    if axis is None or scale.ndim != 1 or scale.size == 1 or not isinstance(kind, ir.RankedTensorType):
        return None
    ranked = ir.RankedTensorType(kind)
    if axis >= ranked.rank or ranked.is_dynamic_dim(axis) or ranked.get_dim_size(axis) == scale.size:
        return None
    return f"{scale.size} scales for the {ranked.get_dim_size(axis)} channels of axis {axis}"
