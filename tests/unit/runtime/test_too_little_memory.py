"""Tensors that no machine holds: the model compiles, and its session says in one error what is too large."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import mlirtrt_nb as mt
from mlirtrt_nb import memory
from mlirtrt_nb.reports.synthetic import synthetic_inputs
from mlirtrt_nb.runtime import arena

COUNT = 2**46  # of f32: more than a process can address, so that no system grants it


def _model(*ops: str, size: int = COUNT, outputs: tuple[int, ...] = ()) -> ModelProto:
    """x, of one number, is expanded to `size` numbers and goes through the ops, of which the last gives y."""
    names = ["wide", *(f"t{n}" for n in range(1, len(ops))), "y"]
    nodes = [helper.make_node("Expand", ["x", "shape"], [names[0] if ops else "y"], name="widen")]
    for op, before, after in zip(ops, names, names[1:], strict=False):
        reduced = {"keepdims": 0} if op.startswith("Reduce") else {}
        nodes.append(helper.make_node(op, [before], [after], **reduced))
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, outputs)
    shape = numpy_helper.from_array(np.array([size], np.int64), "shape")
    graph = helper.make_graph(nodes, "wide", [given], [result], [shape])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


ONE = np.ones(1, np.float32)


def test_inside_an_engine() -> None:
    """The op, its node and the size are named, at the call."""
    session = mt.compile(_model("Sin", "ReduceSum"), cache=False).session("cpu", threads=1)
    with pytest.raises(mt.TargetError) as caught:
        session(ONE)
    told = str(caught.value)
    assert told.startswith(
        "a buffer of Expand takes 262144.0 GiB, and there is no room for it in this machine's "
    )
    assert "in node 'widen', wide" in told


def test_between_engines() -> None:
    """The largest buffer, its type and the size are named, as the session is made."""
    plan = mt.compile(_model("Bernoulli", "ReduceSum"), cache=False)
    assert len(plan.engine_values) > 1
    with pytest.raises(mt.TargetError, match=rf" of {COUNT}xf32 with 262144\.0 GiB, takes 524288\.0 GiB, and"):
        plan.session("cpu")


def test_a_system_that_promises_more_than_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine lacks is refused before it is written to, even where the system would grant it."""
    plan = mt.compile(_model("Bernoulli", "ReduceSum", size=1 << 20), cache=False)
    assert plan.session("cpu")(ONE).shape == ()
    for module in (arena, memory):
        monkeypatch.setattr(module, "machine_bytes", lambda: 1 << 21)
    with pytest.raises(mt.TargetError, match=r"with 4 MiB, takes 8 MiB, and .* in this machine's 2 MiB"):
        plan.session("cpu")


def test_an_output_that_the_session_allocates() -> None:
    """The output is named."""
    session = mt.compile(_model(outputs=(COUNT,)), cache=False).session("cpu")
    session.bind(x=ONE)
    with pytest.raises(mt.TargetError, match=r"output 'y' takes 262144\.0 GiB"):
        session.execute()


def test_an_input_that_is_made_up() -> None:
    """The input is named."""
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)],
            "wide",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [COUNT])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    session = mt.compile(model, cache=False).session("cpu")
    with pytest.raises(mt.TargetError, match=r"input 'x' takes 262144\.0 GiB"):
        synthetic_inputs(session.inputs)
