"""Corners of ONNX where importers are known to go wrong, compiled for the CPU and held against a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import mlirtrt_nb as mt

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RNG = np.random.default_rng(7)


def model(
    nodes: list[NodeProto],
    inputs: dict[str, np.ndarray],
    outputs: list[str],
    constants: dict[str, Any] | None = None,
    opset: int = 21,
    kind: int = F32,
) -> ModelProto:
    """A model whose inputs have the arrays' shapes and whose results' shapes are not declared."""
    ins = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    outs = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", ins, outs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def ours(proto: ModelProto, feeds: dict[str, np.ndarray]) -> list[Any]:
    return list(mt.compile(proto, cache=False).session("cpu", threads=1).run(feeds).values())


def runtime(proto: ModelProto, feeds: dict[str, np.ndarray]) -> list[Any]:
    """What ONNX Runtime gives for the model as it is."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


def evaluator(proto: ModelProto, feeds: dict[str, np.ndarray]) -> list[Any]:
    """What ONNX's reference evaluator gives."""
    return list(ReferenceEvaluator(proto).run(None, feeds))


def check(proto: ModelProto, feeds: dict[str, np.ndarray], reference: Any = runtime) -> list[Any]:
    found, expected = ours(proto, feeds), reference(proto, feeds)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
    return found


def randn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_softmax_before_and_after_opset_13(op: str, opset: int, axis: int | None) -> None:
    """Up to opset 12 the op flattens to a matrix at an axis that is 1 by default, later it is along -1."""
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    x = randn(2, 3, 4)
    check(model([helper.make_node(op, ["x"], ["y"], **attributes)], {"x": x}, ["y"], opset=opset), {"x": x})


def test_flatten_says_its_node_its_axis_and_the_range() -> None:
    """An axis out of range is refused by name."""
    x = randn(2, 3)
    node = helper.make_node("Flatten", ["x"], ["y"], name="flat", axis=5)
    with pytest.raises(mt.MlirTrtError, match=r"(?s)5.*-?2.*flat|flat.*5"):
        mt.compile(model([node], {"x": x}, ["y"]))


def test_bitwise_not() -> None:
    """Every bit is turned, for signed and unsigned numbers."""
    for dtype in (np.int32, np.uint8):
        x: Any = np.array([0, 1, 5, 100], dtype)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        proto = model([helper.make_node("BitwiseNot", ["x"], ["y"])], {"x": x}, ["y"], kind=kind)
        np.testing.assert_array_equal(ours(proto, {"x": x})[0], np.invert(x))


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize("include", [0, 1])
def test_a_last_window_that_would_start_in_the_padding(op: str, include: int) -> None:
    """With ceil_mode such a window is left out; the ends count towards averages as count_include_pad says."""
    attributes: dict[str, Any] = {"count_include_pad": include} if op == "AveragePool" else {}
    for size, kernel, stride in ((4, 2, 3), (6, 3, 2)):
        window: dict[str, Any] = {
            "kernel_shape": [kernel] * 2,
            "strides": [stride] * 2,
            "pads": [1] * 4,
            "ceil_mode": 1,
        }
        node = helper.make_node(op, ["x"], ["y"], **window, **attributes)
        x = randn(1, 2, size, size)
        check(model([node], {"x": x}, ["y"]), {"x": x})


@pytest.mark.parametrize(("size", "kernel", "stride", "pads"), [(7, 3, 3, (1, 2)), (8, 1, 2, (0, 0))])
@pytest.mark.parametrize(("op", "include"), [("AveragePool", 0), ("AveragePool", 1), ("MaxPool", 0)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_reads_a_pooling_whose_last_window_is_left_out(
    op: str, include: int, size: int, kernel: int, stride: int, pads: tuple[int, int], dynamic: bool
) -> None:
    """Before opset 22, whose inference counts such a window, what is behind has the sizes that are there."""
    window: dict[str, Any] = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "ceil_mode": 1}
    window |= {"count_include_pad": 1} if include else {}
    start, end = pads
    nodes = [
        helper.make_node(op, ["x"], ["t"], pads=[start, start, end, end], **window),
        helper.make_node("Conv", ["t", "w"], ["u"]),
        helper.make_node(op, ["u"], ["v"], pads=[start, start, end, end], **window),
        helper.make_node("Relu", ["v"], ["y"]),
    ]
    x = randn(1, 2, size, size)
    proto = model(nodes, {"x": x}, ["y"], {"w": randn(2, 2, 1, 1)}, opset=13)
    expected = runtime(proto, {"x": x})[0]
    if dynamic:
        for axis, dim in enumerate(proto.graph.input[0].type.tensor_type.shape.dim):
            dim.dim_param = f"d{axis}"
    program = mt.load(proto)
    assert dynamic or program.outputs[0].shape == expected.shape
    plan = mt.compile(program, shapes={"x": x.shape} if dynamic else None, cache=False)
    found = plan.session("cpu", threads=1)(x)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("auto_pad", ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1)])
