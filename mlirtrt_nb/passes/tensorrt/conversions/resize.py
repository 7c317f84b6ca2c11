"""Resizing of images and volumes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from torch_mlir import ir

from .emitter import Emitter, Shape
from .entries import Entry
from .node import Node, Refused, converter, element, rank_of, shape_of
from .reshaping import target_of

__all__: list[str] = []

_COORDINATES = {
    "half_pixel": ("kHALF_PIXEL", "kFORMULA"),
    "pytorch_half_pixel": ("kHALF_PIXEL", "kUPPER"),
    "align_corners": ("kALIGN_CORNERS", "kFORMULA"),
    "asymmetric": ("kASYMMETRIC", "kFORMULA"),
}
_ROUNDING = {
    "round_prefer_floor": "kHALF_DOWN",
    "round_prefer_ceil": "kHALF_UP",
    "floor": "kFLOOR",
    "ceil": "kCEIL",
}


@converter("Upsample")
def _upsample(node: Node, emit: Emitter) -> ir.Value:
    array = node.array(1) if node.opset >= 9 else np.array(node.attr("scales"), np.float32)
    if array is None:
        raise Refused("scales is not constant")
    return _layer(
        node, emit, node.attr("mode", "nearest"), "asymmetric", "floor", [float(s) for s in array], None
    )


@converter("Resize")
def _resize(node: Node, emit: Emitter) -> ir.Value:
    mode = node.attr("mode", "nearest")
    if node.opset < 11:
        array = node.array(1)
        if array is None:
            raise Refused("scales is not constant")
        return _layer(node, emit, mode, "asymmetric", "floor", [float(s) for s in array], None)
    if node.attr("antialias"):
        raise Refused("antialias = 1")
    coordinates = node.attr("coordinate_transformation_mode", "half_pixel")
    rounding = node.attr("nearest_mode", "round_prefer_floor")
    scales = node.input(2)
    if scales is not None and shape_of(scales) != (0,):
        return _layer(node, emit, mode, coordinates, rounding, _scales(node), None)
    return _layer(node, emit, mode, coordinates, rounding, None, _sizes(node, emit))


def _of_one_ratio(node: Node, emit: Emitter, policy: str) -> list[Entry]:
    """Sizes of one scale for all axes: the smallest or the largest that the given sizes ask for."""
    before, wanted = shape_of(node[0]), node.ints(3, "sizes") or []
    axes = _axes(node, len(wanted))
    if any(before[a] is None for a in axes):
        raise Refused(f"keep_aspect_ratio_policy = {policy!r} on a dynamic dimension")
    ratios = [Fraction(size, before[a] or 1) for a, size in zip(axes, wanted, strict=True)]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    found: list[Entry] = list(emit.sizes(node[0]))
    for axis in axes:
        size = ratio * (before[axis] or 0)
        if size.denominator != 1:  # the layer would sample at another scale
            raise Refused(f"keep_aspect_ratio_policy = {policy!r} with a scale of {float(ratio):.3g}")
        found[axis] = int(size)
    return found


def _axes(node: Node, count: int) -> list[int]:
    given = node.attr("axes")
    return list(range(count)) if given is None else [node.axis(a) for a in given]


def _scales(node: Node) -> list[float]:
    array = node.array(2)
    if array is None:
        raise Refused("scales is not constant")
    found = [1.0] * rank_of(node[0])
    for axis, scale in zip(_axes(node, len(array)), array, strict=True):
        found[axis] = float(scale)
    return found


def _sizes(node: Node, emit: Emitter) -> list[Entry]:
    if node.input(3) is None:
        raise Refused("neither scales nor sizes is given")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        return _of_one_ratio(node, emit, policy)
    if node.attr("axes") is None:
        return target_of(node, emit, 3, "sizes")
    found: list[Entry] = list(emit.sizes(node[0]))
    numbers = node.ints(3, "sizes") or []
    for axis, size in zip(_axes(node, len(numbers)), numbers, strict=True):
        found[axis] = size
    return found


def _layer(
    node: Node,
    emit: Emitter,
    mode: str,
    coordinates: str,
    rounding: str,
    scales: list[float] | None,
    sizes: list[Entry] | None,
) -> ir.Value:
    """One resize layer. Scales stay scales: a size worked out from them may imply slightly other ones."""
    x = node[0]
    if coordinates not in _COORDINATES:
        raise Refused(f"coordinate_transformation_mode = {coordinates!r}")
    transformation, selector = _COORDINATES[coordinates]
    attributes: dict[str, object] = {
        "coordinateTransformation": transformation,
        "selectorForSinglePixel": selector,
        "scales": scales,
    }
    kind = {"nearest": "nearest", "linear": "linear", "cubic": "cubic"}.get(mode)
    if kind is None:
        raise Refused(f"mode = {mode!r}")
    if kind == "nearest":
        attributes["nearestRounding"] = _ROUNDING[rounding]
    elif node.attr("exclude_outside"):
        attributes["excludeOutside"] = True
    if kind == "cubic":
        attributes["cubicCoeff"] = node.attr("cubic_coeff_a", -0.75)
    result = emit.type(_dims(node, scales, sizes), element(x))
    _check_dims(kind, shape_of(x), _dims(node, scales, sizes), scales)
    fixed = sizes is None or all(isinstance(entry, int) for entry in sizes)
    shape = None if fixed else emit.vector(sizes or [])
    return emit.op(f"resize_{kind}", [x, shape], attributes, result)


def _dims(node: Node, scales: list[float] | None, sizes: list[Entry] | None) -> list[int | None]:
    if sizes is not None:
        return [entry if isinstance(entry, int) else None for entry in sizes]
    assert scales is not None
    # In f32, as ONNX Runtime has it.
    return [
        None if d is None else int(np.float32(d) * np.float32(s))
        for d, s in zip(shape_of(node[0]), scales, strict=True)
    ]


def _check_dims(kind: str, before: Shape, after: Shape, scales: list[float] | None) -> None:
    """Only inner dimensions may change: the two innermost for cubic, three for the others."""
    outer = max(len(before) - (2 if kind == "cubic" else 3), 0)
    for axis in range(outer):
        scaled = scales is not None and scales[axis] != 1.0
        if scaled or (before[axis] is not None and before[axis] != after[axis]):
            raise Refused(f"{kind} resize of dimension {axis} of {len(before)}")
