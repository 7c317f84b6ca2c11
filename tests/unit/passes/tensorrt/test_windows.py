"""Convolution, transposed convolution and pooling: padding, strides, groups, one to three dimensions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from .support import check, converted, fallbacks, model, normal, ops

TOLERANCE = 1e-4


def convolution(name, shape, weight, attributes, bias=True, dynamic=""):
    """A convolution whose weights are constant."""
    dims = dynamic or ",".join(map(str, shape))
    rank = ",".join("ABCDE"[: len(shape)])
    constants = {"w": normal(*weight)}
    group = attributes.get("group", 1)
    if bias:
        constants["b"] = normal(weight[0] if name == "Conv" else weight[1] * group)
    text = ", ".join(f"{k} = {v!r}".replace("'", '"') for k, v in attributes.items())
    body = f"y = {name}<{text}>(x, w{', b' if bias else ''})"
    return model(f"(float[{dims}] x) => (float[{rank}] y)", body, constants)


@pytest.mark.parametrize(
    ("shape", "weight", "attributes"),
    [
        ((1, 3, 8, 9), (4, 3, 3, 3), {}),
        ((2, 4, 8, 9), (6, 2, 3, 2), {"group": 2, "strides": [2, 1], "pads": [1, 0, 2, 1]}),
        ((1, 4, 9, 9), (4, 1, 3, 3), {"group": 4, "dilations": [2, 2], "pads": [2, 2, 2, 2]}),
        ((1, 2, 10), (4, 2, 3), {"strides": [2], "pads": [1, 1]}),
        ((1, 2, 5, 6, 7), (3, 2, 2, 2, 2), {"strides": [1, 2, 1]}),
        ((1, 2, 8, 8), (3, 2, 3, 3), {"auto_pad": "VALID"}),
    ],
)
def test_convolutions(shape, weight, attributes):
    """With constant weights everything stands in one layer."""
    counts = check(convolution("Conv", shape, weight, attributes), {"x": normal(*shape)}, tolerance=TOLERANCE)
    flat = {"expand_rank": 1, "collapse_rank": 1} if len(shape) == 3 else {}
    assert counts == {"convolution": 1, **flat}


@pytest.mark.parametrize(
    ("mode", "stride", "dilation", "size"),
    list(product(["SAME_UPPER", "SAME_LOWER"], [1, 2, 3], [1, 2], [7, 8])),
)
def test_auto_pad(mode, stride, dilation, size):
    """auto_pad with every stride and dilation."""
    attributes = {"auto_pad": mode, "strides": [stride] * 2, "dilations": [dilation] * 2}
    shape = (1, 2, size, size + 1)
    proto = convolution("Conv", shape, (3, 2, 3, 2), attributes)
    feed = {"x": normal(*shape)}
    # ONNX Runtime itself has no auto_pad with dilation.
    expected = ReferenceEvaluator(proto).run(None, feed)
    check(proto, feed, expected=expected, tolerance=TOLERANCE)


def test_convolution_of_any_size():
    """Batch, height and width may be dynamic; auto_pad then needs stride 1."""
    for attributes in ({"pads": [1, 1, 1, 1], "strides": [2, 2]}, {"auto_pad": "SAME_UPPER"}):
        proto = convolution("Conv", (1, 3, 8, 8), (4, 3, 3, 3), attributes, dynamic="N,3,H,W")
        check(proto, {"x": normal(1, 3, 8, 8)}, {"x": normal(2, 3, 5, 9)}, tolerance=TOLERANCE)
    refused = convolution(
        "Conv", (1, 3, 8, 8), (4, 3, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, dynamic="N,3,H,W"
    )
    assert "auto_pad" in fallbacks(converted(refused))["onnx.conv"]


def test_weights_that_are_computed():
    """A kernel and a bias from the graph become operands."""
    proto = model("(float[1,2,6,6] x, float[3,2,3,3] w, float[3] b) => (float[1,3,4,4] y)", "y = Conv(x, w, b)")
    check(proto, {"x": normal(1, 2, 6, 6), "w": normal(3, 2, 3, 3), "b": normal(3)}, tolerance=TOLERANCE)


def test_weights_are_the_models_own_arrays():
    """No weight is copied on the way into the layer."""
    from mlirtrt_nb.frontends.onnx import from_onnx
    from mlirtrt_nb.passes.base import PassContext
    from mlirtrt_nb.passes.tensorrt.onnx_to_tensorrt import OnnxToTensorrt

    program = from_onnx(convolution("Conv", (1, 8, 8, 8), (16, 8, 3, 3), {}))
    before = dict(program.weights)
    OnnxToTensorrt().apply(program, PassContext())
    assert set(program.weights) <= set(before)
    assert all(np.shares_memory(program.weights[name], before[name]) for name in program.weights)


@pytest.mark.parametrize(
    ("shape", "weight", "attributes"),
    [
        ((1, 3, 4, 5), (3, 4, 3, 3), {}),
        ((1, 4, 4, 5), (4, 2, 3, 2), {"group": 2, "strides": [2, 3], "pads": [1, 0, 1, 1]}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"strides": [3, 3], "output_padding": [1, 2]}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"dilations": [2, 2]}),
        ((1, 2, 6), (2, 3, 3), {"strides": [2]}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"strides": [3, 2], "output_shape": [11, 8]}),
        ((1, 1, 2, 3, 4), (1, 2, 2, 2, 2), {"strides": [2, 1, 2]}),
    ],
)
def test_transposed_convolutions(shape, weight, attributes):
    """Transposed convolution, with every way to ask for a size."""
    check(convolution("ConvTranspose", shape, weight, attributes), {"x": normal(*shape)}, tolerance=TOLERANCE)


def pool(name, shape, attributes, opset=17):
    dims, rank = ",".join(map(str, shape)), ",".join("ABCDE"[: len(shape)])
    text = ", ".join(f"{k} = {v!r}".replace("'", '"') for k, v in attributes.items())
    return model(f"(float[{dims}] x) => (float[{rank}] y)", f"y = {name}<{text}>(x)", opset=opset)


@pytest.mark.parametrize("name", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((1, 2, 7, 8), {"kernel_shape": [2, 3]}),
        ((1, 2, 7, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 2, 7, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 1, 1, 0]}),
        ((1, 2, 7, 8), {"kernel_shape": [3, 2], "strides": [2, 3], "ceil_mode": 1}),
        ((1, 2, 8, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
        ((1, 2, 9), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
        ((1, 2, 5, 6, 7), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}),
        ((1, 2, 8, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 2, 8, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    ],
)
def test_pooling(name, shape, attributes):
    """Both kinds of pooling, with padding, ceil_mode and auto_pad."""
    check(pool(name, shape, attributes), {"x": normal(*shape)})


@pytest.mark.parametrize("ceil_mode", [0, 1])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]])
@pytest.mark.parametrize("size", [6, 7, 8])
def test_averages_that_count_padding(ceil_mode, pads, size):
    """Padding counts, what ceil_mode adds does not, also where the last window starts in the padding."""
    attributes = {
        "kernel_shape": [3, 3],
        "strides": [2, 2],
        "pads": pads,
        "ceil_mode": ceil_mode,
        "count_include_pad": 1,
    }
    check(pool("AveragePool", (1, 1, size, size), attributes, opset=19), {"x": normal(1, 1, size, size)})


def test_pooling_of_any_size():
    """ceil_mode without padding needs no size to be known."""
    text = "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(x)"
    proto = model("(float[N,3,H,W] x) => (float[N,3,P,Q] y)", text)
    counts = check(proto, {"x": normal(1, 3, 7, 8)}, {"x": normal(2, 3, 6, 5)})
    assert counts == {"pooling": 1}


@pytest.mark.parametrize("name", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [2, 3], "dilations": [2, 2]},
        {"kernel_shape": [3, 3], "dilations": [2, 1], "strides": [2, 2], "pads": [1, 1, 2, 0]},
        {"kernel_shape": [2, 2], "dilations": [2, 2], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "dilations": [2, 2], "pads": [2, 2, 2, 2], "count_include_pad": 1},
    ],
)
def test_windows_with_gaps(name, attributes):
    """Dilated pooling is spelled out in slices."""
    if name == "MaxPool":
        attributes = {key: value for key, value in attributes.items() if key != "count_include_pad"}
    counts = check(pool(name, (1, 2, 9, 8), attributes, opset=19), {"x": normal(1, 2, 9, 8)})
    assert "pooling" not in counts


@pytest.mark.parametrize("name", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_pooling(name):
    """Pooling over the whole map, of any size, is a reduction."""
    proto = model("(float[N,3,H,W] x) => (float[N,3,1,1] y)", f"y = {name}(x)")
    assert check(proto, {"x": normal(2, 3, 5, 6)}) == {"reduce": 1}


def test_lp_pooling():
    """A sum of powers over windows and over maps."""
    check(
        pool("LpPool", (1, 2, 6, 6), {"kernel_shape": [2, 2], "strides": [2, 2], "p": 2}),
        {"x": normal(1, 2, 6, 6)},
    )
    check(
        model("(float[1,2,4,4] x) => (float[1,2,1,1] y)", "y = GlobalLpPool<p = 3>(x)"),
        {"x": normal(1, 2, 4, 4)},
    )


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"kernel_shape": [9, 9], "dilations": [2, 2], "pads": [5] * 4}, "windows of 81 elements"),
        ({"kernel_shape": [2, 2], "pads": [1, 1, 2, 2]}, "padding as large as the pooling window"),
    ],
)
def test_pooling_that_no_layer_has(attributes, words):
    """Reasons for pooling that stays."""
    program = converted(pool("MaxPool", (1, 1, 8, 8), attributes))
    assert words in fallbacks(program)["onnx.maxpool"]
    assert ops(program) == {"onnx.maxpool": 1}
