"""Attention of forms that the builder does not take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from ....ir import shapes
from ....ir.builder import Op
from ..conversions.emitter import Emitter
from ..conversions.matmul import product
from ..conversions.node import element, shape_of
from .spelling import Workaround, again, declared

__all__ = ["WORKAROUNDS"]

_UNUSUAL = ("normalizationQuantizeScale", "queryLengths", "keyValueLengths")


def _decomposed_attention(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """Attention that the builder may decompose. Zeros are put behind the narrower of key and value: they change
    no product, and what they add to the result is cut off."""
    widths = [op.type(name).shape[-1] for name in ("key", "value")]
    if shapes.DYNAMIC in widths:
        return None
    kind, width = ir.RankedTensorType(op.operation.results[0].type), max(widths)
    operands = {name: _last(emit, op.group(name)[0], width) for name in ("query", "key", "value")}
    whole = shapes.tensor([*kind.shape[:-1], width], kind.element_type)
    (result,) = again(op, emit, operands, {"decomposable": True}, [whole])
    return [declared(emit, _last(emit, result, widths[1]), kind)]


def _last(emit: Emitter, value: ir.Value, width: int) -> ir.Value:
    """The last dimension filled up with zeros, or cut, to be `width` long."""
    *outer, last = emit.sizes(value)
    return value if last == width else emit.slice(value, [0] * (len(outer) + 1), [*outer, width], mode="kFILL")


def _spelled_attention(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """softmax(query @ key^T + mask) @ value, op by op."""
    if any(op.operand(name) is not None for name in _UNUSUAL) or op.attr("normOp") != "kSOFTMAX":
        return None
    query, key, value = (op.group(name)[0] for name in ("query", "key", "value"))
    heads, shared = shape_of(query)[1], shape_of(key)[1]
    if heads != shared:
        if heads is None or shared is None:
            return None
        key, value = (_per_head(emit, x, heads) for x in (key, value))
    scores = _masked(op, emit, product(emit, query, key, transpose_b=True))
    if scores is None:
        return None
    mixed = product(emit, emit.softmax(scores, 3), value)
    return [declared(emit, mixed, op.operation.results[0].type)]


def _per_head(emit: Emitter, x: ir.Value, heads: int) -> ir.Value:
    """Each head once for every head of its group."""
    batch, shared, length, width = emit.sizes(x)
    assert isinstance(shared, int)
    one = emit.unsqueeze(x, [2])
    parts = emit.concat([one] * (heads // shared), 2)
    return emit.reshape(parts, [batch, heads, length, width])


def _masked(op: Op, emit: Emitter, scores: ir.Value) -> ir.Value | None:
    """The scores with the mask, given or causal; None where a causal one has lengths that are not known."""
    mask, kind = op.operand("mask"), op.attr("causalKind")
    if kind != "kNONE":
        rows, columns = shape_of(scores)[2:]
        if rows is None or columns is None:
            return None
        seen = np.tri(rows, columns, columns - rows if kind == "kLOWER_RIGHT" else 0, dtype=np.bool_)
        mask = emit.constant(seen[None, None], "causal")
    if mask is None:
        return scores
    if element(mask) != "i1":
        return emit.binary("kSUM", scores, mask)
    return emit.select(mask, scores, emit.filled(float("-inf"), element(scores), (1, 1, 1, 1)))


WORKAROUNDS = (
    Workaround(
        "decomposed-attention",
        ("attention",),
        "Attention is marked decomposable; zeros make the narrower of key and value as wide as the other.",
        _decomposed_attention,
    ),
    Workaround(
        "spelled-attention",
        ("attention",),
        "In a branch or a loop, attention is two products and a softmax.",
        _spelled_attention,
    ),
)
