"""Bounds of numbers that a graph works out from data: a length, a count, an index.

ONNX says of a few ops what their values cannot exceed, whatever they read: an index stays below the axis that
was searched, `Min` and `Clip` have a limit, a shape is known. Arithmetic on such values has bounds again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

__all__ = ["Bounds", "ValueBounds"]

# The least and the largest value that any element may have; infinite where nothing limits it.
Bounds = tuple[float, float]
Dims = tuple[int, ...]

_OPEN: Bounds = (-inf, inf)
_MOST_ELEMENTS = 16  # of a constant that is looked at
_DEEPEST = 64  # ops between a value and what limits it
_EXACT = 2**24  # every whole number up to this is one in each type that a cast may go to


class ValueBounds:
    """Bounds of the values of one model, some of whose shapes are in `shapes`."""

    def __init__(self, model: ModelProto, shapes: Mapping[str, Dims | None]) -> None:
        self._shapes = shapes
        self._constants = {tensor.name: tensor for tensor in model.graph.initializer}
        self._makers: dict[str, NodeProto] = {}
        for node in model.graph.node:
            if node.op_type == "Constant":
                self._constants.update((node.output[0], a.t) for a in node.attribute if a.name == "value")
            self._makers.update((name, node) for name in node.output if name)

    def of(self, name: str, depth: int = 0) -> Bounds:
        """The bounds of all elements of a value."""
        constant = self.constant(name)
        if constant is not None and constant.size:
            return float(constant.min()), float(constant.max())
        node = self._makers.get(name)
        if node is None or node.domain or depth > _DEEPEST or name != node.output[0]:
            return _OPEN
        if node.op_type in _OF_SHAPE:
            shape = self._shapes.get(node.input[0])
            return _OF_SHAPE[node.op_type](node, shape) if shape else _OPEN
        if node.op_type == "Cast":
            return _cast(node, self.of(node.input[0], depth + 1))
        rule = _RULES.get(node.op_type)
        if rule is None or (node.op_type == "Clip" and node.attribute):  # limits of before opset 11
            return _OPEN
        count, bounds = rule
        return bounds(*(self.of(entry, depth + 1) if entry else None for entry in list(node.input)[:count]))

    def elements(self, name: str, count: int) -> list[Bounds]:
        """The bounds of each element of a vector of `count` elements."""
        constant = self.constant(name)
        if constant is not None and constant.size == count:
            return [(float(value), float(value)) for value in constant]
        node = self._makers.get(name)
        if node is not None and not node.domain:
            if node.op_type == "Identity":
                return self.elements(node.input[0], count)
            shapes = [self._shapes.get(entry) for entry in node.input]
            if node.op_type == "Concat" and sum(shape[0] if shape else 0 for shape in shapes) == count:
                parts = zip(node.input, shapes, strict=True)
                return [bounds for part, shape in parts if shape for bounds in self.elements(part, shape[0])]
        return [self.of(name)] * count

    def constant(self, name: str) -> np.ndarray | None:
        """The whole numbers of a small constant, as a vector of int64."""
        tensor = self._constants.get(name)
        if tensor is None or tensor.data_location == TensorProto.EXTERNAL:
            return None
        if np.prod(tensor.dims) > _MOST_ELEMENTS:
            return None
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind not in "iuf" or not np.isfinite(array).all() or np.any(array % 1):
            return None
        return array.reshape(-1).astype(np.int64)


def _cast(node: NodeProto, given: Bounds) -> Bounds:
    """A cast keeps whole numbers that its type holds; others wrap or are rounded."""
    kind = next((a.i for a in node.attribute if a.name == "to"), 0)
    small = max(map(abs, given)) <= _EXACT and kind in (TensorProto.INT32, TensorProto.FLOAT)
    return given if small or kind in (TensorProto.INT64, TensorProto.DOUBLE) else _OPEN


def _same(given: Bounds) -> Bounds:
    return given


def _absolute(given: Bounds) -> Bounds:
    low, high = given
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _least(*given: Bounds) -> Bounds:
    return min(low for low, _ in given), min(high for _, high in given)


def _largest(*given: Bounds) -> Bounds:
    return max(low for low, _ in given), max(high for _, high in given)


def _any_of(*given: Bounds) -> Bounds:
    return min(low for low, _ in given), max(high for _, high in given)


def _clipped(given: Bounds, low: Bounds | None = None, high: Bounds | None = None) -> Bounds:
    limited = _largest(given, low) if low else given
    return _least(limited, high) if high else limited


def _product(a: Bounds, b: Bounds) -> Bounds:
    corners = [x * y if x and y else 0.0 for x in a for y in b]
    return min(corners), max(corners)


def _index(node: NodeProto, shape: Dims) -> Bounds:
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
    return 0, max(shape[axis] - 1, 0)


# How many inputs tell the bounds of the first output, and how.
_RULES: dict[str, tuple[int | None, Callable[..., Bounds]]] = {
    "Abs": (1, _absolute),
    "Add": (2, lambda a, b: (a[0] + b[0], a[1] + b[1])),
    "Clip": (3, _clipped),
    "Concat": (None, _any_of),
    "Max": (None, _largest),
    "Min": (None, _least),
    "Mul": (2, _product),
    "Sub": (2, lambda a, b: (a[0] - b[1], a[1] - b[0])),
    **dict.fromkeys(
        ("Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze"), (1, _same)
    ),
}

_OF_SHAPE: dict[str, Callable[[NodeProto, Dims], Bounds]] = {
    "ArgMax": _index,
    "ArgMin": _index,
    "Shape": lambda node, shape: (min(shape), max(shape)),
    "Size": lambda node, shape: (int(np.prod(shape)),) * 2,
}
