"""Window functions of signal processing, whose size is known: constants."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from .emitter import Emitter
from .node import Node, Refused, converter, element

__all__: list[str] = []

# The first coefficients of the sums of cosines.
_COEFFICIENTS = {
    "HannWindow": (0.5, 0.5),
    "HammingWindow": (25.0 / 46.0, 21.0 / 46.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


@converter(*_COEFFICIENTS)
def _window(node: Node, emit: Emitter) -> ir.Value:
    """sum (-1)^k a_k cos(2 pi k n / N), with N one less for a symmetric window."""
    size = (node.ints(0, "size") or [0])[0]
    length = size if node.attr("periodic", 1) else size - 1
    if length <= 0:
        raise Refused(f"a window of size {size}")
    angles = 2 * np.pi * np.arange(size) / length
    terms = [(-1) ** k * a * np.cos(k * angles) for k, a in enumerate(_COEFFICIENTS[node.name])]
    return emit.constant(np.sum(terms, axis=0).astype(dtypes.by_mlir(element(node.result)).np), "window")
