"""Tensors that no machine holds: the model compiles, and its session says in one error what is too large."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import mlirtrt_nb as mt
from mlirtrt_nb import memory
from mlirtrt_nb.engine import host_engine
from mlirtrt_nb.reports.synthetic import synthetic_inputs
from mlirtrt_nb.runtime import arena

COUNT = 2**46  # of f32: more than a process can address, so that no system grants it


def _model(*ops: str, size: int | None = COUNT, outputs: tuple[int, ...] = ()) -> ModelProto:
    """x, of one number, is expanded to `size` numbers and goes through the ops, of which the last gives y.

    Without a size, the size is an input.
    """
    names = ["wide", *(f"t{n}" for n in range(1, len(ops))), "y"]
    nodes = [helper.make_node("Expand", ["x", "shape"], [names[0] if ops else "y"], name="widen")]
    for op, before, after in zip(ops, names, names[1:], strict=False):
        reduced = {"keepdims": 0} if op.startswith("Reduce") else {}
        nodes.append(helper.make_node(op, [before], [after], **reduced))
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])]
    given += [helper.make_tensor_value_info("shape", TensorProto.INT64, [1])] if size is None else []
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, outputs)
    shapes = [] if size is None else [numpy_helper.from_array(np.array([size], np.int64), "shape")]
    graph = helper.make_graph(nodes, "wide", given, [result], shapes)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


ONE = np.ones(1, np.float32)


def _believe(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Let the machine have `size` bytes."""
    for module in (arena, host_engine, memory):
        monkeypatch.setattr(module, "machine_bytes", lambda: size)


def test_inside_an_engine() -> None:
    """The op, its node and the size are named, as the session is made."""
    plan = mt.compile(_model("Sin", "ReduceSum"), cache=False)
    with pytest.raises(mt.TargetError) as caught:
        plan.session("cpu")
    told = str(caught.value)
    assert told.startswith(
        "the result of Expand 'widen' takes 262144.0 GiB, and there is no room for it in this "
    )
    assert "in engine 'trt_engines::main_0' for cpu" in told


def test_what_an_input_makes_too_large() -> None:
    """The op, its node and the size are named, at the call."""
    session = mt.compile(_model("Sin", "ReduceSum", size=None), cache=False).session("cpu", threads=1)
    assert session(ONE, np.array([2])) == pytest.approx(2 * np.sin(1))
    with pytest.raises(mt.TargetError) as caught:
        session(ONE, np.array([COUNT]))
    told = str(caught.value)
    assert told.startswith("a buffer of Expand takes 262144.0 GiB, and there is no room for it in this machine")
    assert "in node 'widen', wide" in told


def test_between_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest buffer, its type and the size are named where the system grants no such arena."""
    plan = mt.compile(_model("Bernoulli", "ReduceSum"), cache=False)
    assert len(plan.engine_values) > 1
    _believe(monkeypatch, 2**60)
    with pytest.raises(mt.TargetError, match=rf" of {COUNT}xf32 with 262144\.0 GiB, takes 524288\.0 GiB, and"):
        plan.session("cpu")


def test_a_system_that_promises_more_than_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine lacks is refused before it is written to, even where the system would grant it."""
    plan = mt.compile(_model("Bernoulli", "ReduceSum", size=1 << 20), cache=False)
    assert plan.session("cpu")(ONE).shape == ()
    _believe(monkeypatch, 6 << 20)
    with pytest.raises(mt.TargetError, match=r"with 4 MiB, takes 8 MiB, and .* in this machine's 6 MiB"):
        plan.session("cpu")
    _believe(monkeypatch, 3 << 20)
    with pytest.raises(mt.TargetError, match=r"result of Expand 'widen' takes 4 MiB, and .* machine's 3 MiB"):
        plan.session("cpu")


def test_an_output_that_the_session_allocates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is named."""
    _believe(monkeypatch, 2**60)
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
