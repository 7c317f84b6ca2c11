"""What ONNX Runtime has no kernel for runs on ONNX's reference evaluator, and the Plan says so."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt

ROWS = 600  # enough for the weight to stay outside the engine's model


def weights() -> np.ndarray:
    return np.linspace(1.0, 3.0, ROWS * 4).reshape(ROWS, 4)


def acosh_model():
    """acosh(w + x) of float64, which ONNX Runtime has for float32 only, then a Relu of float32."""
    nodes = [
        helper.make_node("Add", ["w", "x"], ["sum"]),
        helper.make_node("Acosh", ["sum"], ["area"]),
        helper.make_node("Cast", ["area"], ["single"], to=TensorProto.FLOAT),
        helper.make_node("Relu", ["single"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "acosh",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, 4])],
        [numpy_helper.from_array(weights(), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


@pytest.fixture(scope="module")
def plan():
    return mt.compile(acosh_model(), target=["cpu", "sm89"], cache=False)


def test_the_host_part_goes_to_the_evaluator_and_the_rest_does_not(plan):
    """One engine of the evaluator's beside those of the Relu; each fallback names it as what runs it."""
    kinds = dict(zip(plan.engines.engine, [engine.kind for engine in plan.engine_values], strict=True))
    assert kinds["main_host_0"] == "onnx_reference"
    assert {engine.kind for engine in plan.engine_values if engine.target == "sm89"} == {"tensorrt_rtx"}
    rows = plan.fallbacks.set_index("op")
    assert rows.loc["onnx.Acosh", "backend"] == "onnx_reference"
    assert "f64" in rows.loc["onnx.Acosh", "reason"]


def test_the_numbers_are_numpys(plan):
    """Both a call and an execution on bound memory give what NumPy does, to the last bit of float32."""
    x = np.array([0.0, 0.5, 1.0, 7.0])
    expected = np.arccosh(weights() + x).astype(np.float32)
    session = plan.session("cpu")
    np.testing.assert_array_equal(session(x), expected)
    out = np.empty((ROWS, 4), np.float32)
    session.bind(x=x, y=out).execute()
    np.testing.assert_array_equal(out, expected)


def test_it_is_saved_and_opened_with_the_plan(plan, tmp_path):
    """A Plan file keeps which runtime an engine is for."""
    plan.save(tmp_path / "acosh.plan")
    again = mt.Plan.load(tmp_path / "acosh.plan")
    x = np.full(4, 2.0)
    np.testing.assert_array_equal(again.session("cpu")(x), plan.session("cpu")(x))


def test_what_neither_takes_is_an_error_in_onnx_runtimes_words():
    """An op that no runtime knows cannot be run by anything: the error is ONNX Runtime's."""
    node = helper.make_node("Frobnicate", ["x"], ["y"], domain="com.microsoft")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=opsets)
    with pytest.raises(mt.EngineBuildError, match=r"ONNX Runtime refused it.*Frobnicate"):
        mt.compile(model, cache=False)