@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_auto_pad(op: str, auto_pad: str, stride: int, dilation: int) -> None:
    """Each way of padding, with strides and with dilations."""
    x, w = randn(1, 2, 7, 8), randn(2, 2, 3, 3)
    node = helper.make_node(
        op, ["x", "w"], ["y"], auto_pad=auto_pad, strides=[stride] * 2, dilations=[dilation] * 2
    )
    # ONNX Runtime has no such padding for a dilated convolution.
    reference = evaluator if (op, dilation) == ("Conv", 2) else runtime
    check(model([node], {"x": x}, ["y"], {"w": w}), {"x": x}, reference)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slice_to_the_end_and_backwards(axis: int) -> None:
    """INT64_MAX as an end, and steps of -1 and -2 on every axis."""
    x = randn(3, 4, 5)
    most = np.iinfo(np.int64).max
    for start, end, step in ((1, most, 1), (-1, -most, -1), (most, -most - 1, -2), (-2, 0, -1)):
        constants = {"s": [start], "e": [end], "a": [axis], "t": [step]}
        node = helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["y"])
        proto = model([node], {"x": x}, ["y"], {k: np.array(v) for k, v in constants.items()})
        check(proto, {"x": x}, evaluator)


def test_a_step_of_minus_one_on_an_empty_dimension() -> None:
    """Nothing, backwards, is nothing."""
    x = np.zeros((2, 0), np.float32)
    constants = {"s": np.array([-1]), "e": np.array([-(2**62)]), "a": np.array([1]), "t": np.array([-1])}
    proto = model([helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["y"])], {"x": x}, ["y"], constants)
    assert ours(proto, {"x": x})[0].shape == (2, 0)


ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


@pytest.mark.parametrize(
    "coordinates",
    ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"],
)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_resize_by_sizes(coordinates: str, rounding: str) -> None:
    """Sizes with the inputs before them absent, in every coordinate and nearest mode."""
    attributes: dict[str, Any] = {
        "coordinate_transformation_mode": coordinates,
        "nearest_mode": rounding,
        "mode": "nearest",
    }
    x = randn(1, 1, 4, 6)
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    check(model([node], {"x": x}, ["y"], {"sizes": np.array([1, 1, 7, 9])}), {"x": x})


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_resize_of_opset_11_only(rounding: str) -> None:
    """The coordinates that opset 13 dropped."""
    attributes = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": rounding}
    x = randn(1, 1, 4, 6)
    node = helper.make_node("Resize", ["x", "roi", "scales", "sizes"], ["y"], **attributes)
    constants = {
        "roi": np.zeros(0, np.float32),
        "scales": np.zeros(0, np.float32),
        "sizes": np.array([1, 1, 7, 9]),
    }
    check(model([node], {"x": x}, ["y"], constants, opset=11), {"x": x})


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_resize_of_a_region(rounding: str) -> None:
    """tf_crop_and_resize reads a part of the image, and a value of its own outside it."""
    attributes: dict[str, Any] = {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 7.0,
        "nearest_mode": rounding,
    }
    x = randn(1, 1, 4, 6)
    node = helper.make_node("Resize", ["x", "roi", "", "sizes"], ["y"], **attributes)
    region = np.array([0, 0, 0.3, 0.2, 1, 1, 1.2, 0.8], np.float32)
    check(model([node], {"x": x}, ["y"], {"roi": region, "sizes": np.array([1, 1, 7, 9])}), {"x": x})


