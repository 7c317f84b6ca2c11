"""Gathers, scatters, resizes, largest elements, quantization."""

from __future__ import annotations

import numpy as np
import pytest

from .support import check, converted, fallbacks, model, normal, ops


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [[0, 2], [[1, -1], [0, -2]], 1, -1])
def test_gather(axis, indices):
    """Constant indices of any rank; negative ones count from the end."""
    index = np.array(indices, np.int64)
    rank = ",".join("PQRST"[: 2 + index.ndim])
    proto = model(f"(float[3,4,5] x) => (float[{rank}] y)", f"y = Gather<axis = {axis}>(x, i)", {"i": index})
    assert check(proto, {"x": normal(3, 4, 5)}) == {"gather": 1}


@pytest.mark.parametrize("dims", ["3,4", "N,4"])
def test_gather_at_run_time(dims):
    """Indices from the graph may be negative too."""
    proto = model(f"(float[{dims}] x, int64[2] i) => (float[2,4] y)", "y = Gather(x, i)")
    check(proto, {"x": normal(3, 4), "i": np.array([-1, 1])})
    scalar = model(f"(float[{dims}] x, int64 i) => (float[4] y)", "y = Gather(x, i)")
    check(scalar, {"x": normal(3, 4), "i": np.array(-2)})


def test_gather_elements_and_gather_nd():
    """Single elements and positions, with negative coordinates."""
    proto = model(
        "(float[3,4] x) => (float[2,4] y)",
        "y = GatherElements<axis = 0>(x, i)",
        {"i": np.array([[0, 1, -1, 2], [2, -3, 0, 1]])},
    )
    check(proto, {"x": normal(3, 4)})
    proto = model(
        "(float[3,4,5] x) => (float[2,5] y)", "y = GatherND(x, i)", {"i": np.array([[0, 1], [-1, -2]])}
    )
    check(proto, {"x": normal(3, 4, 5)})
    proto = model("(float[3,4,5] x, int64[2,1] i) => (float[2,4,5] y)", "y = GatherND(x, i)")
    check(proto, {"x": normal(3, 4, 5), "i": np.array([[-1], [1]])})


def test_scatters():
    """Both scatters; a reduction is no layer."""
    proto = model(
        "(float[3,4] x, float[2,4] u) => (float[3,4] y)",
        "y = ScatterElements<axis = 0>(x, i, u)",
        {"i": np.array([[0, 1, -1, 2], [2, 0, 0, 1]])},
    )
    check(proto, {"x": normal(3, 4), "u": normal(2, 4)})
    proto = model(
        "(float[4,3] x, float[2,3] u) => (float[4,3] y)", "y = ScatterND(x, i, u)", {"i": np.array([[3], [-4]])}
    )
    check(proto, {"x": normal(4, 3), "u": normal(2, 3)})
    added = model(
        "(float[4,3] x, float[2,3] u) => (float[4,3] y)",
        'y = ScatterND<reduction = "add">(x, i, u)',
        {"i": np.array([[3], [0]])},
    )
    assert fallbacks(converted(added)) == {"onnx.scatternd": "reduction = 'add'"}


def resize(inputs, mode, coordinates, nearest):
    """A Resize in ONNX's text form."""
    modes = f'coordinate_transformation_mode = "{coordinates}", nearest_mode = "{nearest}"'
    return f'y = Resize<mode = "{mode}", {modes}>({inputs})'


@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize(
    ("mode", "nearest"),
    [("nearest", "floor"), ("nearest", "round_prefer_floor"), ("linear", "floor"), ("cubic", "floor")],
)
@pytest.mark.parametrize("scale", [2.0, 0.5])
def test_resize_by_scales(coordinates, mode, nearest, scale):
    """Every coordinate mode that the layer has, growing and shrinking."""
    text = resize("x, , s", mode, coordinates, nearest)
    proto = model(
        "(float[1,2,4,6] x) => (float[A,B,C,D] y)", text, {"s": np.array([1, 1, scale, scale], np.float32)}
    )
    counts = check(proto, {"x": normal(1, 2, 4, 6)}, tolerance=1e-4)
    assert counts == {f"resize_{mode}": 1}


def test_resize_by_sizes():
    """Static sizes, and the size of another feature map."""
    text = resize("x, , , s", "nearest", "asymmetric", "floor")
    proto = model("(float[1,2,4,6] x) => (float[A,B,C,D] y)", text, {"s": np.array([1, 2, 7, 9])})
    check(proto, {"x": normal(1, 2, 4, 6)})
    body = "t = Shape<start = 2>(z)  n = Shape<end = 2>(x)  s = Concat<axis = 0>(n, t)  " + text
    proto = model("(float[N,2,4,6] x, float[N,3,H,W] z) => (float[N,2,H,W] y)", body)
    check(proto, {"x": normal(1, 2, 4, 6), "z": normal(1, 3, 8, 9)})


