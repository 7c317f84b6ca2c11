"""Small ONNX models whose numbers go wrong in known places."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["classifier", "faint", "inputs", "overflowing"]


def _model(
    nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray], ins: list[int], outs: list[int]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ins)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, outs)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def overflowing() -> onnx.ModelProto:
    """dense1, act, blow, shrink, dense2: what `blow` gives is above 65504, so it and `shrink` need f32."""
    rng = np.random.default_rng(3)
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="dense1"),
        helper.make_node("Relu", ["a"], ["b"], name="act"),
        helper.make_node("Mul", ["b", "up"], ["c"], name="blow"),
        helper.make_node("Div", ["c", "up"], ["d"], name="shrink"),
        helper.make_node("MatMul", ["d", "w2"], ["y"], name="dense2"),
    ]
    weights = {
        "w1": rng.standard_normal((8, 16)).astype(np.float32),
        "up": np.linspace(3.0e4, 6.0e4, 16, dtype=np.float32),
        "w2": (rng.standard_normal((16, 6)) / 4).astype(np.float32),
    }
    return _model(nodes, weights, [4, 8], [4, 6])


def classifier() -> onnx.ModelProto:
    """Two convolutions, each with an activation, a pooling over all, and a product; channel 2 is dead."""
    rng = np.random.default_rng(5)
    first = rng.standard_normal((8, 3, 3, 3)).astype(np.float32) / 5
    first[2] = 0
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu1"),
        helper.make_node("Conv", ["b", "w2"], ["c"], name="conv2", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["d"], name="relu2"),
        helper.make_node("GlobalAveragePool", ["d"], ["e"], name="pool"),
        helper.make_node("Flatten", ["e"], ["f"], name="flat"),
        helper.make_node("MatMul", ["f", "w3"], ["y"], name="dense"),
    ]
    weights = {
        "w1": first,
        "w2": rng.standard_normal((16, 8, 3, 3)).astype(np.float32) / 8,
        "w3": rng.standard_normal((16, 10)).astype(np.float32) / 4,
    }
    return _model(nodes, weights, [1, 3, 12, 12], [1, 10])


def faint() -> onnx.ModelProto:
    """One product called `dense`; half of its weights are too small for f16."""
    weights = np.ones((8, 6), np.float32)
    weights[::2] = 1e-9
    return _model([helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")], {"w": weights}, [4, 8], [4, 6])


def inputs(shape: tuple[int, ...], count: int = 3) -> list[dict[str, np.ndarray]]:
    """Seeded samples for the input `x`."""
    rng = np.random.default_rng(11)
    return [{"x": rng.standard_normal(shape).astype(np.float32)} for _ in range(count)]
