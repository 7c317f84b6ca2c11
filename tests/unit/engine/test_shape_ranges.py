"""Shapes that depend on data: engines are built for their bounds; where there are none the Plan says why."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def model(nodes, inputs, outputs, constants=None):
    """A model of float32 inputs, or of int64 scalars where the shape is None."""
    ins = [
        helper.make_tensor_value_info(name, I64 if shape is None else F32, shape or [])
        for name, shape in inputs.items()
    ]
    outs = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    weights = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    return helper.make_model(
        helper.make_graph(nodes, "g", ins, outs, weights), opset_imports=[helper.make_opsetid("", 17)]
    )


def behind_compress(count):
    """Relu, the Compress of its true elements, whose number depends on data, and an Exp behind it."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Cast", ["a"], ["wanted"], to=TensorProto.BOOL),
        helper.make_node("Compress", ["a", "wanted"], ["b"], axis=0),
        helper.make_node("Exp", ["b"], ["y"], name="after"),
    ]
    return model(nodes, {"x": [count]}, {"y": F32})


def test_what_reads_a_shape_made_from_data_is_built_for_its_bounds():
    """The Exp behind a Compress is in an engine for none up to all of the elements, and the Plan has room."""
    plan = mt.compile(behind_compress(6), target=["cpu", "sm89"], cache=False)
    assert plan.fallbacks["op"].tolist() == ["onnx.Compress"]
    assert plan.engines["target"].tolist().count("sm89") == 2
    assert "tensorrt.shape_profile = #tensorrt.shape_profile<min = [0], opt = [3], max = [6]>" in plan.text()
    memory = plan.memory.query("device == 'cuda'").set_index("buffer")
    assert memory.loc["main_1.device", "bytes"] == memory.loc["main_host_0.device", "bytes"] == 24
    x = np.array([-1, 2, 0, 3, -4, 5], np.float32)
    np.testing.assert_allclose(plan.session("cpu")(x), np.exp([2, 3, 5]), rtol=1e-6)
    assert plan.session("cpu")(-np.abs(x)).shape == (0,)


def test_what_reads_a_shape_with_a_bound_too_large_goes_to_the_host(monkeypatch):
    """No memory is set aside for many elements that may never come: the host runs what reads them."""
    monkeypatch.setattr("mlirtrt_nb.engine.function_shapes._MOST_BOUNDED", 5)
    plan = mt.compile(behind_compress(6), target=["cpu", "sm89"], cache=False, isolate=False)
    rows = plan.fallbacks.set_index("op")
    assert rows.loc["tensorrt.unary", "location"] == "after"
    reason = "its shape depends on the data that onnx.compress reads"
    assert rows.loc["tensorrt.unary", "reason"].endswith(f"whose shape has no known range: {reason}")
    assert rows.loc["tensorrt.unary", "remedy"].startswith("compute it before the data-dependent op")


def test_a_length_given_as_a_number_is_no_range():
    """A Range whose end is an input has a length that zeros and ones do not tell."""
    nodes = [
        helper.make_node("Mul", ["n", "n"], ["squared"]),
        helper.make_node("Trilu", ["x", "k"], ["lower"], upper=0),
        helper.make_node("ReduceSum", ["lower"], ["total"], keepdims=0),
        helper.make_node("Range", ["zero", "squared", "one"], ["r"]),
        helper.make_node("Cast", ["r"], ["f"], to=F32),
        helper.make_node("Add", ["f", "total"], ["y"]),
    ]
    constants = {"zero": np.array(0), "one": np.array(1)}
    built = model(nodes, {"x": [3, 3], "n": None, "k": None}, {"y": F32}, constants)
    plan = mt.compile(built, target=["cpu", "sm89"], cache=False)
    feeds = {"x": np.ones((3, 3), np.float32), "n": np.array(3), "k": np.array(0)}
    np.testing.assert_array_equal(plan.session("cpu").run(feeds)["y"], np.arange(9, dtype=np.float32) + 6)


def test_what_reads_a_slice_up_to_a_number_is_built_for_all_of_the_axis():
    """A Slice whose end is the result of a host op leaves at most what it was given."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Cast", ["a"], ["wanted"], to=TensorProto.BOOL),
        helper.make_node("NonZero", ["wanted"], ["found"]),
        helper.make_node("ReduceMax", ["found"], ["last"], axes=[1], keepdims=0),
        helper.make_node("Slice", ["a", "zero", "last"], ["b"]),
        helper.make_node("Exp", ["b"], ["y"], name="after"),
    ]
    built = model(nodes, {"x": [6]}, {"y": F32}, {"zero": np.array([0])})
    plan = mt.compile(built, target=["cpu", "sm89"], cache=False)
    assert "tensorrt.shape_profile<min = [0], opt = [3], max = [6]>" in plan.text()
    assert "tensorrt.unary" not in plan.fallbacks["op"].tolist()
    x = np.array([-1, 2, 0, 3, -4, 5], np.float32)
    np.testing.assert_allclose(plan.session("cpu")(x), np.exp([0, 2, 0, 3, 0]), rtol=1e-6)
