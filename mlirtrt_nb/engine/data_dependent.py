"""Bounds of results whose shapes follow from data: how many true elements, distinct values, or kept boxes.

In the model of a function each such op is replaced by an input of the least, a middling, or the largest shape
that it can give; what comes after it then has shapes that inference can work out. So is an op whose result is
as long as a number says that is only known at run time (`data_lengths`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from onnx import ModelProto, NodeProto, TensorProto

from .data_lengths import LENGTHS, along
from .value_bounds import ValueBounds

__all__ = ["DATA_DEPENDENT", "bounded"]

Dims = tuple[int, ...]
# What an op may read of its surroundings besides bounds of values: a tensor's shape.
Shape = Callable[[str], Dims | None]


def bounded(model: ModelProto, side: int) -> ModelProto | None:
    """`model`, whose inputs have fixed shapes, without the ops that depend on data.

    Args:
        side: 0 puts the least shapes in their place, 1 the middling, 2 the largest.

    Returns:
        A model with inputs more, or None if the shape of something that such an op reads is not known. What is
        as long as a number says that has no bounds stays unknown.
    """
    from ..frontends.onnx.safe_inference import infer_shapes

    current = ModelProto()
    current.CopyFrom(model)
    unlimited: set[str] = set()  # first results of ops that a number makes as long as it likes
    while True:
        types = _types(infer_shapes(current))
        opened = (node for node in current.graph.node if _is_open(node, types))
        node = next((node for node in opened if node.output[0] not in unlimited), None)
        if node is None:
            return current
        shapes = {name: dims for name, (_, dims) in types.items()}
        rule = _BOUNDS.get(node.op_type) or LENGTHS[node.op_type]
        found = rule(node, shapes.get, ValueBounds(current, shapes))
        if found is None and node.op_type in LENGTHS:
            unlimited.add(node.output[0])
            continue
        if found is None:
            return None
        _replace(current, node, [_at(dims, side) for dims in found], types[node.input[0]][0])


def _is_open(node: NodeProto, types: Mapping[str, tuple[int, Dims | None]]) -> bool:
    """Whether data decides the shape, always or because a length is not known."""
    if node.domain:
        return False
    unknown = node.op_type in LENGTHS and types.get(node.output[0], (0, None))[1] is None
    return unknown or node.op_type in _BOUNDS


def _replace(model: ModelProto, node: NodeProto, shapes: list[Dims], element: int) -> None:
    integer = node.op_type in ("NonZero", "NonMaxSuppression")
    alike = node.op_type == "Split"  # elsewhere a further output counts or indexes
    for number, (name, shape) in enumerate(zip(node.output, shapes, strict=False)):
        if name:
            made = model.graph.input.add(name=name).type.tensor_type
            made.elem_type = TensorProto.INT64 if integer or (number and not alike) else element
            made.shape.SetInParent()
            for size in shape:
                made.shape.dim.add(dim_value=size)
    model.graph.node.remove(node)


# (least, largest) shape of each output.
_Range = tuple[Dims, Dims]


def _at(dims: _Range, side: int) -> Dims:
    least, largest = dims
    if side == 1:
        return tuple(low + (high - low + 1) // 2 for low, high in zip(least, largest, strict=True))
    return largest if side else least


def _non_zero(node: NodeProto, shape: Shape, values: ValueBounds) -> list[_Range] | None:
    x = shape(node.input[0])
    return None if x is None else [((len(x), 0), (len(x), prod(x)))]


def _compress(node: NodeProto, shape: Shape, values: ValueBounds) -> list[_Range] | None:
    x, condition = shape(node.input[0]), shape(node.input[1])
    if x is None or condition is None:
        return None
    axis = next((a.i for a in node.attribute if a.name == "axis"), None)
    if axis is None:
        return [((0,), (min(prod(x), condition[0]),))]
    return [along(x, axis, 0, min(x[axis], condition[0]))]


def _unique(node: NodeProto, shape: Shape, values: ValueBounds) -> list[_Range] | None:
    x = shape(node.input[0])
    if x is None:
        return None
    axis = next((a.i for a in node.attribute if a.name == "axis"), None)
    most = prod(x) if axis is None else x[axis]
    least = min(1, most)
    count = ((least,), (most,))
    first = count if axis is None else along(x, axis, least, most)
    return [first, count, ((most,), (most,)), count]


def _non_max_suppression(node: NodeProto, shape: Shape, values: ValueBounds) -> list[_Range] | None:
    boxes, scores = shape(node.input[0]), shape(node.input[1])
    if boxes is None or scores is None:
        return None
    limited = len(node.input) > 2 and node.input[2]
    each = int(min(boxes[1], max(values.of(node.input[2])[1], 0))) if limited else 0
    return [((0, 3), (scores[0] * scores[1] * each, 3))]


_BOUNDS: dict[str, Callable[[NodeProto, Shape, ValueBounds], list[_Range] | None]] = {
    "NonZero": _non_zero,
    "Compress": _compress,
    "Unique": _unique,
    "NonMaxSuppression": _non_max_suppression,
}

# Ops, by their names in MLIR, whose result shapes follow from values.
DATA_DEPENDENT = frozenset({"tensorrt.non_zero", "tensorrt.nms", *(f"onnx.{name.lower()}" for name in _BOUNDS)})


def _types(model: ModelProto) -> dict[str, tuple[int, Dims | None]]:
    """Element type and shape of each value; a shape with an unknown dimension is None."""
    found: dict[str, tuple[int, Dims | None]] = {}
    for entry in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        tensor = entry.type.tensor_type
        known = tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim)
        dims = tuple(dim.dim_value for dim in tensor.shape.dim) if known else None
        found[entry.name] = (tensor.elem_type, dims)
    for weight in model.graph.initializer:
        found[weight.name] = (weight.data_type, tuple(weight.dims))
    return found
