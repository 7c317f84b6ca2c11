"""Scales of quantization: what the verifier refuses, in words that name the channels."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt
from mlirtrt_nb.dialects.scales import scale_problem
from mlirtrt_nb.errors import VerificationError
from mlirtrt_nb.frontends.text import from_mlir


@pytest.mark.parametrize(
    ("scale", "axis", "problem"),
    [
        (np.array(0.5), None, None),
        (np.array(-1.0), None, "the scale is negative"),
        (np.array([1, 0, 1]), 2, "the scale is zero at channel 1 of axis 2"),
        (
            np.array([1, np.nan, -1, np.inf, -2]),
            1,
            "the scale is not a number at channel 1 of axis 1; infinite at channel 3 of axis 1; "
            "negative at channels 2, 4 of axis 1",
        ),
        (-np.ones(9), 0, "the scale is negative at channels 0, 1, 2, 3 and 5 more of axis 0"),
        (np.array([[1, 0], [1, 1]]), None, "the scale is zero at block [0, 1]"),
    ],
)
def test_problems_name_their_channels(scale: np.ndarray, axis: int | None, problem: str | None) -> None:
    """Each kind of number that is no scale, a bounded number of places each."""
    assert scale_problem(scale, axis) == problem


def test_text_with_a_bad_scale_is_refused() -> None:
    """At the op, in the user's own text."""
    text = """func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xi8> {
  %s = tensorrt.constant dense<[1.0, -2.0, 1.0]> : tensor<3xf32>
  %q = tensorrt.quantize {axis = 1 : i32} in(%x : tensor<2x3xf32>) scale(%s : tensor<3xf32>) -> tensor<2x3xi8>
  return %q : tensor<2x3xi8>
}"""
    with pytest.raises(VerificationError, match="the scale is negative at channel 1 of axis 1") as caught:
        from_mlir(text)
    assert caught.value.span is not None and caught.value.span.line == 3


def _model(scale: np.ndarray):
    """x times weights of 8 by 40 that are dequantized per column."""
    arrays = {"q": np.ones((8, 40), np.int8), "s": scale.astype(np.float32)}
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1),
            helper.make_node("MatMul", ["x", "w"], ["y"]),
        ],
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 40])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def test_scales_among_the_weights_are_verified() -> None:
    """Also those that are too many to stand in the text."""
    good = np.full(40, 0.5)
    mt.from_onnx(_model(good)).verify()
    bad = good.copy()
    bad[[3, 39]] = np.nan, -1
    with pytest.raises(VerificationError, match="not a number at channel 3 of axis 1; negative at channel 39"):
        mt.from_onnx(_model(bad)).verify()
    with pytest.raises(VerificationError, match="39 scales for the 40 channels of axis 1"):
        mt.from_onnx(_model(good[:39])).verify()


def test_a_scale_that_tensorrt_does_not_take_goes_to_the_host() -> None:
    """ONNX allows negative scales: the report names the channel, the numbers are ONNX's."""
    scale = np.full(40, 0.5)
    scale[7] = -1
    plan = mt.compile(_model(scale), target=["cpu", "sm89"], cache=False, isolate=False)
    assert "negative at channel 7 of axis 1" in plan.fallbacks.reason.tolist()[0]
    found = plan.session("cpu")(np.ones((2, 8), np.float32))
    np.testing.assert_allclose(found, np.tile(8 * scale, (2, 1)), rtol=1e-6)