def test_resize_of_any_size_and_of_opset_10():
    """Scales work on dynamic sizes; the old op has no coordinate modes."""
    text = resize("x, , s", "nearest", "asymmetric", "floor")
    scales = {"s": np.array([1, 1, 2, 2], np.float32)}
    check(
        model("(float[N,2,H,W] x) => (float[N,2,P,Q] y)", text, scales),
        {"x": normal(1, 2, 3, 5)},
        {"x": normal(2, 2, 4, 4)},
    )
    check(
        model("(float[1,2,3,4] x) => (float[1,2,6,8] y)", "y = Resize(x, s)", scales, opset=10),
        {"x": normal(1, 2, 3, 4)},
    )
    check(
        model("(float[1,2,3,4] x) => (float[1,2,6,8] y)", "y = Upsample(x, s)", scales, opset=9),
        {"x": normal(1, 2, 3, 4)},
    )


def test_resize_of_outer_dimensions_stays():
    """Only inner dimensions can be resized."""
    text = 'y = Resize<mode = "linear">(x, , s)'
    proto = model(
        "(float[2,2,2,4,6] x) => (float[A,B,C,D,E] y)", text, {"s": np.array([1, 2, 1, 1, 1], np.float32)}
    )
    assert fallbacks(converted(proto)) == {"onnx.resize": "linear resize of dimension 1 of 5"}


@pytest.mark.parametrize("attributes", ["", "axis = 0", "largest = 0", "axis = 1, largest = 0"])
def test_top_k(attributes):
    """Values and int64 indices, from either end, along any axis."""
    proto = model(
        "(float[4,5] x) => (float[A,B] v, int64[A,B] i)",
        f"v, i = TopK<{attributes}>(x, k)",
        {"k": np.array([3])},
    )
    assert check(proto, {"x": normal(4, 5)}) == {"top_k": 1}


def test_top_k_of_a_vector():
    """The layer takes two dimensions, so a vector becomes a row."""
    proto = model("(float[6] x) => (float[2] v, int64[2] i)", "v, i = TopK(x, k)", {"k": np.array([2])})
    check(proto, {"x": normal(6)})


@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(
    "attributes", ["axis = 0", "axis = 1, keepdims = 0", "axis = -1, select_last_index = 1"]
)
def test_arg_extremes(name, attributes):
    """The first extreme, or the last where that is asked for."""
    x = np.array([[1, 3, 3, 0], [2, 0, 0, 2], [1, 3, 3, 0]], np.float32)
    rank = "P" if "keepdims = 0" in attributes else "P,Q"
    proto = model(f"(float[3,4] x) => (int64[{rank}] y)", f"y = {name}<{attributes}>(x)")
    check(proto, {"x": x})


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis):
    """Negative indices count from the end; others out of range are off everywhere."""
    constants = {"d": np.array(4, np.int64), "v": np.array([-1, 2], np.float32)}
    proto = model("(int64[2,3] i) => (float[A,B,C] y)", f"y = OneHot<axis = {axis}>(i, d, v)", constants)
    check(proto, {"i": np.array([[0, 3, -1], [7, -4, 2]])})


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("ignored", ["", ", ignore_index = 1"])
@pytest.mark.parametrize("weighted", [True, False])
def test_losses(reduction, ignored, weighted):
    """Both losses, with class weights and an ignored class."""
    constants = {"w": np.array([0.5, 1.0, 2.0], np.float32)} if weighted else {}
    dims = "[2,4]" if reduction == "none" else ""
    for name in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        text = f'y = {name}<reduction = "{reduction}"{ignored}>(x, t{", w" if weighted else ""})'
        proto = model(f"(float[2,3,4] x, int64[2,4] t) => (float{dims} y)", text, constants)
        check(proto, {"x": normal(2, 3, 4), "t": np.array([[0, 1, 2, 1], [2, 2, 0, 0]])}, tolerance=1e-4)


def test_grid_sample():
    """Sampling at positions, in each mode."""
    for mode in ("bilinear", "nearest"):
        text = f'y = GridSample<mode = "{mode}", padding_mode = "border", align_corners = 1>(x, g)'
        proto = model("(float[1,2,4,5] x, float[1,3,3,2] g) => (float[1,2,3,3] y)", text)
        grid = np.tanh(normal(1, 3, 3, 2))
        check(proto, {"x": normal(1, 2, 4, 5), "g": grid}, tolerance=1e-4)


def test_nothing_is_left_of_shape_arithmetic():
    """Ops that only served a reshape disappear with it."""
    body = "s = Shape(x)  b = Slice(s, zero, one)  t = Concat<axis = 0>(b, minus)  y = Reshape(x, t)"
    constants = {"zero": np.array([0]), "one": np.array([1]), "minus": np.array([-1])}
    program = converted(model("(float[N,3,4] x) => (float[N,12] y)", body, constants))
    assert ops(program) == {"shuffle": 1}


@pytest.mark.parametrize(
    ("policy", "sizes"), [("not_larger", (7, 8)), ("not_smaller", (7, 8)), ("not_larger", (5, 4))]
)
def test_resize_of_one_ratio(policy, sizes):
    """The aspect ratio is kept where the scaled size is a whole number of pixels."""
    text = f'y = Resize<mode = "nearest", keep_aspect_ratio_policy = "{policy}", axes = [2, 3]>(x, , , s)'
    proto = model("(float[1,1,2,2] x) => (float[A,B,C,D] y)", text, {"s": np.array(sizes)}, opset=18)
    check(proto, {"x": normal(1, 1, 2, 2)})
