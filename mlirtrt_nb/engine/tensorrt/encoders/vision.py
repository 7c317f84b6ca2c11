"""Layers of vision models: non-maximum suppression and grid sampling."""

from __future__ import annotations

from typing import Any

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes, member


@encodes("nms")
def nms(s: Scope, op: Op) -> list[Any]:
    tensors = (s.input(op, name) for name in ("boxes", "scores", "maxOutputBoxesPerClass"))
    layer = s.made(s.net.add_nms(*tensors, s.result_dtype(op)))
    layer.bounding_box_format = member(s.trt.BoundingBoxFormat, op.attr("boundingBoxFormat"))
    if op.attr("topKBoxLimit") is not None:
        layer.topk_box_limit = op.attr("topKBoxLimit")
    for index, name in ((3, "iouThreshold"), (4, "scoreThreshold")):
        tensor = s.input(op, name)
        if tensor is not None:
            layer.set_input(index, tensor)
    return [layer.get_output(0), layer.get_output(1)]


@encodes("grid_sample")
def grid_sample(s: Scope, op: Op) -> Any:
    layer = s.made(s.net.add_grid_sample(s.input(op, "input"), s.input(op, "grid")))
    layer.interpolation_mode = member(s.trt.InterpolationMode, op.attr("interpolationMode"))
    layer.align_corners = bool(op.attr("alignCorners"))
    mode = op.attr("sampleMode")
    layer.sample_mode = s.trt.SampleMode.STRICT_BOUNDS if mode == "kDEFAULT" else member(s.trt.SampleMode, mode)
    return layer.get_output(0)
