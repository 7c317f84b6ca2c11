"""Discrete Fourier transforms of a known length, as products with a matrix of cosines and sines."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from .emitter import Emitter
from .entries import Entry
from .matmul import product
from .node import Node, Refused, converter, element, rank_of, shape_of

__all__: list[str] = []


@converter("DFT")
def _dft(node: Node, emit: Emitter) -> ir.Value:
    """The last dimension holds real, or real and imaginary, parts; the transform runs along another."""
    x = node[0]
    rank = rank_of(x)
    axis = node.attr("axis", 1) if node.opset < 20 else (node.ints(2, "axis") or [-2])[0]
    axis = node.axis(axis)
    given, now = node.ints(1, "dft_length"), shape_of(x)[axis]
    size = given[0] if given else now
    inverse, one_sided = bool(node.attr("inverse")), bool(node.attr("onesided"))
    if size is None or now is None:
        raise Refused("a transform of a dynamic dimension")
    if (inverse and one_sided) or axis == rank - 1:
        raise Refused("a one-sided inverse transform" if axis != rank - 1 else f"axis {axis}")
    x = _resized(emit, x, axis, size)
    order = [n for n in range(rank - 1) if n != axis] + [axis, rank - 1]
    moved = emit.transpose(x, order)  # ..., length, parts
    outer = emit.sizes(moved)[:-2]
    parts = shape_of(x)[-1] or 1
    flat = emit.reshape(moved, [*outer, size * parts])
    bins = size // 2 + 1 if one_sided else size
    matrix = _matrix(size, parts, bins, inverse).astype(dtypes.by_mlir(element(x)).np)
    made = product(emit, flat, emit.constant(matrix, "fourier"))
    split = emit.reshape(made, [*outer, bins, 2])
    return emit.transpose(split, [order.index(n) for n in range(rank)])


def _resized(emit: Emitter, x: ir.Value, axis: int, size: int) -> ir.Value:
    """`x` cut or filled with zeros to `size` along `axis`."""
    now = shape_of(x)[axis]
    if now == size:
        return x
    dims: list[Entry] = list(emit.sizes(x))
    dims[axis] = size
    return emit.slice(x, [0] * len(dims), dims, mode="kFILL" if now is not None and now < size else "kDEFAULT")


def _matrix(size: int, parts: int, bins: int, inverse: bool) -> np.ndarray:
    """From interleaved parts of the samples to interleaved parts of the frequencies."""
    sign = 1.0 if inverse else -1.0
    angles = sign * 2.0 * np.pi * np.outer(np.arange(size), np.arange(bins)) / size
    cosine, sine = np.cos(angles), np.sin(angles)
    matrix = np.empty((size, parts, bins, 2))
    matrix[:, 0, :, 0], matrix[:, 0, :, 1] = cosine, sine
    if parts == 2:
        matrix[:, 1, :, 0], matrix[:, 1, :, 1] = -sine, cosine
    return matrix.reshape(size * parts, bins * 2) / (size if inverse else 1)
