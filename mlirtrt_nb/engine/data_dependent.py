"""Bounds of results whose shapes follow from data: how many true elements, distinct values, or kept boxes.

In the model of a function each such op is replaced by an input of the least, a middling, or the largest shape
that it can give; what comes after it then has shapes that inference can work out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

__all__ = ["DATA_DEPENDENT", "bounded"]

Dims = tuple[int, ...]
# What an op may read of its surroundings: a tensor's shape, and the values of a constant.
Shape = Callable[[str], Dims | None]
Values = Callable[[str], list[int] | None]


def bounded(model: ModelProto, side: int) -> ModelProto | None:
    """`model`, whose inputs have fixed shapes, without the ops that depend on data.

    Args:
        side: 0 puts the least shapes in their place, 1 the middling, 2 the largest.

    Returns:
        A model with inputs more, or None if the shape of something that such an op reads is not known.
    """
    from ..frontends.onnx.safe_inference import infer_shapes

    current = ModelProto()
    current.CopyFrom(model)
    while True:
        node = next((node for node in current.graph.node if node.op_type in _BOUNDS and not node.domain), None)
        if node is None:
            return current
        types = _types(infer_shapes(current))
        constants = {tensor.name: tensor for tensor in current.graph.initializer}
        found = _BOUNDS[node.op_type](
            node,
            lambda name, types=types: types.get(name, (0, None))[1],  # type: ignore[misc]
            lambda name, constants=constants: _integers(constants.get(name)),  # type: ignore[misc]
        )
        if found is None:
            return None
        element = types[node.input[0]][0]
        _replace(current, node, [_at(dims, side) for dims in found], element)


def _replace(model: ModelProto, node: NodeProto, shapes: list[Dims], element: int) -> None:
    integer = node.op_type in ("NonZero", "NonMaxSuppression")
    for number, (name, shape) in enumerate(zip(node.output, shapes, strict=False)):
        if name:
            made = model.graph.input.add(name=name).type.tensor_type
            made.elem_type = TensorProto.INT64 if integer or number else element
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


def _non_zero(node: NodeProto, shape: Shape, values: Values) -> list[_Range] | None:
    x = shape(node.input[0])
    return None if x is None else [((len(x), 0), (len(x), prod(x)))]


def _compress(node: NodeProto, shape: Shape, values: Values) -> list[_Range] | None:
    x, condition = shape(node.input[0]), shape(node.input[1])
    if x is None or condition is None:
        return None
    axis = next((a.i for a in node.attribute if a.name == "axis"), None)
    if axis is None:
        return [((0,), (min(prod(x), condition[0]),))]
    return [_along(x, axis, 0, min(x[axis], condition[0]))]


def _unique(node: NodeProto, shape: Shape, values: Values) -> list[_Range] | None:
    x = shape(node.input[0])
    if x is None:
        return None
    axis = next((a.i for a in node.attribute if a.name == "axis"), None)
    most = prod(x) if axis is None else x[axis]
    least = min(1, most)
    count = ((least,), (most,))
    first = count if axis is None else _along(x, axis, least, most)
    return [first, count, ((most,), (most,)), count]


def _non_max_suppression(node: NodeProto, shape: Shape, values: Values) -> list[_Range] | None:
    boxes, scores = shape(node.input[0]), shape(node.input[1])
    if boxes is None or scores is None:
        return None
    each = boxes[1]
    if len(node.input) < 3 or not node.input[2]:
        each = 0
    else:
        given = values(node.input[2])
        each = min(each, max(given[0], 0)) if given else each
    return [((0, 3), (scores[0] * scores[1] * each, 3))]


_BOUNDS: dict[str, Callable[[NodeProto, Shape, Values], list[_Range] | None]] = {
    "NonZero": _non_zero,
    "Compress": _compress,
    "Unique": _unique,
    "NonMaxSuppression": _non_max_suppression,
}

# Ops, by their names in MLIR, whose result shapes follow from values.
DATA_DEPENDENT = frozenset({"tensorrt.non_zero", "tensorrt.nms", *(f"onnx.{name.lower()}" for name in _BOUNDS)})


def _along(x: Dims, axis: int, least: int, most: int) -> _Range:
    """The shape `x` with a length from `least` to `most` along an axis."""
    at = axis % len(x)
    return (*x[:at], least, *x[at + 1 :]), (*x[:at], most, *x[at + 1 :])


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


def _integers(tensor: TensorProto | None) -> list[int] | None:
    """The values of a small constant of integers."""
    if tensor is None or tensor.data_type != TensorProto.INT64 or prod(tensor.dims) > 16:
        return None
    if tensor.data_location == TensorProto.EXTERNAL:
        return None
    return [int(value) for value in numpy_helper.to_array(tensor).reshape(-1)]
