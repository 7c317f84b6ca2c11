"""Rotary embedding."""

from __future__ import annotations

from torch_mlir import ir

from .attention import heads_apart, heads_joined
from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of
from .shape_values import Dim

__all__: list[str] = []


@converter("RotaryEmbedding")
def _rotary(node: Node, emit: Emitter) -> ir.Value:
    """Pairs of hidden elements turned by the angle of their position."""
    packed = rank_of(node[0]) == 3
    x = node[0]
    if packed:
        x = heads_apart(node, emit, x, "num_heads")
    width = shape_of(x)[3]
    if width is None:
        raise Refused("a dynamic head size")
    turning = node.attr("rotary_embedding_dim", 0) or width
    rotated = _rotated(node, emit, _columns(emit, x, 0, turning), turning)
    if turning != width:
        rotated = emit.concat([rotated, _columns(emit, x, turning, width)], 3)
    return heads_joined(emit, rotated) if packed else rotated


def _rotated(node: Node, emit: Emitter, x: ir.Value, width: int) -> ir.Value:
    half = width // 2
    cosine, sine = (_angles(node, emit, node[n], half) for n in (1, 2))
    if node.attr("interleaved", 0):
        first, second = _columns(emit, x, 0, width, 2), _columns(emit, x, 1, width, 2)
    else:
        first, second = _columns(emit, x, 0, half), _columns(emit, x, half, width)
    real = emit.binary("kSUB", emit.binary("kPROD", first, cosine), emit.binary("kPROD", second, sine))
    imaginary = emit.binary("kSUM", emit.binary("kPROD", first, sine), emit.binary("kPROD", second, cosine))
    if not node.attr("interleaved", 0):
        return emit.concat([real, imaginary], 3)
    pairs = emit.concat([emit.unsqueeze(real, [4]), emit.unsqueeze(imaginary, [4])], 4)
    batch, heads, length = emit.sizes(x)[:3]
    return emit.reshape(pairs, [batch, heads, length, width])


def _angles(node: Node, emit: Emitter, cache: ir.Value, half: int) -> ir.Value:
    """The cosines or sines of each position, B x 1 x S x half."""
    positions = node.input(3)
    if positions is not None:
        dims = [*shape_of(positions), *shape_of(cache)[1:]]
        cache = emit.op("gather", [cache, positions], {"axis": 0}, emit.type(dims, element(cache)))
    if shape_of(cache)[-1] != half:
        cache = emit.slice(cache, [0, 0, 0], [*emit.sizes(cache)[:2], half])
    return emit.unsqueeze(cache, [1])


def _columns(emit: Emitter, x: ir.Value, start: int, end: int, step: int = 1) -> ir.Value:
    """x[..., start:end:step]."""
    sizes: list[int | Dim | ir.Value] = list(emit.sizes(x))
    count = len(range(start, end, step))
    if count == sizes[-1]:
        return x
    sizes[-1] = count
    return emit.slice(x, [0, 0, 0, start], sizes, [1, 1, 1, step])
