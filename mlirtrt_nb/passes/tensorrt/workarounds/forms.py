"""Ops whose form the builder does not take, in a form that it does."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from ....ir import shapes
from ....ir.builder import Op
from ..conversions.emitter import Emitter
from ..conversions.entries import add
from ..conversions.node import shape_of
from .spelling import Workaround, again, declared

__all__ = ["WORKAROUNDS"]


def _reduce_over_nothing(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """A reduction over no axes leaves each element as it is."""
    if op.attr("reduceAxes"):
        return None
    value, kind = op.operation.operands[0], op.operation.results[0].type
    return [value if value.type == kind else emit.op("cast", [value], {}, kind)]


def _scale_per_channel(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """Scale and bias per group, or one for all, are given once per channel."""
    channels = shape_of(op.group("input")[0])[1]
    if channels is None or not shapes.is_static(op.type("scale").shape):
        return None
    operands = {name: _per_channel(emit, op.group(name)[0], channels) for name in ("scale", "bias")}
    return again(op, emit, operands)


def _per_channel(emit: Emitter, value: ir.Value, channels: int) -> ir.Value:
    """1 x groups x 1 ..., with each value as often as its group has channels."""
    kind = ir.RankedTensorType(value.type)
    _, groups, *rest = kind.shape
    repeated = emit.op(
        "broadcast",
        [emit.unsqueeze(value, [2])],
        {"broadcast_dims": list(range(kind.rank + 1))},
        shapes.tensor([1, groups, channels // groups, *rest], kind.element_type),
    )
    return emit.reshape(repeated, [1, channels, *rest])


def _padding_as_slice(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """A slice that begins before the input and ends behind it, or inside where the padding is negative."""
    x, before, after = op.group("input")[0], op.attr("prePadding"), op.attr("postPadding")
    *outer, height, width = emit.sizes(x)
    inner = [add(emit, d, b + a) for d, b, a in zip((height, width), before, after, strict=True)]
    start = [0] * len(outer) + [-b for b in before]
    made = emit.slice(x, start, [*outer, *inner], mode="kFILL")
    return [declared(emit, made, op.operation.results[0].type)]


WORKAROUNDS = (
    Workaround(
        "reduce-over-nothing",
        ("reduce",),
        "A reduction over no axes leaves each element as it is.",
        _reduce_over_nothing,
    ),
    Workaround(
        "scale-per-channel",
        ("normalization",),
        "Scale and bias per group, or one for all, are given once per channel.",
        _scale_per_channel,
    ),
    Workaround(
        "padding-as-slice",
        ("padding",),
        "Padding is a slice that begins before the input and ends behind it.",
        _padding_as_slice,
    ),
)
