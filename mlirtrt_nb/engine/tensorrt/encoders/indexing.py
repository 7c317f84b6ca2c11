"""Gather, scatter and resize."""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes, member


@encodes("gather")
def gather(s: Scope, op: Op) -> Any:
    layer = s.made(s.net.add_gather_v2(s.input(op, "data"), s.input(op, "indices"), s.trt.GatherMode.DEFAULT))
    layer.axis = op.attr("axis")
    layer.num_elementwise_dims = op.attr("numBroadcastDims") or 0
    return layer.get_output(0)


@encodes("gather_nd")
def gather_nd(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_gather_v2(s.input(op, "data"), s.input(op, "indices"), s.trt.GatherMode.ND))


@encodes("gather_elements")
def gather_elements(s: Scope, op: Op) -> Any:
    layer = s.made(s.net.add_gather_v2(s.input(op, "data"), s.input(op, "indices"), s.trt.GatherMode.ELEMENT))
    layer.axis = op.attr("axis")
    return layer.get_output(0)


def _scatter(s: Scope, op: Op, mode: Any) -> Any:
    return s.made(s.net.add_scatter(s.input(op, "data"), s.input(op, "indices"), s.input(op, "updates"), mode))


@encodes("scatter_nd")
def scatter_nd(s: Scope, op: Op) -> Any:
    return _scatter(s, op, s.trt.ScatterMode.ND).get_output(0)


@encodes("scatter_elements")
def scatter_elements(s: Scope, op: Op) -> Any:
    layer = _scatter(s, op, s.trt.ScatterMode.ELEMENT)
    layer.axis = op.attr("axis") or 0
    return layer.get_output(0)


@encodes("resize_nearest", "resize_linear", "resize_cubic")
def resize(s: Scope, op: Op) -> Any:
    """The output's size comes from the operand, else the scales, else the result's static shape."""
    layer = s.made(s.net.add_resize(s.input(op, "input")))
    layer.resize_mode = getattr(s.trt.InterpolationMode, op.name.rpartition("_")[2].upper())
    shape = s.input(op, "output_shape")
    if shape is not None:
        layer.set_input(1, shape)
    elif op.attr("scales") is not None:
        layer.scales = list(op.attr("scales"))
    else:
        layer.shape = tuple(ir.RankedTensorType(op.operation.results[0].type).shape)  # type: ignore[union-attr]
    _sampling(s, op, layer)
    return layer.get_output(0)


def _sampling(s: Scope, op: Op, layer: Any) -> None:
    for attribute, field, enum in (
        ("coordinateTransformation", "coordinate_transformation", s.trt.ResizeCoordinateTransformation),
        ("selectorForSinglePixel", "selector_for_single_pixel", s.trt.ResizeSelector),
        ("nearestRounding", "nearest_rounding", s.trt.ResizeRoundMode),
    ):
        spelling = op.attr(attribute)
        if spelling is not None:
            setattr(layer, field, member(enum, spelling))
    if op.attr("excludeOutside") is not None:
        layer.exclude_outside = bool(op.attr("excludeOutside"))
    if op.attr("cubicCoeff") is not None:
        layer.cubic_coeff = op.attr("cubicCoeff")
