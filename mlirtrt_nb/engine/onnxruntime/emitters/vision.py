"""nms and grid_sample."""

from __future__ import annotations

from ....ir.builder import Op
from ..scope import Scope, element_type
from .dims import dims_of, rank_of, refuse, reshape, size_of
from .registry import emits

__all__: list[str] = []

_OUTSIDE = {"kFILL": "zeros", "kCLAMP": "border", "kREFLECT": "reflection"}
_INTERPOLATION = {"kNEAREST": "nearest", "kLINEAR": "linear", "kCUBIC": "cubic"}


@emits("nms")
def nms(op: Op, scope: Scope) -> None:
    boxes, scores = op.operand("boxes"), op.operand("scores")
    corners = scope.cast(scope.tensor(boxes), "f32")
    if rank_of(boxes) == 4:
        if dims_of(boxes)[2] != 1:
            raise refuse("boxes of their own for each class have no ONNX form")
        corners = scope.op("Squeeze", [corners, scope.literal([2])])
    per_class = scope.op("Transpose", [scope.cast(scope.tensor(scores), "f32")], perm=[0, 2, 1])
    inputs = [corners, per_class, _scalar(op, scope, "maxOutputBoxesPerClass", "i64")]
    inputs += [_scalar(op, scope, name, "f32") for name in ("iouThreshold", "scoreThreshold")]
    centers = op.attr("boundingBoxFormat") == "kCENTER_SIZES"
    chosen = scope.op("NonMaxSuppression", inputs, center_point_box=int(centers))
    indices, count = op.operation.results
    scope.set(indices, scope.cast(chosen, element_type(indices)))
    scope.set(count, scope.cast(reshape(scope, size_of(scope, chosen, 0), []), "i32"))


def _scalar(op: Op, scope: Scope, name: str, dtype: str) -> str:
    value = op.operand(name)
    if value is None:
        return scope.literal([0], dtype)
    return reshape(scope, scope.cast(scope.tensor(value), dtype), [1])


@emits("grid_sample")
def grid_sample(op: Op, scope: Scope) -> None:
    mode = op.attr("sampleMode")
    if mode not in _OUTSIDE:
        raise refuse(f"sampling with {mode} has no ONNX form", "use kFILL, kCLAMP or kREFLECT")
    inputs = [scope.tensor(op.operand(name)) for name in ("input", "grid")]
    made = scope.op(
        "GridSample",
        inputs,
        mode=_INTERPOLATION[op.attr("interpolationMode")],
        padding_mode=_OUTSIDE[mode],
        align_corners=int(op.attr("alignCorners")),
    )
    scope.set(op.operation.results[0], made)
