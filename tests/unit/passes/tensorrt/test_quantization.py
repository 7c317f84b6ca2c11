"""Quantization: TensorRT's layers for what is symmetric, the same numbers in floating point for the rest."""

from __future__ import annotations

import numpy as np
import pytest

from .support import check, converted, fallbacks, model, normal, ops

PAIR = "q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z)"
SAME = "(float[4,3] x) => (float[4,3] y)"


def constants(scale, zero, kind):
    return {"s": np.array(scale, np.float32), "z": np.array(zero, kind)}


@pytest.mark.parametrize(("scale", "zero"), [(0.05, 0), ([0.05, 0.1, 0.2], [0, 0, 0])])
def test_symmetric_pairs_are_layers(scale, zero):
    """int8 without a zero point, per tensor and per axis, stays int8."""
    counts = check(model(SAME, PAIR, constants(scale, zero, np.int8)), {"x": 4 * normal(4, 3)})
    assert counts == {"quantize": 1, "dequantize": 1}


@pytest.mark.parametrize(("kind", "zero"), [(np.uint8, 128), (np.uint8, 3), (np.int8, -7)])
def test_other_pairs_round_in_place(kind, zero):
    """The round trip through uint8 or a zero point clips and rounds as ONNX Runtime does."""
    counts = check(model(SAME, PAIR, constants(0.05, zero, kind)), {"x": 8 * normal(4, 3)})
    assert "onnx.quantizelinear" not in counts
    assert counts["activation"] == 1


def test_zero_points_along_an_axis():
    """One zero point per column."""
    check(model(SAME, PAIR, constants([0.05, 0.1, 0.2], [1, 128, 255], np.uint8)), {"x": 8 * normal(4, 3)})


def test_quantized_inputs_and_outputs():
    """uint8 may come in and go out."""
    inward = model(
        "(uint8[4] q) => (float[4] y)", "y = DequantizeLinear(q, s, z)", constants(0.5, 10, np.uint8)
    )
    check(inward, {"q": np.array([0, 10, 11, 255], np.uint8)})
    outward = model("(float[4] x) => (uint8[4] q)", "q = QuantizeLinear(x, s, z)", constants(0.5, 10, np.uint8))
    check(outward, {"x": np.array([-100, 0.25, 0.75, 1000], np.float32)})


def test_quantized_weights():
    """Symmetric int8 weights go through the layer; uint8 weights and int32 biases become their numbers."""
    symmetric = {"w": np.array([[1, -2, 3]], np.int8), "s": np.array(0.5, np.float32)}
    proto = model("(float[2,3] x) => (float[2,3] y)", "r = DequantizeLinear(w, s)  y = Mul(x, r)", symmetric)
    assert check(proto, {"x": normal(2, 3)}) == {"dequantize": 1, "element_wise": 1}
    for kind in (np.uint8, np.int32):
        constant = {"w": np.array([[1, 2, 3]], kind), "s": np.array(0.5, np.float32)}
        proto = model("(float[2,3] x) => (float[2,3] y)", "r = DequantizeLinear(w, s)  y = Mul(x, r)", constant)
        assert check(proto, {"x": normal(2, 3)}) == {"element_wise": 1}


def test_a_cast_to_uint8_within_a_graph_stays():
    """TensorRT has uint8 only at the borders of an engine."""
    proto = model("(float[2] x) => (float[2] y)", "u = Cast<to = 2>(x)  y = Cast<to = 1>(u)")
    assert "inputs and outputs" in fallbacks(converted(proto))["onnx.cast"]
    alone = model("(float[2] x) => (uint8[2] y)", "y = Cast<to = 2>(x)")
    assert ops(converted(alone)) == {"cast": 1}


def test_integer_products():
    """Products of 8-bit integers are exact; longer sums stay on the host."""
    a, b = np.arange(-6, 6, dtype=np.int8).reshape(3, 4), np.arange(8, dtype=np.int8).reshape(4, 2)
    body = "y = MatMulInteger(a, b, za, zb)"
    zeros = {"za": np.array(2, np.int8), "zb": np.array(-1, np.int8)}
    check(model("(int8[3,4] a, int8[4,2] b) => (int32[3,2] y)", body, zeros), {"a": a, "b": b})
    long = model("(int8[3,999] a, int8[999,2] b) => (int32[3,2] y)", body, zeros)
    assert "999 integer products" in fallbacks(converted(long))["onnx.matmulinteger"]


def test_quantized_products_and_convolutions():
    """The QOperator forms: dequantize, compute, quantize."""
    scales = {
        "sa": np.array(0.1, np.float32),
        "za": np.array(3, np.uint8),
        "sb": np.array(0.05, np.float32),
        "zb": np.array(120, np.uint8),
        "sy": np.array(0.2, np.float32),
        "zy": np.array(100, np.uint8),
    }
    a = np.arange(12, dtype=np.uint8).reshape(3, 4)
    b = np.arange(100, 108, dtype=np.uint8).reshape(4, 2)
    proto = model(
        "(uint8[3,4] a, uint8[4,2] b) => (uint8[3,2] y)",
        "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy)",
        scales,
    )
    check(proto, {"a": a, "b": b})
    weights = {"w": np.arange(110, 128, dtype=np.uint8).reshape(1, 2, 3, 3), "bias": np.array([40], np.int32)}
    proto = model(
        "(uint8[1,2,5,5] x) => (uint8[1,1,5,5] y)",
        "y = QLinearConv<pads = [1, 1, 1, 1]>(x, sa, za, w, sb, zb, sy, zy, bias)",
        scales | weights,
    )
    check(proto, {"x": np.arange(50, dtype=np.uint8).reshape(1, 2, 5, 5)})


def test_dynamic_quantization():
    """Scale and zero point come from the data."""
    proto = model("(float[6] x) => (uint8[6] y, float s, uint8 z)", "y, s, z = DynamicQuantizeLinear(x)")
    check(proto, {"x": np.array([0, 2, -3, -2.5, 1.34, 0.5], np.float32)})
