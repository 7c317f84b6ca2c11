"""The sizes of poolings with ceil_mode, some of whose dimensions are known."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

import mlirtrt_nb as mt
from mlirtrt_nb.dialects.onnx.ceil_windows import ceil_span


@pytest.mark.parametrize(
    ("size", "before", "after", "reach", "stride", "span"),
    [
        (7, 0, 0, 2, 2, 8),  # four windows, the last of which is cut
        (4, 1, 1, 2, 3, 5),  # the third would start in the padding
        (8, 0, 0, 1, 2, 7),  # the fifth would start behind the end
        (8, 1, 1, 2, 2, 10),  # the fifth ends with the padding
    ],
)
def test_what_the_windows_span(size: int, before: int, after: int, reach: int, stride: int, span: int) -> None:
    """A cut window counts whole, and one that starts in the padding not at all."""
    assert ceil_span(size, before, after, reach, stride) == span


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize("opset", [13, 22])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((1, 2, 4, "w"), (1, 2, 2, None)),
        ((1, 2, "h", 4), (1, 2, None, 2)),
        (("n", 2, 4, 4), ("n", 2, 2, 2)),
        ((1, 2, "h", "w"), (1, 2, None, None)),
    ],
)
def test_a_known_dimension_beside_an_unknown_one(op: str, opset: int, given: tuple, expected: tuple) -> None:
    """Each known dimension has its own size, which inference before opset 22 gives one window too many."""
    window = {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1}
    nodes = [helper.make_node(op, ["x"], ["t"], **window), helper.make_node("Relu", ["t"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, given)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)
    graph = helper.make_graph(nodes, "pooling", [x], [y])
    program = mt.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))
    assert program.outputs[0].shape == expected
