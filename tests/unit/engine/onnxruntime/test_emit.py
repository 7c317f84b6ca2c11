"""The ONNX nodes that functions of tensorrt ops become: what ONNX Runtime fuses, and no more than needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from torch_mlir.dialects import func

from mlirtrt_nb.dialects.onnx.export import ExportedModel
from mlirtrt_nb.engine.onnxruntime.emit import export
from mlirtrt_nb.errors import EngineBuildError
from mlirtrt_nb.frontends.text import from_mlir


def emitted(signature: str, body: str, returns: str) -> ExportedModel:
    """The model of a function in the dialect's own syntax."""
    results, _, types = returns.partition(" : ")
    program = from_mlir(f"func.func @main({signature}) -> ({types}) {{\n{body}\nreturn {results} : {types}\n}}")
    function = next(op for op in program.module.operation.regions[0].blocks[0] if isinstance(op, func.FuncOp))
    return export(function.operation, program.weights)


def kinds(model: ExportedModel) -> list[str]:
    return [node.op_type for node in model.model.graph.node]


def initializers(model: ExportedModel) -> dict[str, tuple[int, ...]]:
    """Shapes of initializers by name."""
    return {tensor.name: tuple(tensor.dims) for tensor in model.model.graph.initializer}


CONV = """%w = tensorrt.constant dense<1.0> : tensor<4x3x3x3xf32>
%0 = tensorrt.convolution {biasStatic = dense<0.5> : tensor<4xf32>, post_padding = array<i64: 2, 1>,
  pre_padding = array<i64: 0, 1>, stride = array<i64: 1, 2>} in(%x : tensor<1x3x8x8xf32>)
  kernel(%w : tensor<4x3x3x3xf32>) -> tensor<1x4x8x4xf32>
%1 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %0 : tensor<1x4x8x4xf32>"""


def test_convolution_keeps_its_padding() -> None:
    """A convolution with uneven padding is one Conv with pads, which ONNX Runtime fuses with the Relu."""
    model = emitted("%x: tensor<1x3x8x8xf32>", CONV, "%1 : tensor<1x4x8x4xf32>")
    assert kinds(model) == ["Conv", "Relu"]
    attributes = {a.name: list(a.ints) for a in model.model.graph.node[0].attribute if a.ints}
    assert attributes["pads"] == [0, 1, 2, 1]
    assert attributes["strides"] == [1, 2]
    onnx.checker.check_model(model.model)


GEMM = """%w = tensorrt.constant dense<1.0> : tensor<5x4xf32>
%b = tensorrt.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0]]> : tensor<1x5xf32>
%0 = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>,
  op1 = #tensorrt.matrix_operation<kTRANSPOSE>} ins(%x, %w : tensor<3x4xf32>, tensor<5x4xf32>)
  -> tensor<3x5xf32>
%1 = tensorrt.element_wise <kSUM>(%0, %b : tensor<3x5xf32>, tensor<1x5xf32>) -> tensor<3x5xf32>"""


def test_product_and_bias_are_one_gemm() -> None:
    """A product whose only use adds a constant row becomes one Gemm with a bias of rank 1."""
    model = emitted("%x: tensor<3x4xf32>", GEMM, "%1 : tensor<3x5xf32>")
    (node,) = model.model.graph.node
    assert node.op_type == "Gemm"
    assert [(a.name, a.i) for a in node.attribute] == [("transB", 1)]
    assert initializers(model)[node.input[2]] == (5,)


def test_product_used_twice_stays() -> None:
    """A product that somebody else reads too is not swallowed."""
    model = emitted("%x: tensor<3x4xf32>", GEMM, "%0, %1 : tensor<3x5xf32>, tensor<3x5xf32>")
    assert kinds(model) == ["Gemm", "Add"]


def test_shared_matrix_is_two_dimensional() -> None:
    """A constant matrix with unit batch dimensions becomes one of rank 2: one product, not one per batch."""
    body = """%w = tensorrt.constant dense<1.0> : tensor<1x4x5xf32>
    %0 = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>,
      op1 = #tensorrt.matrix_operation<kNONE>} ins(%x, %w : tensor<2x3x4xf32>, tensor<1x4x5xf32>)
      -> tensor<2x3x5xf32>"""
    model = emitted("%x: tensor<2x3x4xf32>", body, "%0 : tensor<2x3x5xf32>")
    assert kinds(model) == ["MatMul"]
    assert list(initializers(model).values()) == [(4, 5)]


