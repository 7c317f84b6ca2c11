"""Models at the edge of what ONNX allows, on the CPU: strings, and outputs that are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import mlirtrt_nb as mt
from mlirtrt_nb.errors import InputError

WORDS = np.array(["a", "ü"], dtype=object)
X = np.arange(6, dtype=np.float32)


def _strings(nodes: list[Any], outputs: list[Any], source: Any = None, opset: int = 17) -> onnx.ModelProto:
    source = source or helper.make_tensor_value_info("x", TensorProto.STRING, [2])
    graph = helper.make_graph(
        nodes, "g", [source], outputs, [helper.make_tensor("k", TensorProto.STRING, [1], [b"q"])]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def test_strings_through_an_engine() -> None:
    """Strings go in, come out, and may be constants, also ones that are returned as they are."""
    names = helper.make_tensor_value_info("y", TensorProto.STRING, [3])
    constant = helper.make_tensor_value_info("k", TensorProto.STRING, [1])
    model = _strings([helper.make_node("Concat", ["x", "k"], ["y"], axis=0)], [names, constant])
    plan = mt.compile(model)
    y, k = plan.session("cpu", threads=1)(WORDS)
    assert y.tolist() == ["a", "ü", "q"]
    assert k.tolist() == ["q"]


def test_strings_between_two_engines(tmp_path: Any) -> None:
    """Numbers of one engine become strings in another; the Plan's file keeps string constants."""
    source = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Cast", ["r"], ["c"], to=TensorProto.STRING),
        helper.make_node("Concat", ["c", "k"], ["y"], axis=0),
    ]
    outputs = [
        helper.make_tensor_value_info("y", TensorProto.STRING, [3]),
        helper.make_tensor_value_info("k", TensorProto.STRING, [1]),
    ]
    plan = mt.compile(_strings(nodes, outputs, source))
    plan.save(tmp_path / "words.plan")
    for found in (plan, mt.Plan.load(tmp_path / "words.plan")):
        session = found.session("cpu", threads=1)
        assert session(np.array([-1, 2], np.float32)).y.tolist() == ["0", "2", "q"]
    with pytest.raises(InputError, match="cannot be bound"):
        session.bind({"x": np.ones(2, np.float32)}, {"y": np.empty(3, object)}).execute()


@pytest.mark.parametrize("outputs", [["a", "", "c"], ["a", "b", ""], ["", "b", "c"]])
@pytest.mark.parametrize("lengths", [None, [1, 2, 3]])
def test_split_with_an_output_left_out(outputs: list[str], lengths: list[int] | None) -> None:
    """The parts keep their places, and how many there are; ONNX Runtime by itself ends the process here."""
    weights = [] if lengths is None else [helper.make_tensor("l", TensorProto.INT64, [3], lengths)]
    split = helper.make_node("Split", ["x"] if lengths is None else ["x", "l"], outputs, axis=0)
    kept = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name]
    source = helper.make_tensor_value_info("x", TensorProto.FLOAT, [6])
    graph = helper.make_graph([split], "g", [source], kept, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
    found = mt.compile(model).session("cpu", threads=1).run({"x": X})
    parts = np.split(X, np.cumsum(lengths or [2, 2, 2])[:-1])
    assert list(found) == [name for name in outputs if name]
    for name, part in zip(outputs, parts, strict=True):
        if name:
            np.testing.assert_array_equal(found[name], part)