def test_a_chain_whose_intermediate_has_no_declared_type() -> None:
    """No value between says its type or shape, and inference cannot tell the sizes."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["middle"]),
        helper.make_node("Relu", ["middle"], ["positive"]),
        helper.make_node("Exp", ["positive"], ["y"]),
    ]
    feeds = {"x": randn(2, 6), "shape": np.array([3, 4])}
    proto = model(nodes, feeds, ["y"])
    assert not proto.graph.value_info
    check(proto, feeds)


def test_clip_with_only_a_maximum() -> None:
    """The minimum given as "" is none."""
    x = np.array([-5.0, 0.5, 9.0], np.float32)
    proto = model([helper.make_node("Clip", ["x", "", "m"], ["y"])], {"x": x}, ["y"], {"m": np.float32(1)})
    np.testing.assert_array_equal(ours(proto, {"x": x})[0], [-5, 0.5, 1])


def test_a_tensor_that_does_not_exist() -> None:
    """The error names the node, what it reads, and names that are near."""
    nodes = [helper.make_node("Relu", ["x"], ["hidden"]), helper.make_node("Exp", ["hiden"], ["y"], name="exp")]
    with pytest.raises(mt.SourceError, match=r"(?s)(?=.*'exp')(?=.*'hiden')(?=.*hidden)"):
        mt.load(model(nodes, {"x": randn(2)}, ["y"]))


def _branch(nodes: list[NodeProto], name: str) -> Any:
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, F32, None)])


@pytest.mark.parametrize("taken", [True, False])
def test_branches_of_different_rank(taken: bool) -> None:
    """What an If gives may have a rank that depends on the branch."""
    c, x = np.array(taken), randn(2, 3)
    then = _branch([helper.make_node("Relu", ["x"], ["t"])], "t")
    other = _branch([helper.make_node("ReduceSum", ["x"], ["e"], keepdims=0)], "e")
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    check(model([node], {"c": c, "x": x}, ["y"]), {"c": c, "x": x})


def test_shapes_from_constant_nodes() -> None:
    """Reshape, ConstantOfShape and Resize read a Constant node as they read an initializer."""

    def constant(name: str, values: list[int]) -> NodeProto:
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(values)))

    nodes = [
        constant("s", [1, 1, 2, 3]),
        helper.make_node("Reshape", ["x", "s"], ["r"]),
        constant("b", [1, 1, 4, 6]),
        helper.make_node("Resize", ["r", "", "", "b"], ["z"], mode="nearest"),
        helper.make_node("ConstantOfShape", ["b"], ["c"]),
        helper.make_node("Add", ["z", "c"], ["y"]),
    ]
    x = randn(6)
    check(model(nodes, {"x": x}, ["y"]), {"x": x})


def test_loops_that_reuse_inner_names() -> None:
    """Two bodies with the same names inside are two bodies."""

    def loop(op: str, source: str, result: str) -> NodeProto:
        body = helper.make_graph(
            [helper.make_node(op, ["v", "x"], ["w"]), helper.make_node("Identity", ["go"], ["go2"])],
            "body",
            [
                helper.make_tensor_value_info("i", I64, []),
                helper.make_tensor_value_info("go", BOOL, []),
                helper.make_tensor_value_info("v", F32, [3]),
            ],
            [helper.make_tensor_value_info("go2", BOOL, []), helper.make_tensor_value_info("w", F32, [3])],
        )
        return helper.make_node("Loop", ["n", "", source], [result], body=body)

    x = randn(3)
    nodes = [loop("Add", "x", "a"), loop("Mul", "a", "y")]
    (found,) = check(model(nodes, {"x": x}, ["y"], {"n": np.array(3)}), {"x": x})
    np.testing.assert_allclose(found, 4 * x * x**3, rtol=1e-5)


@pytest.mark.parametrize("raw", [True, False])
def test_bfloat16_initializers(raw: bool) -> None:
    """Two bytes each in raw_data, or one number each in int32_data."""
    values = np.array([1.0, -2.5, 3.0], np.float32)
    bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    weight = TensorProto(name="w", data_type=TensorProto.BFLOAT16, dims=[3])
    if raw:
        weight.raw_data = bits.tobytes()
    else:
        weight.int32_data.extend(int(b) for b in bits)
    x = np.array([1.0, 2.0, 3.0], np.float32)
    nodes = [helper.make_node("Cast", ["w"], ["f"], to=F32), helper.make_node("Mul", ["x", "f"], ["y"])]
    proto = model(nodes, {"x": x}, ["y"])
    proto.graph.initializer.append(weight)
    np.testing.assert_array_equal(ours(proto, {"x": x})[0], x * values)


@pytest.mark.parametrize(
    ("shape", "wanted", "allowzero", "result"),
    [
        ((2, 3, 4), [0, -1], 0, (2, 12)),
        ((2, 3, 4), [0, 0, 2, 2], 0, (2, 3, 2, 2)),
        ((2, 3, 4), [-1], 0, (24,)),
        ((0, 3), [0, 7], 1, (0, 7)),
        ((0, 3), [3, 0], 1, (3, 0)),
        ((2, 0, 3), [-1, 5, 1], 0, (0, 5, 1)),
    ],
)
def test_reshape(shape: tuple[int, ...], wanted: list[int], allowzero: int, result: tuple[int, ...]) -> None:
    """Zeros copy or are zeros, -1 is what remains, and no elements are no elements."""
    x = randn(*shape)
    node = helper.make_node("Reshape", ["x", "s"], ["y"], allowzero=allowzero)
    found = ours(model([node], {"x": x}, ["y"], {"s": np.array(wanted)}), {"x": x})[0]
    np.testing.assert_array_equal(found, x.reshape(result))


@pytest.mark.parametrize(
    ("shape", "wanted", "allowzero"),
    [
        ((2, 3), [4, -1], 0),
        ((2, 3), [-1, -1], 0),
        ((2, 3), [5], 0),
        ((0, 3), [0, -1], 1),
        ((0, 3), [0, -1], 0),
        ((2, 3), [-2, 3], 0),
    ],
)
def test_reshapes_that_cannot_be(shape: tuple[int, ...], wanted: list[int], allowzero: int) -> None:
    """What ONNX forbids is one of the package's errors, when it is compiled or at the latest when it is run."""
    x = randn(*shape)
    node = helper.make_node("Reshape", ["x", "s"], ["y"], name="shaper", allowzero=allowzero)
    with pytest.raises(mt.MlirTrtError):
        ours(model([node], {"x": x}, ["y"], {"s": np.array(wanted)}), {"x": x})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_negative_pads_cut(mode: str) -> None:
    """A negative pad takes off what a positive one would add, also beside a positive one."""
    x = randn(4, 5)
    pads = np.array([-1, 2, 1, -2]) if mode == "constant" else np.array([-1, 0, 0, -2])
    proto = model([helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)], {"x": x}, ["y"], {"p": pads})
    check(proto, {"x": x})


