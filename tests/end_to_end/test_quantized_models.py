"""Models that come quantised: every granularity and opset, in one engine, with the numbers of the formula."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 8)).astype(np.float32)
W = RNG.standard_normal((8, 6)).astype(np.float32)
Q = RNG.integers(-127, 127, (8, 6)).astype(np.int8)


def compiled(nodes, constants, opset=21):
    """x of 4 by 8 to y, for CPU and sm89."""
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return mt.compile(model, target=["cpu", "sm89"], cache=False, isolate=False)


def scales(*shape: int) -> np.ndarray:
    return (RNG.random(shape) * 0.1 + 0.01).astype(np.float32)


def spread(array: np.ndarray, block: int, axis: int) -> np.ndarray:
    return np.repeat(array.astype(np.float32), block, axis=axis).take(range(Q.shape[axis]), axis=axis)


KINDS = {
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}


@pytest.mark.parametrize("granularity", ["tensor", "axis", "block"])
@pytest.mark.parametrize("kind", KINDS)
def test_weights(kind, granularity):
    """Weights of each type, with and without zero points: dequantised in the engine, or written out."""
    dtype = KINDS[kind]
    unsigned = kind.startswith("u")
    whole = np.abs(Q) if unsigned else Q
    stored = (whole // 16 if kind in ("i4", "u4", "e4m3", "e5m2") else whole).astype(dtype)
    shape = {"tensor": (), "axis": (6,), "block": (2, 6)}[granularity]
    scale = scales(*shape)
    constants = {"q": stored, "s": scale}
    zero = np.zeros(shape)
    if unsigned:
        zero = np.full(shape, 8)
        constants["z"] = zero.astype(dtype)
    attributes = {"axis": {"axis": -1}, "block": {"axis": 0, "block_size": 4}}.get(granularity, {})
    node = helper.make_node("DequantizeLinear", [name for name in ("q", "s", "z") if name in constants], ["w"])
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    plan = compiled([node, helper.make_node("MatMul", ["x", "w"], ["y"])], constants)
    assert plan.fallbacks.empty and "sm89" in plan.engines.target.tolist()
    if granularity == "block":
        scale, zero = spread(scale, 4, 0), spread(zero, 4, 0)
    wanted = X @ ((stored.astype(np.float32) - zero) * scale).astype(np.float32)
    np.testing.assert_allclose(plan.session("cpu")(X), wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("granularity", ["tensor", "axis", "block"])
@pytest.mark.parametrize(("kind", "zero"), [("i8", 0), ("i8", 3), ("u8", 128), ("i16", 5), ("u16", 9)])
def test_activations(kind, zero, granularity):
    """A round trip through each type rounds and clips, with a zero point or without."""
    dtype = KINDS[kind]
    shape = {"tensor": (), "axis": (8,), "block": (4, 2)}[granularity]
    scale = scales(*shape) / (1 if kind.endswith("8") else 100)
    constants = {"s": scale, "z": np.full(shape, zero, dtype), "w": W}
    attributes = {"axis": {"axis": 1}, "block": {"axis": 1, "block_size": 4}}.get(granularity, {})
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **attributes),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], **attributes),
        helper.make_node("MatMul", ["d", "w"], ["y"]),
    ]
    plan = compiled(nodes, constants)
    assert plan.fallbacks.empty and "sm89" in plan.engines.target.tolist()
    full = np.repeat(scale, 4, axis=1) if granularity == "block" else scale
    limits = np.iinfo(dtype)
    rounded = np.clip(np.rint(X / full) + zero, limits.min, limits.max)
    wanted = ((rounded - zero) * full).astype(np.float32) @ W
    # A number halfway between two may go either way: one step of one element.
    np.testing.assert_allclose(
        plan.session("cpu")(X), wanted, rtol=1e-4, atol=float(np.max(full)) * 0.01 + 1e-4
    )


@pytest.mark.parametrize("opset", [10, 13, 19, 21, 23])
def test_opsets(opset):
    """Per tensor in every opset that has the ops."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("MatMul", ["d", "w"], ["y"]),
    ]
    plan = compiled(nodes, {"s": np.float32(0.05), "z": np.int8(0), "w": W}, opset)
    assert plan.fallbacks.empty
    wanted = (np.clip(np.rint(X / np.float32(0.05)), -128, 127) * np.float32(0.05)).astype(np.float32) @ W
    np.testing.assert_allclose(plan.session("cpu")(X), wanted, rtol=1e-4, atol=1e-3)


def test_a_bias_of_int32_is_written_out():
    """Per channel, as quantisers write biases."""
    constants = {
        "q": RNG.integers(-1000, 1000, 6).astype(np.int32),
        "s": scales(6),
        "z": np.zeros(6, np.int32),
        "w": W,
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["b"], axis=0),
        helper.make_node("Gemm", ["x", "w", "b"], ["y"]),
    ]
    plan = compiled(nodes, constants, 13)
    assert plan.fallbacks.empty
    np.testing.assert_allclose(
        plan.session("cpu")(X), X @ W + constants["q"] * constants["s"], rtol=1e-4, atol=1e-4
    )
