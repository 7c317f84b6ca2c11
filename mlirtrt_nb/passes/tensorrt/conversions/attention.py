"""Attention, spelled out in products and a softmax.

The builder's own attention layer has no f32, no softcap and no output of the scores; it recognises the
spelled-out form and fuses that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from .emitter import Emitter
from .matmul import product
from .node import Node, Refused, converter, element, rank_of, shape_of
from .shape_values import Dim

__all__ = ["heads_apart", "heads_joined"]

# TensorProto.DataType numbers of the precisions that softmax can have here.
_PRECISIONS = {1: "f32", 10: "f16", 16: "bf16"}


@converter("Attention")
def _attention(node: Node, emit: Emitter) -> list[ir.Value | None]:
    packed = rank_of(node[0]) == 3
    query = heads_apart(node, emit, node[0], "q_num_heads") if packed else node[0]
    key = heads_apart(node, emit, node[1], "kv_num_heads") if packed else node[1]
    value = heads_apart(node, emit, node[2], "kv_num_heads") if packed else node[2]
    past = node.input(4)
    if past is not None:
        key = emit.concat([past, key], 2)
        value = emit.concat([node[5], value], 2)
    scores = _scores(node, emit, query, _repeated(emit, key, query))
    capped = _capped(emit, scores, node.attr("softcap", 0.0))
    bias = _Mask(node, emit, query, key).bias()
    masked = capped if bias is None else emit.binary("kSUM", capped, bias.value)
    weights = _weights(node, emit, masked, bias)
    made = product(emit, weights, _repeated(emit, value, query))
    if packed:
        made = heads_joined(emit, made)
    return [
        made,
        key,
        value,
        [scores if node.attr("softcap", 0.0) == 0.0 else capped, capped, masked, weights][_mode(node)],
    ]


def _mode(node: Node) -> int:
    """Which intermediate the fourth result is: the scores, with softcap, with the mask, or after softmax."""
    return int(node.attr("qk_matmul_output_mode", 0))


def heads_apart(node: Node, emit: Emitter, x: ir.Value, name: str) -> ir.Value:
    """B x S x (heads * D) as B x heads x S x D."""
    heads, width = node.attr(name), shape_of(x)[2]
    if heads is None or width is None:
        raise Refused(f"{name} is absent" if heads is None else "a dynamic hidden size")
    batch, length, _ = emit.sizes(x)
    return emit.reshape(x, [batch, length, heads, width // heads], [0, 2, 1, 3])


def heads_joined(emit: Emitter, x: ir.Value) -> ir.Value:
    """B x heads x S x D as B x S x (heads * D)."""
    heads, width = shape_of(x)[1], shape_of(x)[3]
    if heads is None or width is None:
        raise Refused("a dynamic number of heads")
    turned = emit.transpose(x, [0, 2, 1, 3])
    batch, length = emit.sizes(turned)[:2]
    return emit.reshape(turned, [batch, length, heads * width])


def _repeated(emit: Emitter, x: ir.Value, query: ir.Value) -> ir.Value:
    """Keys or values with each head as often as there are query heads that share it."""
    wanted, have = shape_of(query)[1], shape_of(x)[1]
    if wanted is None or have is None:
        raise Refused("a dynamic number of heads")
    if wanted == have:
        return x
    times = wanted // have
    batch, _, length, width = emit.sizes(x)
    target: list[int | Dim | ir.Value] = [batch, have, times, length, width]
    dims = [d if isinstance(d, int) else None for d in target]
    spread = emit.op(
        "broadcast",
        [emit.unsqueeze(x, [2]), emit.vector(target) if None in dims else None],
        {"broadcast_dims": list(range(5))},
        emit.type(dims, element(x)),
    )
    return emit.reshape(spread, [batch, wanted, length, width])


def _scores(node: Node, emit: Emitter, query: ir.Value, key: ir.Value) -> ir.Value:
    """Query and key are each scaled by the root, as ONNX has it, so that no product overflows."""
    width = shape_of(query)[3]
    scale = node.attr("scale")
    if scale is None:
        if width is None:
            raise Refused("a dynamic head size")
        scale = 1.0 / sqrt(width)
    root = sqrt(scale)
    return product(
        emit, emit.with_number("kPROD", query, root), emit.with_number("kPROD", key, root), transpose_b=True
    )


def _capped(emit: Emitter, scores: ir.Value, softcap: float) -> ir.Value:
    if softcap <= 0.0:
        return scores
    squeezed = emit.activation("kTANH", emit.with_number("kDIV", scores, softcap))
    return emit.with_number("kPROD", squeezed, softcap)


@dataclass
class _Bias:
    """What is added to the scores. `open_rows`: every query is known to have a key that it may attend to."""

    value: ir.Value
    open_rows: bool


def _weights(node: Node, emit: Emitter, scores: ir.Value, bias: _Bias | None) -> ir.Value:
    """Softmax over the keys; a query that may attend to none gets zeros."""
    kind = element(scores)
    precision = node.attr("softmax_precision")
    if precision is not None and precision not in _PRECISIONS:
        raise Refused(f"softmax_precision = {precision}")
    wide = scores if precision is None else emit.cast(scores, _PRECISIONS[precision])
    made = emit.cast(emit.softmax(wide, 3), kind)
    if bias is None or bias.open_rows:
        return made
    largest = emit.reduce("kMAX", bias.value, [rank_of(bias.value) - 1])
    closed = emit.with_number("kLESS", largest, _lowest(kind))
    return emit.select(closed, emit.filled(0, kind, (1, 1, 1, 1)), made)


def _lowest(kind: str) -> float:
    """Near the lowest finite number of a floating point type."""
    return -6.5e4 if kind == "f16" else -3.3e38


class _Mask:
    """The mask of an attention op: its own, a causal one, windows, and lengths, as one sum."""

    def __init__(self, node: Node, emit: Emitter, query: ir.Value, key: ir.Value) -> None:
        self.node = node
        self.emit = emit
        self.kind = element(query)
        self.rows, self.columns = emit.sizes(query)[2], emit.sizes(key)[2]
        self.left = node.attr("left_window_size", -1)
        self.right = node.attr("right_window_size", -1)
        self.causal = bool(node.attr("is_causal"))
        self.lengths = node.input(6)

    def bias(self) -> _Bias | None:
        """None if every query attends to every key."""
        parts: list[ir.Value] = []
        static = self._static_positions()
        limited = self.causal or self.left >= 0 or self.right >= 0
        if static is not None:
            parts.append(self.emit.constant(static, "mask"))
        elif limited:
            parts.append(self._chosen(self._allowed()))
        if self.node.input(3) is not None:
            parts.append(self._given(self.node[3]))
        if self.lengths is not None:
            before = self.emit.binary("kLESS", self.emit.positions(self.columns, 3, 4), self._length())
            parts.append(self._chosen(before))
        if not parts:
            return None
        total = parts[0]
        for part in parts[1:]:
            total = self.emit.binary("kSUM", total, part)
        only_static = len(parts) == 1 and static is not None
        return _Bias(total, only_static and bool(np.all(np.max(static, axis=-1) == 0)))  # type: ignore[arg-type]

    def _static_positions(self) -> np.ndarray | None:
        """The causal and window mask, where it is known now."""
        offset = self._offset()
        if not (self.causal or self.left >= 0 or self.right >= 0) or not isinstance(offset, int):
            return None
        if not isinstance(self.rows, int) or not isinstance(self.columns, int):
            return None
        ahead = np.arange(self.columns)[None, :] - (np.arange(self.rows)[:, None] + offset)
        allowed = np.ones(ahead.shape, bool)
        if self.causal:
            allowed &= ahead <= 0
        if self.left >= 0:
            allowed &= -ahead <= self.left
        if self.right >= 0:
            allowed &= ahead <= self.right
        return np.where(allowed, 0.0, -inf).astype(dtypes.by_mlir(self.kind).np)[None, None]

    def _offset(self) -> int | Dim | ir.Value:
        """How many keys come before the first query."""
        if self.node.input(4) is not None:
            return self.emit.sizes(self.node[4])[2]
        if self.lengths is None:
            return 0
        return self.emit.binary("kSUB", self._length(), self._as_tensor(self.rows))

    def _length(self) -> ir.Value:
        assert self.lengths is not None
        return self.emit.unsqueeze(self.lengths, [1, 2, 3])

    def _as_tensor(self, entry: int | Dim | ir.Value) -> ir.Value:
        """A number of rank 4; a value of that rank stays as it is."""
        if isinstance(entry, ir.Value) and rank_of(entry) == 4:
            return entry
        return self.emit.unsqueeze(self.emit.scalar(entry), [0, 1, 2])

    def _allowed(self) -> ir.Value:
        """Which keys causality and windows leave to each query, where positions are only known at run time."""
        emit = self.emit
        frontier = emit.binary("kSUM", self.emit.positions(self.rows, 2, 4), self._as_tensor(self._offset()))
        ahead = emit.binary("kSUB", self.emit.positions(self.columns, 3, 4), frontier)
        limits = []
        if self.causal:
            limits.append(emit.with_number("kLESS", ahead, 1))
        if self.left >= 0:
            limits.append(emit.with_number("kGREATER", ahead, -self.left - 1))
        if self.right >= 0:
            limits.append(emit.with_number("kLESS", ahead, self.right + 1))
        total = limits[0]
        for limit in limits[1:]:
            total = emit.binary("kAND", total, limit)
        return total

    def _chosen(self, allowed: ir.Value) -> ir.Value:
        """0 where allowed, else minus infinity."""
        ones = (1,) * rank_of(allowed)
        return self.emit.select(
            allowed, self.emit.filled(0, self.kind, ones), self.emit.filled(-inf, self.kind, ones)
        )

    def _given(self, mask: ir.Value) -> ir.Value:
        """The op's own mask as a sum, with minus infinity for keys beyond its end."""
        is_bool = element(mask) == "i1"
        width = shape_of(mask)[-1]
        if width is None or not isinstance(self.columns, int):
            if isinstance(self.columns, int) != (width is not None):
                raise Refused("a mask that may be shorter than the keys")
        elif width < self.columns:
            mask = self._padded(mask, self.columns, is_bool)
        mask = self.emit.expanded(mask, 4)
        return self._chosen(mask) if is_bool else mask

    def _padded(self, mask: ir.Value, width: int, is_bool: bool) -> ir.Value:
        if is_bool:
            mask, is_bool = self._chosen(mask), False
        size: list[int | Dim | ir.Value] = list(self.emit.sizes(mask))
        size[-1] = width
        fill = self.emit.filled(-inf, self.kind)
        return self.emit.slice(mask, [0] * len(size), size, mode="kFILL", fill=fill)
