"""Shapes of a function's results for given shapes of its arguments.

ONNX's shape inference works them out; where it cannot, the function is run on zeros and on ones, and they are
read off. What depends on data has the bounds of `data_dependent`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..errors import MlirTrtError, ShapeError
from ..ir import dtypes
from .base import BuildRequest
from .data_dependent import DATA_DEPENDENT, bounded

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch_mlir import ir

    from ..dialects.onnx.export import ExportedModel
    from .host.shapes import HostShapes
    from .onnxruntime.session import OrtEngine

__all__ = ["FunctionShapes", "shapes_of"]

Shape = tuple[int, ...]
# Elements of a value whose shape depends on data: memory for more is not set aside for what may never come.
_MOST_BOUNDED = 1 << 24
# Elements of all that a function reads when it is run for the shapes that it gives.
_MOST_MEASURED = 1 << 26


def shapes_of(path: str, function: ir.OpView, weights: Mapping[str, np.ndarray]) -> FunctionShapes | HostShapes:
    """What tells the shapes of the results of the function at `path`, by how it will run."""
    attributes = function.attributes
    if "plan.backend" in attributes and attributes["plan.backend"].value == "host":
        from .host.shapes import HostShapes

        return HostShapes(function.operation, weights)
    return FunctionShapes(path, function, weights)


class FunctionShapes:
    """Shapes of one function's results for given shapes of its arguments."""

    def __init__(self, path: str, function: ir.OpView, weights: Mapping[str, np.ndarray]) -> None:
        from .onnxruntime.emit import export

        self._data_dependent = _data_dependent(function)
        self._path = path
        self._function = function
        self._weights = weights
        self._exported: ExportedModel = export(function.operation, weights)
        self._known: dict[tuple[int, tuple[Shape, ...]], list[Shape | None]] = {}

    def shapes(
        self, arguments: Sequence[Shape], wanted: Sequence[int], side: int, *, measure: bool
    ) -> list[Shape]:
        """`side` says whether the arguments are at their least (0), usual (1) or largest (2); `measure` whether
        the function is run where inference does not tell. Raises ShapeError if it is not known then."""
        key = (side if self._data_dependent else 0, tuple(arguments))
        if key not in self._known:
            self._known[key] = self._infer(arguments, side)
        found, dependent = self._known[key], self._data_dependent
        if any(found[n] is None for n in wanted):
            if not measure:
                raise ShapeError(f"shape inference does not know what {self._path} gives")
            try:
                found = self._known[key] = self._measure(arguments)
            except ShapeError:
                found, dependent = self._bounded(arguments, side), dependent or self._path
                if any(found[n] is None for n in wanted):
                    raise
        shapes = [shape for n in wanted if (shape := found[n]) is not None]
        if dependent and any(prod(shape) > _MOST_BOUNDED for shape in shapes):
            raise ShapeError(f"its shape depends on the data that {dependent} reads")
        return shapes

    def _infer(self, arguments: Sequence[Shape], side: int) -> list[Shape | None]:
        if self._data_dependent:
            return self._bounded(arguments, side)
        return _results(self._given(arguments))

    def _bounded(self, arguments: Sequence[Shape], side: int) -> list[Shape | None]:
        """The least, middling or largest shapes where data decides; None where it sets no bounds."""
        model = self._given(arguments)
        found = bounded(model, side)
        return [None] * len(model.graph.output) if found is None else _results(found)

    def _given(self, arguments: Sequence[Shape]) -> ModelProto:
        """The function's model with the shapes of its arguments, and none of its results."""
        from onnx import ModelProto

        model = ModelProto()
        model.CopyFrom(self._exported.model)
        for info, shape in zip(model.graph.input, arguments, strict=False):
            dims = info.type.tensor_type.shape
            del dims.dim[:]
            for size in shape:
                dims.dim.add(dim_value=size)
        for info in model.graph.output:
            info.type.tensor_type.ClearField("shape")
        return model

    def _measure(self, arguments: Sequence[Shape]) -> list[Shape | None]:
        """Run the function on zeros and on ones, and read the shapes off."""
        if self._data_dependent:  # it would say nothing about them
            raise ShapeError(f"its shape depends on the data that {self._data_dependent} reads")
        if sum(prod(shape) for shape in arguments) > _MOST_MEASURED:
            raise ShapeError(f"{self._path} reads too much to be run for the shapes that it gives")
        kinds = [dtypes.by_mlir(port.dtype).np for port in self._exported.inputs]
        zeros, ones = (
            [np.full(shape, fill, kind) for shape, kind in zip(arguments, kinds, strict=True)]
            for fill in (0, 1)
        )
        try:
            found = [[getattr(a, "shape", None) for a in self._probe.run(arrays)] for arrays in (zeros, ones)]
        except MlirTrtError:
            found = []  # it takes other values than these
        if not found or found[0] != found[1]:
            raise ShapeError(f"its shape depends on the data that {self._path} reads")
        return list(found[0])

    @cached_property
    def _probe(self) -> OrtEngine:
        from .onnxruntime.builder import OnnxRuntimeBuilder
        from .onnxruntime.session import OrtEngine

        request = BuildRequest(self._path, self._function.operation, self._weights, "cpu")
        return OrtEngine(OnnxRuntimeBuilder().build(request), self._weights)


def _results(model: ModelProto) -> list[Shape | None]:
    """The shapes of a model's outputs, as far as inference knows them."""
    from ..frontends.onnx.safe_inference import infer_shapes

    inferred = infer_shapes(model).graph
    # An output that depends on data is now an input.
    given = {info.name: _static_shape(info) for info in inferred.input}
    return [_static_shape(info) or given.get(info.name) for info in inferred.output]


def _data_dependent(function: ir.OpView) -> str | None:
    names = (op.operation.name for op in function.regions[0].blocks[0].operations)
    return next((name for name in names if name in DATA_DEPENDENT), None)


def _static_shape(info: object) -> Shape | None:
    tensor = info.type.tensor_type  # type: ignore[attr-defined]
    if not tensor.HasField("shape") or any(not dim.HasField("dim_value") for dim in tensor.shape.dim):
        return None
    return tuple(dim.dim_value for dim in tensor.shape.dim)
