"""Ops of other domains get the types that ONNX Runtime works out, so that engines can follow them."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt


def compiled(node, width: int, constants: dict[str, np.ndarray]):
    """x -> the node -> a product with a matrix, for CPU and sm89."""
    arrays = {**constants, "w": np.ones((width, 4), np.float32)}
    graph = helper.make_graph(
        [node, helper.make_node("MatMul", ["h", "w"], ["y"])],
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9)
    return mt.compile(model, target=["cpu", "sm89"], cache=False, isolate=False)


def test_what_follows_an_op_of_another_domain_is_an_engine() -> None:
    """A quantised product, whose result has another shape than its input: the host, then TensorRT."""
    node = helper.make_node(
        "MatMulNBits", ["x", "b", "s"], ["h"], domain="com.microsoft", K=16, N=8, bits=4, block_size=16
    )
    packed = np.full((8, 1, 8), 0x99, np.uint8)  # nine everywhere, and eight stands for zero
    plan = compiled(node, 8, {"b": packed, "s": np.ones(8, np.float32)})
    assert "sm89" in plan.engines.target.tolist()
    rows = plan.fallbacks[["op", "backend"]].values.tolist()
    assert rows == [["com.microsoft.MatMulNBits", "onnxruntime"]]
    x = np.random.default_rng(0).standard_normal((2, 16), dtype=np.float32)
    wanted = np.repeat(x.sum(axis=1, keepdims=True) * 8, 4, axis=1)
    np.testing.assert_allclose(plan.session("cpu")(x), wanted, rtol=1e-4, atol=1e-4)


def test_an_elementwise_op_of_another_domain() -> None:
    """Its type is its input's; the numbers are those of the formula."""
    plan = compiled(helper.make_node("QuickGelu", ["x"], ["h"], domain="com.microsoft", alpha=1.0), 16, {})
    assert "sm89" in plan.engines.target.tolist()
    x = np.random.default_rng(1).standard_normal((2, 16), dtype=np.float32)
    wanted = np.repeat((x / (1 + np.exp(-x))).sum(axis=1, keepdims=True), 4, axis=1)
    np.testing.assert_allclose(plan.session("cpu")(x), wanted, rtol=1e-4, atol=1e-4)
