"""resize_nearest, resize_linear and resize_cubic."""

from __future__ import annotations

from typing import Any

from ....ir.builder import Op
from ..scope import Scope
from .dims import dims_of, refuse, vector
from .registry import emits

__all__: list[str] = []

_ROUNDING = {
    "kHALF_UP": "round_prefer_ceil",
    "kHALF_DOWN": "round_prefer_floor",
    "kFLOOR": "floor",
    "kCEIL": "ceil",
}
_COORDINATES = {
    "kALIGN_CORNERS": "align_corners",
    "kASYMMETRIC": "asymmetric",
    "kHALF_PIXEL": "half_pixel",
}


@emits("resize_nearest", "resize_linear", "resize_cubic")
def resize(op: Op, scope: Scope) -> None:
    result = op.operation.results[0]
    mode = op.name.rpartition("_")[2]
    coordinates = _COORDINATES[op.attr("coordinateTransformation")]
    if coordinates == "half_pixel" and op.attr("selectorForSinglePixel") == "kUPPER":
        coordinates = "pytorch_half_pixel"  # a result of length 1 takes the first pixel
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = _ROUNDING[op.attr("nearestRounding")]
    else:
        attributes["exclude_outside"] = int(op.attr("excludeOutside")) or None
    if mode == "cubic":
        attributes["cubic_coeff_a"] = op.attr("cubicCoeff")
    x = scope.tensor(op.operand("input"))
    scale, size = _extent(op, scope)
    scope.set(result, scope.op("Resize", [x, None, scale, size], **attributes))


def _extent(op: Op, scope: Scope) -> tuple[str | None, str | None]:
    scales = op.attr("scales")
    if scales is not None:
        return scope.literal(list(scales), "f32"), None
    if op.operand("output_shape") is not None:
        return None, vector(scope, op.operand("output_shape"))
    dims = dims_of(op.operation.results[0])
    if -1 in dims:
        raise refuse("a dynamic result needs scales or the output_shape operand")
    return None, scope.literal(dims)
