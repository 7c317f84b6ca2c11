"""What a user is told when ONNX Runtime fails in a run: the node and the reason, not a place in its sources."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import mlirtrt_nb as mt

F, I = TensorProto.FLOAT, TensorProto.INT64  # noqa: E741


def _model(op: str, inputs: dict[str, tuple[int, list[Any]]], shape: list[Any], name: str) -> ModelProto:
    node = helper.make_node(op, list(inputs), ["z"], name=name)
    entries = [helper.make_tensor_value_info(key, *spec) for key, spec in inputs.items()]
    graph = helper.make_graph([node], "g", entries, [helper.make_tensor_value_info("z", F, shape)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


FAILURES = {
    "gather": (
        _model("Gather", {"x": (F, [4]), "i": (I, [2])}, [2], "take"),
        None,
        {"x": _ones(4), "i": np.array([1, 9])},
        "Gather cannot compute with these inputs: indices element out of data bounds, idx=9 must be within the "
        "inclusive range [-4,3]\n  in node 'take', g",
    ),
    "reshape": (
        _model("Reshape", {"x": (F, [4]), "s": (I, [2])}, ["a", "b"], "shape it"),
        None,
        {"x": _ones(4), "s": np.array([3, 9])},
        "Reshape cannot compute with these inputs: The input tensor cannot be reshaped to the requested shape. "
        "Input shape:{4}, requested shape:{3,9}\n  in node 'shape it', g",
    ),
    "broadcast": (
        _model("Add", {"x": (F, ["n"]), "y": (F, ["m"])}, ["k"], "plus"),
        {"x": ((1,), (4,), (9,)), "y": ((1,), (4,), (9,))},
        {"x": _ones(4), "y": _ones(3)},
        "Add cannot compute with these inputs: Attempting to broadcast an axis by a dimension other than 1. "
        "3 by 4\n  in node 'plus', g",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_values_that_a_node_cannot_compute_with(name: str) -> None:
    """The message has the op, the reason and the node, and nothing of ONNX Runtime's sources."""
    model, shapes, inputs, expected = FAILURES[name]
    session = mt.compile(model, shapes=shapes, cache=False).session("cpu")
    with pytest.raises(mt.InputError) as caught:
        session.run(inputs)
    assert str(caught.value).strip() == expected


def test_a_bound_buffer_of_another_shape() -> None:
    """The message has the output, the buffer's shape and the one that the call gives."""
    model = _model("MatMul", {"x": (F, ["n", "k"]), "y": (F, ["k", "m"])}, ["n", "m"], "mm")
    shapes = dict.fromkeys("xy", ((1, 1), (4, 4), (9, 9)))
    session = mt.compile(model, shapes=shapes, cache=False).session("cpu")
    session.bind(x=_ones(4, 3), y=_ones(3, 5), z=_ones(2, 2))
    with pytest.raises(mt.InputError) as caught:
        session.execute()
    assert "the buffer bound to output 'z' has shape 2x2, but this call gives 4x5" in str(caught.value)