@pytest.mark.parametrize(("shape", "expected"), [("1x1x1", ()), ("1x1x4", (4,)), ("1x3x1", (3, 1))])
def test_constants_lose_leading_unit_dimensions(shape: str, expected: tuple[int, ...]) -> None:
    """Fusions look for scalars and vectors, so constants that broadcast drop leading dimensions of 1."""
    body = f"""%c = tensorrt.constant dense<2.0> : tensor<{shape}xf32>
    %0 = tensorrt.element_wise <kPROD>(%c, %x : tensor<{shape}xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>"""
    model = emitted("%x: tensor<2x3x4xf32>", body, "%0 : tensor<2x3x4xf32>")
    assert list(initializers(model).values()) == [expected]


def test_constants_in_another_shape_emit_nothing() -> None:
    """A reshaped constant is an initializer of the other shape."""
    body = """%c = tensorrt.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %1 = tensorrt.expand_rank %c : tensor<3xf32> to tensor<3x1xf32>
    %0 = tensorrt.element_wise <kSUM>(%x, %1 : tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>"""
    model = emitted("%x: tensor<3x4xf32>", body, "%0 : tensor<3x4xf32>")
    assert kinds(model) == ["Add"]
    assert list(initializers(model).values()) == [(3, 1)]


@pytest.mark.parametrize(
    ("shape", "axes", "expected"),
    [
        ("1x8x4x4", "2, 3", ["GlobalAveragePool"]),
        ("1x8x4", "2", ["ReduceMean"]),
        ("1x8x4x4", "3", ["ReduceMean"]),
    ],
)
def test_spatial_averages_are_pools(shape: str, axes: str, expected: list[str]) -> None:
    """An average over all of an image is a pool; over the last axis it stays what layer norms are made of."""
    dims = shape.split("x")
    reduced = "x".join("1" if str(n) in axes.split(", ") else d for n, d in enumerate(dims))
    body = f"""%0 = tensorrt.reduce <kAVG> %x {{keepDimensions = true, reduceAxes = array<i64: {axes}>}} :
      tensor<{shape}xf32> -> tensor<{reduced}xf32>"""
    assert kinds(emitted(f"%x: tensor<{shape}xf32>", body, f"%0 : tensor<{reduced}xf32>")) == expected


def test_layer_norm_is_one_node() -> None:
    """A normalization of the last axis becomes LayerNormalization with vectors."""
    body = """%s = tensorrt.constant dense<1.0> : tensor<1x1x8xf32>
    %0 = tensorrt.normalization {axis = array<i64: 2>, eps = 1.0e-05 : f32} (%x : tensor<?x4x8xf32>,
      %s : tensor<1x1x8xf32>, %s : tensor<1x1x8xf32>) -> tensor<?x4x8xf32>"""
    model = emitted("%x: tensor<?x4x8xf32>", body, "%0 : tensor<?x4x8xf32>")
    assert kinds(model) == ["LayerNormalization"]
    assert set(initializers(model).values()) == {(8,)}


@pytest.mark.parametrize(("beta", "expected"), [(0.5, 1), (0.75, 2), (1.0, 0), (0.6, None)])
@pytest.mark.parametrize("shape", ["2x8x5x6", "2x8x5"])
def test_response_normalization(beta: float, expected: int | None, shape: str) -> None:
    """A power that roots make is made of roots, which ONNX Runtime computes faster; the numbers are LRN's."""
    body = f"""%0 = tensorrt.lrn {{alpha = 0.3 : f32, beta = {beta} : f32, k = 1.5 : f32, windowSize = 5 : i64}}
      %x : tensor<{shape}xf32>"""
    model = emitted(f"%x: tensor<{shape}xf32>", body, f"%0 : tensor<{shape}xf32>").model
    nodes = [node.op_type for node in model.graph.node]
    assert ("LRN" in nodes) == (expected is None) and nodes.count("Sqrt") == (expected or 0)
    x = np.random.default_rng(0).standard_normal([int(d) for d in shape.split("x")], dtype=np.float32)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    squares = np.pad(x * x, [(0, 0), (2, 2), *[(0, 0)] * (x.ndim - 2)])
    sums = sum(squares[:, n : n + 8] for n in range(5))
    wanted = x / (1.5 + 0.3 / 5 * sums) ** beta
    np.testing.assert_allclose(session.run(None, {session.get_inputs()[0].name: x})[0], wanted, rtol=1e-5)


@pytest.mark.parametrize(
    "attributes",
    [
        "first_transpose = array<i64: 0, 1>, second_transpose = array<i64: 0, 1>",
        "first_transpose = array<i64: 0, 1>, reshape = array<i64: 2, 3>, second_transpose = array<i64: 0, 1>",
    ],
)
def test_identity_shuffles_vanish(attributes: str) -> None:
    """A shuffle that moves nothing leaves no node but the one that makes an output of an input."""
    body = f"%0 = tensorrt.shuffle {{{attributes}}} ins(%x : tensor<2x3xf32>) -> tensor<2x3xf32>"
    assert kinds(emitted("%x: tensor<2x3xf32>", body, "%0 : tensor<2x3xf32>")) == ["Identity"]


