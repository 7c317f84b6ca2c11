"""Plans on a real GPU. Skipped where there is none."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

import mlirtrt_nb as mt
from mlirtrt_nb.engine.tensorrt.flavor import gpu_problem

PROBLEM = gpu_problem()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(PROBLEM is not None, reason=f"no GPU: {PROBLEM}")]


def _model(batch: int | str = 4) -> onnx.ModelProto:
    """softmax(relu(x @ w) @ v)."""
    rng = np.random.default_rng(0)
    weights = [onnx.numpy_helper.from_array(rng.standard_normal((64, 64), dtype=np.float32), n) for n in "wv"]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("MatMul", ["b", "v"], ["c"], name="second"),
        helper.make_node("Softmax", ["c"], ["y"], name="softmax"),
    ]
    value = [helper.make_tensor_value_info(name, 1, [batch, 64]) for name in "xy"]
    graph = helper.make_graph(nodes, "net", value[:1], value[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_agrees_with_the_cpu() -> None:
    """The engine built for this GPU gives what ONNX Runtime gives."""
    plan = mt.compile(_model(), target=["cpu", "cuda"])
    x = np.random.default_rng(1).standard_normal((4, 64), dtype=np.float32)
    np.testing.assert_allclose(plan.session("cuda")(x), plan.session("cpu")(x), rtol=1e-2, atol=1e-4)
    assert plan.session().device == "cuda"


def test_shapes_that_vary() -> None:
    """Batches within the profile run; one beyond it is refused."""
    plan = mt.compile(_model("batch"), target=["cpu", "cuda"], shapes={"x": ((1, 64), (4, 64), (8, 64))})
    session, host = plan.session("cuda"), plan.session("cpu")
    for batch in (1, 8, 3):
        x = np.random.default_rng(batch).standard_normal((batch, 64), dtype=np.float32)
        np.testing.assert_allclose(session(x), host(x), rtol=1e-2, atol=1e-4)
    with pytest.raises(mt.InputError, match="axis 0 is 9"):
        session(np.ones((9, 64), np.float32))


def test_a_saved_plan(tmp_path) -> None:
    """A Plan from a file runs on the GPU."""
    mt.compile(_model(), target=["cpu", "cuda"]).save(tmp_path / "net.plan")
    plan = mt.Plan.load(tmp_path / "net.plan")
    x = np.ones((4, 64), np.float32)
    np.testing.assert_allclose(plan.session("cuda")(x), plan.session("cpu")(x), rtol=1e-2, atol=1e-4)


def test_times_and_layers() -> None:
    """A benchmark has trtexec's metrics, measured by the device, and times of layers."""
    report = mt.benchmark(mt.compile(_model(), target="cuda").session("cuda"), duration_ms=200, profile=True)
    assert list(report.df["metric"]) == [
        "Latency",
        "Enqueue Time",
        "H2D Latency",
        "GPU Compute Time",
        "D2H Latency",
    ]
    assert (report.df["min"] > 0).all()
    assert len(report.layers)
