"""Ops that make tensors from nothing. A `constant` itself is made by the scope, when it is asked for."""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes, member


def _fill(s: Scope, op: Op, operation: str) -> Any:
    """A fill layer of the result's static shape, or of the shape operand."""
    kind = ir.RankedTensorType(op.operation.results[0].type)  # type: ignore[union-attr]
    shape = s.input(op, "shape")
    static = [1] * kind.rank if shape is not None else kind.shape
    layer = s.made(
        s.net.add_fill(tuple(static), member(s.trt.FillOperation, operation), s.dtype(kind.element_type))
    )
    if shape is not None:
        layer.set_input(0, shape)
    return layer


def _parameters(s: Scope, op: Op, layer: Any, first: str, second: str) -> Any:
    """The two parameters of a fill: both tensors, or both numbers."""
    dynamic = (s.input(op, first), s.input(op, second))
    if dynamic[0] is not None or dynamic[1] is not None:
        for index, tensor in enumerate(dynamic):
            if tensor is not None:
                layer.set_input(index + 1, tensor)
        return layer.get_output(0)
    numbers = (op.attr(f"static_{first}"), op.attr(f"static_{second}"))
    whole = s.result_dtype(op) in (s.trt.DataType.INT32, s.trt.DataType.INT64)
    for name, number in zip(("alpha", "beta"), numbers, strict=True):
        if number is not None:
            setattr(layer, name, int(number) if whole else float(number))
    return layer.get_output(0)


@encodes("linspace")
def linspace(s: Scope, op: Op) -> Any:
    return _parameters(s, op, _fill(s, op, "kLINSPACE"), "start", "step")


@encodes("random_uniform")
def random_uniform(s: Scope, op: Op) -> Any:
    return _parameters(s, op, _fill(s, op, "kRANDOM_UNIFORM"), "low", "high")


@encodes("random_normal")
def random_normal(s: Scope, op: Op) -> Any:
    return _parameters(s, op, _fill(s, op, "kRANDOM_NORMAL"), "mean", "std")


@encodes("one_hot")
def one_hot(s: Scope, op: Op) -> Any:
    return s.out(
        s.net.add_one_hot(s.input(op, "indices"), s.input(op, "values"), s.input(op, "depth"), op.attr("axis"))
    )