def test_dequantize_per_axis_and_in_blocks() -> None:
    """A scale and zero point for each row, and for each block of two."""
    x = np.array([[1, 1, 1], [4, 4, 4]], np.int8)
    constants = {"s": np.array([0.5, 2, 10], np.float32), "z": np.array([0, 1, -1], np.int8)}
    node = helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"], axis=1)
    found = ours(model([node], {"x": x}, ["y"], constants), {"x": x})[0]
    np.testing.assert_array_equal(found, [[0.5, 0, 20], [2, 6, 50]])
    x = np.full(8, 9, np.uint8)
    constants = {"s": np.array([1, 2, 3, 4], np.float32), "z": np.array([1, 2, 3, 4], np.uint8)}
    node = helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"], axis=0, block_size=2)
    found = ours(model([node], {"x": x}, ["y"], constants), {"x": x})[0]
    np.testing.assert_array_equal(found, [8, 8, 14, 14, 18, 18, 20, 20])


def test_batches_of_one_plan() -> None:
    """With opt equal to min, batches of 1, 2 and 7 of one Plan are NumPy's."""
    w, b = randn(4, 3), randn(3)
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    proto = model(nodes, {"x": randn(1, 4)}, ["y"], {"w": w, "b": b})
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    plan = mt.compile(proto, target=["cpu", "sm89"], shapes={"x": ((1, 4), (1, 4), (7, 4))}, cache=False)
    session = plan.session("cpu")
    for batch in (1, 2, 7):
        x = randn(batch, 4)
        np.testing.assert_allclose(session(x), np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-6)