def test_bf16_computes_in_f32_between_casts() -> None:
    """Where the CPU has no kernel, each op rounds to its own type."""
    body = "%0 = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kEXP>} %x : tensor<2xbf16>"
    assert kinds(emitted("%x: tensor<2xbf16>", body, "%0 : tensor<2xbf16>")) == ["Cast", "Exp", "Cast"]


def test_names_are_the_functions_own() -> None:
    """Arguments and results carry plan.name, dynamic dimensions their names, nodes their sources."""
    text = """func.func @main(
        %x: tensor<?x3xf32> {plan.name = "image", tensorrt.dimension_names = {"0" = "batch"}})
        -> (tensor<?x3xf32> {plan.name = "out"}, tensor<?x3xf32> {plan.name = "image"}) {
      %0 = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kEXP>} %x : tensor<?x3xf32>
      return %0, %0 : tensor<?x3xf32>, tensor<?x3xf32>
    }"""
    program = from_mlir(text, filename="net.mlir")
    function = next(op for op in program.module.operation.regions[0].blocks[0] if isinstance(op, func.FuncOp))
    model = export(function.operation, program.weights)
    graph = model.model.graph
    assert [i.name for i in graph.input] == [p.name for p in model.inputs] == ["image"]
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert [o.name for o in graph.output] == [p.name for p in model.outputs] == ["out", "image_1"]
    assert graph.node[0].name.startswith("net.mlir:4")


def test_large_constants_stay_outside() -> None:
    """A weight is an external initializer that names the table's entry; the model holds no bytes of it."""
    body = """%w = tensorrt.constant dense_resource<big> : tensor<64x64xf32>
    %0 = tensorrt.element_wise <kSUM>(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>"""
    weights = {"big": np.ones((64, 64), np.float32)}
    signature = "func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32>"
    program = from_mlir(f"{signature} {{ {body}\nreturn %0 : tensor<64x64xf32> }}")
    function = next(op for op in program.module.operation.regions[0].blocks[0] if isinstance(op, func.FuncOp))
    model = export(function.operation, weights)
    assert model.weights == ("big",)
    assert len(model.model.SerializeToString()) < 1000
    (tensor,) = model.model.graph.initializer
    assert {e.key: e.value for e in tensor.external_data} == {"location": "big", "length": str(64 * 64 * 4)}
    with pytest.raises(EngineBuildError, match="big is missing"):
        export(function.operation, {})


def _node_names(model: ExportedModel) -> Sequence[str]:
    return [node.name for node in model.model.graph.node]


def test_equal_labels_are_numbered() -> None:
    """ONNX Runtime refuses two nodes of one name, so the second of an op's nodes gets a number."""
    body = """%0 = tensorrt.element_wise <kFLOOR_DIV>(%x, %x : tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"""
    names = _node_names(emitted("%x: tensor<2xf32>", body, "%0 : tensor<2xf32>"))
    assert len(set(names)) == 2
    assert names[1] == f"{names[0]} #2"


def test_a_loop_that_carries_nothing() -> None:
    """A `for` that only collects keeps the Loop's absent condition, without which ONNX Runtime refuses it."""
    body = """%zero = tensorrt.constant dense<0> : tensor<i64>
%one = tensorrt.constant dense<1> : tensor<i64>
%r = tensorrt.for %i = %zero to %n step %one init() -> (tensor<?xi64>) {
  tensorrt.yield %i : tensor<i64>
} {collect_axes = array<i64: 0>, collected = ["kCONCATENATE"]}"""
    model = emitted("%n: tensor<i64>", body, "%r : tensor<?xi64>")
    assert [len(node.input) for node in model.model.graph.node if node.op_type == "Loop"] == [2]
    session = ort.InferenceSession(model.model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {model.inputs[0].name: np.array(3, np.int64)})
    np.testing.assert_array_equal(found, [0, 1, 2])


DYNAMIC_PAD = """%two = tensorrt.constant dense<2> : tensor<1xi64>
%s = tensorrt.shape %x : tensor<?x2x?x4xf32> -> tensor<4xi64>
%n = tensorrt.slice %s[0][1][1] : tensor<4xi64> to tensor<1xi64>
%h = tensorrt.slice %s[2][1][1] : tensor<4xi64> to tensor<1xi64>
%w = tensorrt.constant dense<6> : tensor<1xi64>
%g = tensorrt.element_wise <kSUM>(%h, %two : tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
%d = tensorrt.concatenation {axis = 0 : i32} ins(%n, %two, %g, %w : tensor<1xi64>, tensor<1xi64>, tensor<1xi64>,
  tensor<1xi64>) -> tensor<4xi64>
%0 = tensorrt.slice %x[0, 0, FIRST, -1][%d: tensor<4xi64>][1, 1, 1, 1] {mode = #tensorrt.slice_mode<MODE>} :
  tensor<?x2x?x4xf32> to tensor<?x2x?x6xf32>"""


