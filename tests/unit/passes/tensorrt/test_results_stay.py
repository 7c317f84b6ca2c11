"""What the passes of the dialect make computes the same, run on the CPU."""

from __future__ import annotations

from math import erf

import numpy as np
import pytest

import mlirtrt_nb as mt

from .test_moving_data import BROADCAST, _one, _shuffle, _transpose
from .test_moving_data import function as whole
from .test_raise_activations import ADDED, DIVIDED, ERF, NUMBERS, PRODUCT
from .test_raise_normalizations import INSTANCE, _whole

PASSES = "broadcast-elimination,transpose-reshape-elimination,raise-activations,raise-normalizations,expand-ops"
CLUSTERING = "plan-clustering,plan-outline-clusters"

TEXTS = {
    "gelu": (
        whole("%x: tensor<2x8xf32>", NUMBERS + DIVIDED + ERF + ADDED + PRODUCT, "%g : tensor<2x8xf32>"),
        1e-6,
    ),
    "instance norm": (_whole(INSTANCE), 1e-5),
    "layer norm": (_whole(("2x5x8xf32", "2x5x1xf32", "array<i64: 2>", "tensor<1x1x8xf32>")), 1e-5),
    "moves": (
        _one(
            "2x3x4xf32",
            _transpose("a", "x", "d1, d2, d0", "2x3x4xf32", "3x4x2xf32")
            + "%b = tensorrt.reshape %a : tensor<3x4x2xf32> to tensor<6x4xf32>\n"
            + _shuffle("y", "b", "6x4xf32", "4x2x3xf32", [1, 0], [0, 1, 2], [4, 2, 3]),
            "4x2x3xf32",
        ),
        0,
    ),
    "broadcast": (
        whole(
            "%x: tensor<8xf32>, %z: tensor<4x8xf32>",
            f"{BROADCAST}%y = tensorrt.element_wise <kSUM>(%b, %z : tensor<4x8xf32>, tensor<4x8xf32>) -> "
            "tensor<4x8xf32>",
            "%y : tensor<4x8xf32>",
        ),
        0,
    ),
    "permuting broadcast": (
        _one(
            "1x8xf32",
            "%y = tensorrt.broadcast %x broadcast_dims<2, 0> : tensor<1x8xf32> to tensor<8x3x5xf32>\n",
            "8x3x5xf32",
        ),
        0,
    ),
}


def _outputs(text: str, pipeline: str, inputs: list[np.ndarray]) -> np.ndarray:
    program = mt.from_mlir(text)
    plan = mt.compile(program, target="cpu", pipeline=pipeline, cache=False)
    return np.asarray(plan.session("cpu")(*inputs))


def _random(text: str) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    shapes = [entry.shape for entry in mt.from_mlir(text).inputs]
    return [rng.standard_normal(shape, dtype=np.float32) * 3 for shape in shapes]


@pytest.mark.parametrize("name", TEXTS)
def test_same_results(name):
    """With the passes and without, the outputs agree to rounding."""
    text, tolerance = TEXTS[name]
    inputs = _random(text)
    plain = _outputs(text, CLUSTERING, inputs)
    changed = _outputs(text, f"{PASSES},{CLUSTERING}", inputs)
    np.testing.assert_allclose(changed, plain, rtol=tolerance, atol=tolerance)


def test_gelu_is_gelu():
    """The raised activation is x / 2 * (1 + erf(x / sqrt 2)), at NaN and at the ends too."""
    text, _ = TEXTS["gelu"]
    x = np.linspace(-6, 6, 16, dtype=np.float32).reshape(2, 8)
    x[0, 0], x[1, 7] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        expected = x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))
    found = _outputs(text, f"raise-activations,{CLUSTERING}", [x])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
