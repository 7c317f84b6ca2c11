"""onnx-qoperators-to-qdq: chains of quantised ops become engines, with ONNX Runtime's numbers."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.input.onnx_qoperators_to_qdq import OnnxQoperatorsToQdq

RNG = np.random.default_rng(0)


def _model(nodes, shape, constants, opset=13):
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def _convolutions(unsigned: bool):
    """Two convolutions, the first with scales per channel and a bias, between Quantize and Dequantize."""
    kind, zero = (np.uint8, 120) if unsigned else (np.int8, 0)
    constants = {
        "xs": np.float32(0.05), "xz": kind(zero),
        "w": RNG.integers(-100, 100, (4, 3, 3, 3)).astype(np.int8),
        "ws": (RNG.random(4) * 0.01 + 0.001).astype(np.float32), "wz": np.zeros(4, np.int8),
        "b": RNG.integers(-500, 500, 4).astype(np.int32),
        "hs": np.float32(0.1), "hz": kind(zero),
        "v": RNG.integers(-100, 100, (2, 4, 1, 1)).astype(np.int8),
        "vs": np.float32(0.01), "vz": np.int8(0),
        "ys": np.float32(0.1), "yz": kind(zero),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node(
            "QLinearConv", ["q", "xs", "xz", "w", "ws", "wz", "hs", "hz", "b"], ["h"], pads=[1] * 4
        ),
        helper.make_node("QLinearConv", ["h", "hs", "hz", "v", "vs", "vz", "ys", "yz"], ["r"], strides=[2, 2]),
        helper.make_node("DequantizeLinear", ["r", "ys", "yz"], ["y"]),
    ]
    return _model(nodes, [1, 3, 8, 8], constants), RNG.standard_normal((1, 3, 8, 8)).astype(np.float32), 0.1


def _products(unsigned: bool):
    """Two products with zero points."""
    kind, zero = (np.uint8, 128) if unsigned else (np.int8, 3)
    constants = {
        "s": np.float32(0.05), "z": kind(zero),
        "w": RNG.integers(0, 100, (8, 8)).astype(kind), "ws": np.float32(0.01), "wz": kind(50),
    }  # fmt: skip
    names = ["w", "ws", "wz", "s", "z"]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("QLinearMatMul", ["q", "s", "z", *names], ["h"]),
        helper.make_node("QLinearMatMul", ["h", "s", "z", *names], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "s", "z"], ["y"]),
    ]
    return _model(nodes, [4, 8], constants), RNG.standard_normal((4, 8)).astype(np.float32), 0.05


@pytest.mark.parametrize("unsigned", [True, False])
@pytest.mark.parametrize("made", [_convolutions, _products])
def test_chains_are_one_engine(made, unsigned):
    """No op stays behind, and the numbers are those of the integer kernels, to one step in a few places."""
    model, x, step = made(unsigned)
    plan = mt.compile(model, target=["cpu", "sm89"], cache=False, isolate=False)
    assert plan.fallbacks.empty
    assert plan.engines.target.tolist() == ["cpu", "sm89"]
    wanted = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    found = plan.session("cpu")(x)
    assert found.shape == wanted.shape
    difference = np.abs(found - wanted)
    assert difference.max() <= step * 1.01 and (difference > step / 2).mean() < 0.1


def test_ops_are_replaced_and_stay_on_the_cpu():
    """What the pass makes of a convolution; nothing where all runs on the CPU, or scales have no axis."""
    model, _, _ = _convolutions(True)
    program = mt.from_onnx(model)
    OnnxQoperatorsToQdq().apply(program, PassContext(("cpu",)))
    assert "onnx.QLinearConv" in program.ops.op.tolist()
    OnnxQoperatorsToQdq().apply(program, PassContext(("cpu", "sm89")))
    program.verify()
    counts = dict(zip(program.ops.op, program.ops["count"], strict=True))
    assert "onnx.QLinearConv" not in counts
    assert (counts["onnx.Conv"], counts["onnx.QuantizeLinear"], counts["onnx.DequantizeLinear"]) == (2, 3, 6)
    del model.opset_import[:]
    model.opset_import.add(domain="", version=10)
    old = mt.from_onnx(model)
    OnnxQoperatorsToQdq().apply(old, PassContext(("sm89",)))
    assert dict(zip(old.ops.op, old.ops["count"], strict=True))["onnx.QLinearConv"] == 1