def dynamic_slice(mode: str, first: int, x: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The kinds of the nodes of a slice whose third axis gets two longer, and what they give."""
    body = DYNAMIC_PAD.replace("MODE", mode).replace("FIRST", str(first))
    model = emitted("%x: tensor<?x2x?x4xf32>", body, "%0 : tensor<?x2x?x6xf32>")
    session = ort.InferenceSession(model.model.SerializeToString(), providers=["CPUExecutionProvider"])
    return kinds(model), session.run(None, {model.inputs[0].name: x})[0]


@pytest.mark.parametrize(("mode", "rule"), [("kFILL", "constant"), ("kCLAMP", "edge")])
def test_padding_of_varying_lengths_is_one_pad(mode: str, rule: str) -> None:
    """What is added to lengths that vary is a number, so that ONNX Runtime can fuse it into a convolution."""
    x = np.random.default_rng(0).standard_normal((3, 2, 5, 4)).astype(np.float32)
    nodes, found = dynamic_slice(mode, -1, x)
    assert nodes.count("Pad") == 1 and "Gather" not in nodes
    np.testing.assert_array_equal(found, np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), rule))


@pytest.mark.parametrize(("mode", "rule"), [("kREFLECT", "reflect"), ("kWRAP", "wrap")])
def test_axes_that_stay_whole_are_not_gathered(mode: str, rule: str) -> None:
    """Only the two axes that change are gathered, the batch and the channels are left as they are."""
    x = np.random.default_rng(0).standard_normal((3, 2, 5, 4)).astype(np.float32)
    nodes, found = dynamic_slice(mode, -1, x)
    assert nodes.count("Gather") == 2
    np.testing.assert_array_equal(found, np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), rule))


def test_a_slice_that_also_cuts_is_no_pad() -> None:
    """One that begins behind the front of its input takes by index, and fills what is outside."""
    x = np.random.default_rng(0).standard_normal((1, 2, 5, 4)).astype(np.float32)
    nodes, found = dynamic_slice("kFILL", 1, x)
    assert "Pad" not in nodes
    np.testing.assert_array_equal(found, np.pad(x[:, :, 1:], ((0, 0), (0, 0), (0, 3), (1, 1))))


def test_nothing_is_wrapped_and_padded() -> None:
    """An empty axis is repeated to an empty one, and filled where it is padded."""
    assert dynamic_slice("kWRAP", 0, np.zeros((0, 2, 5, 4), np.float32))[1].shape == (0, 2, 7, 6)
    body = """%0 = tensorrt.slice %x[0, -1][3, 2][1, 1] {mode = #tensorrt.slice_mode<kFILL>} :
      tensor<3x0xf32> to tensor<3x2xf32>"""
    model = emitted("%x: tensor<3x0xf32>", body, "%0 : tensor<3x2xf32>")
    session = ort.InferenceSession(model.model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {model.inputs[0].name: np.zeros((3, 0), np.float32)})
    np.testing.assert_array_equal(found, np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("size", "extent", "stride", "post", "refused"),
    [("3", 2, 3, 1, "starts"), ("4", 2, 3, 1, None), ("?", 2, 3, 1, "may start"), ("?", 3, 2, 1, None)],
)
def test_windows_that_are_rounded_up(
    size: str, extent: int, stride: int, post: int, refused: str | None
) -> None:
    """As TensorRT counts one that starts in the padding and ONNX leaves it out, it has no form; others do."""
    count = "?" if size == "?" else str(-(-(int(size) + post - extent) // stride) + 1)
    given, made = f"tensor<1x1x{size}x{size}xf32>", f"tensor<1x1x{count}x{count}xf32>"
    body = f"""%0 = tensorrt.pooling {{poolingType = #tensorrt.pooling_type<kMAX>,
      paddingMode = #tensorrt.padding_mode<kEXPLICIT_ROUND_UP>, prePadding = array<i64: 0, 0>,
      postPadding = array<i64: {post}, {post}>, stride = array<i64: {stride}, {stride}>,
      windowSize = array<i64: {extent}, {extent}>}} ins(%x : {given}) -> {made}"""
    if refused is None:
        assert kinds(emitted(f"%x: {given}", body, f"%0 : {made}")) == ["MaxPool"]
        return
    with pytest.raises(EngineBuildError, match=f"a window of kEXPLICIT_ROUND_UP that {refused} in the padding"):
        emitted(f"%x: {given}", body, f"%0 : {made}")
