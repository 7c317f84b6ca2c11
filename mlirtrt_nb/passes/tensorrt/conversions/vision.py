"""Ops of vision models: sampling at positions, cropping to a centre."""

from __future__ import annotations

from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of
from .shape_values import Dim

__all__: list[str] = []

# Both of ONNX's names for the modes, of opset 16 and of opset 20.
_MODES = {
    "bilinear": "kLINEAR",
    "linear": "kLINEAR",
    "nearest": "kNEAREST",
    "bicubic": "kCUBIC",
    "cubic": "kCUBIC",
}
_OUTSIDE = {"zeros": "kFILL", "border": "kCLAMP", "reflection": "kREFLECT"}


@converter("GridSample")
def _grid_sample(node: Node, emit: Emitter) -> ir.Value:
    x, grid = node[0], node[1]
    if rank_of(x) not in (4, 5):
        raise Refused(f"rank {rank_of(x)}")
    attributes = {
        "interpolationMode": _MODES[node.attr("mode", "linear")],
        "alignCorners": bool(node.attr("align_corners")),
        "sampleMode": _OUTSIDE[node.attr("padding_mode", "zeros")],
    }
    dims = [*shape_of(x)[:2], *shape_of(grid)[1:-1]]
    return emit.op("grid_sample", [x, grid], attributes, emit.type(dims, element(x)))


@converter("CenterCropPad")
def _center_crop_pad(node: Node, emit: Emitter) -> ir.Value:
    """The middle of a longer dimension; a shorter one in the middle of zeros."""
    x = node[0]
    wanted = node.ints(1, "shape") or []
    given = node.attr("axes")
    axes = list(range(rank_of(x))) if given is None else [node.axis(a) for a in given]
    size: list[int | Dim | ir.Value] = list(emit.sizes(x))
    start = [0] * rank_of(x)
    pads = False
    for axis, length in zip(axes, wanted, strict=True):
        now = size[axis]
        if not isinstance(now, int):
            raise Refused("a dynamic dimension")
        start[axis] = (now - length) // 2 if now >= length else -((length - now) // 2)
        size[axis] = length
        pads = pads or length > now
    return emit.slice(x, start, size, mode="kFILL" if pads else "kDEFAULT")
