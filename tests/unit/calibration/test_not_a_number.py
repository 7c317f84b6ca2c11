"""Which tensors are looked at for a NaN during a min-max calibration, and which tensor an error names."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt
from mlirtrt_nb.calibration.observe import observed
from mlirtrt_nb.compilation import before_clustering

RNG = np.random.default_rng(3)


def model(*between: onnx.NodeProto, stride: int = 1) -> onnx.ModelProto:
    """log(x), a convolution of it to "c", what is between "c" and "d", a convolution of "d", and a softmax."""
    weights = [
        numpy_helper.from_array(np.abs(RNG.standard_normal((4, 4, 1, 1), dtype=np.float32)), name)
        for name in ("w0", "w1")
    ]
    nodes = [
        helper.make_node("Log", ["x"], ["l"], name="log"),
        helper.make_node("Conv", ["l", "w0"], ["c"], name="conv0", strides=[stride] * 2),
        *between,
        helper.make_node("Conv", ["d", "w1"], ["e"], name="conv1"),
        helper.make_node("Softmax", ["e"], ["y"], name="softmax", axis=1),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, None, None]) for name in "xy"]
    ends[0] = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 6, 6])
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return made


RELU = helper.make_node("Relu", ["c"], ["d"], name="between")
SLOPED = helper.make_node("Sigmoid", ["c"], ["d"], name="between")
LARGEST = helper.make_node("MaxPool", ["c"], ["d"], name="between", kernel_shape=[2, 2])
PARTS = [
    helper.make_node("Concat", ["c", "c"], ["cc"], name="joined", axis=2),
    helper.make_node("Mul", ["cc", "cc"], ["d"], name="between"),
]


def totals(given: onnx.ModelProto) -> set[str]:
    """The tensors that are looked at for a NaN."""
    return set(observed(before_clustering(mt.load(given)), ends=True).totals)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (model(RELU), {"between"}),
        (model(*PARTS), {"between"}),
        (model(RELU, stride=2), {"log", "between"}),
        (model(SLOPED), {"log", "between"}),
        (model(LARGEST), {"conv0"}),
    ],
    ids=["relu", "parts", "stride", "sigmoid", "largest"],
)
def test_which_are_looked_at(given: onnx.ModelProto, wanted: set[str]) -> None:
    """Not those whose NaN is in a later one for certain: a stride leaves numbers out, a largest number is no
    NaN, and of a sigmoid nothing is known."""
    assert totals(given) == wanted


@pytest.mark.parametrize("method", ["minmax", "entropy"])
@pytest.mark.parametrize("given", [model(RELU), model(*PARTS), model(RELU, stride=2), model(LARGEST)])
def test_the_first_is_named(given: onnx.ModelProto, method: str) -> None:
    """Where a NaN comes from is said, though it is found in what is made of it: ONNX Runtime hands it on."""
    batch = np.ones((1, 4, 6, 6), np.float32)
    mt.calibrate(mt.load(given), [batch], method)
    batch[0, 2, 3, 3] = -1
    with pytest.raises(mt.CalibrationError, match="'log' becomes NaN or infinity in batch 2"):
        mt.calibrate(mt.load(given), [np.ones_like(batch), batch], method)


def test_what_follows_the_last_tensor_is_not_computed() -> None:
    """The last convolution and the softmax give no tensor that would be rounded."""
    converted = before_clustering(mt.load(model(RELU)))
    for ends in (True, False):
        text = str(observed(converted, ends).program.module)
        assert text.count("tensorrt.convolution") == 1 and "tensorrt.softmax" not in text
    assert str(converted.module).count("tensorrt.convolution") == 2
