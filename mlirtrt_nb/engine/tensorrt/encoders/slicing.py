"""Slices, broadcasts, concatenation and reversal."""

from __future__ import annotations

from typing import Any

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes
from .shape import dims_of, reshaped, result_type


@encodes("broadcast")
def broadcast(s: Scope, op: Op) -> Any:
    """A slice with stride 0 along the dimensions that grow, after the rank is brought up."""
    dims, source, result = op.attr("broadcast_dims"), op.type("input"), result_type(op)
    tensor = _ranked(s, op, dims, result.rank)
    sizes = dict(zip(dims, dims_of(source), strict=True))
    shape = s.input(op, "shape")
    unknown = any(size == -1 for size in sizes.values())
    stride = [0 if sizes.get(n, 1) == 1 else 1 for n in range(result.rank)]
    start = [0] * result.rank
    static = [1] * result.rank if shape is not None else result.shape
    layer = s.made(s.net.add_slice(tensor, tuple(start), tuple(static), tuple(stride)))
    if shape is not None:
        layer.set_input(2, shape)
    if unknown:
        layer.set_input(3, _strides(s, tensor, result.rank))
    return layer.get_output(0)


def _ranked(s: Scope, op: Op, dims: list[int], rank: int) -> Any:
    """The input with its dimensions in the result's order, and units inserted up to `rank`."""
    tensor = s.input(op, "input")
    order = sorted(range(len(dims)), key=lambda n: dims[n])
    if order != list(range(len(dims))):
        layer = s.made(s.net.add_shuffle(tensor))
        layer.first_transpose = s.trt.Permutation(order)
        tensor = layer.get_output(0)
    missing = [n for n in range(rank) if n not in dims]
    if not missing:
        return tensor
    kind = dims_of(op.type("input"))
    if kind.count(-1) <= 1:
        sizes = dict(zip(dims, kind, strict=True))
        return reshaped(s, tensor, [sizes.get(n, 1) for n in range(rank)])
    return s.out(s.net.add_unsqueeze(tensor, s.index_tensor(missing)))


def _strides(s: Scope, tensor: Any, rank: int) -> Any:
    """Per dimension 0 where its size is 1 at run time, else 1."""
    sizes = s.out(s.net.add_shape(tensor))
    ones = s.index_tensor([1] * rank)
    less = s.out(s.net.add_elementwise(sizes, ones, s.trt.ElementWiseOperation.SUB))
    return s.out(s.net.add_elementwise(less, ones, s.trt.ElementWiseOperation.MIN))


@encodes("slice")
def slice_(s: Scope, op: Op) -> Any:
    rank = op.type("input").rank
    static = [op.attr(f"static_{name}") for name in ("start", "size", "stride")]
    placeholders = ([0] * rank, [1] * rank, [1] * rank)
    dims = [tuple(known or other) for known, other in zip(static, placeholders, strict=True)]
    layer = s.made(s.net.add_slice(s.input(op, "input"), *dims))
    mode = op.attr("mode")
    if mode not in (None, "kDEFAULT"):
        layer.mode = getattr(s.trt.SampleMode, mode[1:])
    for index, name in enumerate(("start", "size", "stride", "fill"), start=1):
        tensor = s.input(op, name)
        if tensor is not None:
            layer.set_input(index, tensor)
    return layer.get_output(0)


@encodes("concatenation")
def concatenation(s: Scope, op: Op) -> Any:
    inputs = s.inputs(op, "inputs")
    layer = s.made(s.net.add_concatenation(inputs))
    axis = op.attr("axis")
    layer.axis = axis + result_type(op).rank if axis < 0 else axis
    return layer.get_output(0)


@encodes("reverse_sequence")
def reverse_sequence(s: Scope, op: Op) -> Any:
    layer = s.made(s.net.add_reverse_sequence(s.input(op, "input"), s.input(op, "sequenceLens")))
    layer.batch_axis = op.attr("batchAxis")
    layer.sequence_axis = op.attr("sequenceAxis")
    return layer.get_output(0)
