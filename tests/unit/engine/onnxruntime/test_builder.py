"""The CPU builder: what an engine holds, what its report says, and what it refuses."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from torch_mlir.dialects import func

from mlirtrt_nb.dialects.onnx.ort_session import SessionSettings
from mlirtrt_nb.engine.base import Binding, BuildRequest, Engine
from mlirtrt_nb.engine.onnxruntime.builder import OnnxRuntimeBuilder
from mlirtrt_nb.engine.onnxruntime.session import OrtEngine
from mlirtrt_nb.errors import Cancelled, EngineBuildError, MlirTrtError, TargetError
from mlirtrt_nb.frontends.text import from_mlir

MODEL = """
func.func @main(%x: tensor<?x3x8x8xf32> {plan.name = "x"}) -> (tensor<?x4x8x8xf32> {plan.name = "y"}) {
  %w = tensorrt.constant dense_resource<kernel> : tensor<4x3x3x3xf32>
  %0 = tensorrt.convolution {post_padding = array<i64: 1, 1>, pre_padding = array<i64: 1, 1>,
    stride = array<i64: 1, 1>} in(%x : tensor<?x3x8x8xf32>) kernel(%w : tensor<4x3x3x3xf32>)
    -> tensor<?x4x8x8xf32> loc("conv")
  %1 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>}
    %0 : tensor<?x4x8x8xf32> loc("relu")
  return %1 : tensor<?x4x8x8xf32>
}"""
OPSET = 'attributes {onnx.opset_import = {"ai.onnx" = 13 : i64}}'
KERNEL = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
WEIGHTS = {"kernel": np.repeat(KERNEL, 1, 0)}


def build(
    text: str = MODEL,
    weights: Mapping[str, np.ndarray] = WEIGHTS,
    target: str = "cpu",
    progress: Callable[[str, int, int], bool] | None = None,
) -> Engine:
    program = from_mlir(text)
    function = next(op for op in program.module.operation.regions[0].blocks[0] if isinstance(op, func.FuncOp))
    request = BuildRequest("net", function.operation, weights, target, progress=progress)
    return OnnxRuntimeBuilder().build(request)


def test_engine_is_a_small_value() -> None:
    """An engine names its weights, holds none, knows its bindings, and survives pickling."""
    wide = {"kernel": np.zeros((4, 3, 3, 3), np.float32)}
    engine = pickle.loads(pickle.dumps(build(MODEL, wide)))
    assert (engine.kind, engine.target, engine.name) == ("onnxruntime", "cpu", "net")
    assert engine.inputs == (Binding("x", (-1, 3, 8, 8), "f32"),)
    assert engine.outputs == (Binding("y", (-1, 4, 8, 8), "f32"),)
    assert engine.weights == () and engine.report.weights_bytes == wide["kernel"].nbytes  # inside the model
    assert engine.report.builder.startswith("ONNX Runtime ")
    assert engine.report.build_seconds > 0


def test_layers_are_the_fused_ones_with_all_sources() -> None:
    """The report's rows are ONNX Runtime's nodes after fusion; each knows every op that went into it."""
    (row,) = build().report.layers
    assert row.kind == "FusedConv"
    assert row.sources == ("conv", "relu")
    assert row.outputs == ("y",)
    assert (row.shapes, row.dtypes) == (("?x4x8x8",), ("f32",))
    assert row.weights_bytes == KERNEL.nbytes
    assert row.output_bytes is None


def test_layers_that_are_made_double_are_of_the_same_node() -> None:
    """A node that ONNX Runtime copies for its second reader, and a value that is clipped, are described too."""
    text = """
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %s = tensorrt.constant dense<0.5> : tensor<f32>
      %r = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x
        : tensor<4xf32> loc("relu")
      %q = tensorrt.quantize in(%r : tensor<4xf32>) scale(%s : tensor<f32>) -> tensor<4xi8> loc("round")
      %d = tensorrt.dequantize in(%q : tensor<4xi8>) scale(%s : tensor<f32>) -> tensor<4xf32> loc("widen")
      %a = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kSIN>} %d : tensor<4xf32> loc("sin")
      %b = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kCOS>} %d : tensor<4xf32> loc("cos")
      return %a, %b : tensor<4xf32>, tensor<4xf32>
    }"""
    layers = build(text, {}).report.layers
    assert {layer.sources for layer in layers} == {("round",), ("widen",), ("sin",), ("cos",)}
    assert [layer.kind for layer in layers].count("DequantizeLinear") == 2
    assert {layer.shapes for layer in layers} == {("4",)}
    assert [layer.dtypes for layer in layers if layer.kind == "QuantizeLinear"] == [("ui8",)]


def test_same_engine_for_every_batch() -> None:
    """A dynamic dimension takes any size, and the answer does not depend on who else is in the batch."""
    engine = OrtEngine(build(), WEIGHTS, SessionSettings(threads=1))
    x = np.random.default_rng(1).standard_normal((7, 3, 8, 8)).astype(np.float32)
    (whole,) = engine.run([x])
    assert whole.min() == 0 and whole.shape == (7, 4, 8, 8)
    for n in (1, 2):
        np.testing.assert_allclose(engine.run([x[:n]])[0], whole[:n], rtol=1e-5, atol=1e-6)


def test_onnx_functions_build_too() -> None:
    """A function of onnx ops becomes a model of its own opset."""
    text = f"""func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {OPSET} {{
      %0 = onnx.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }}"""
    engine = OrtEngine(build(text, {}), {})
    x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    np.testing.assert_array_equal(engine.run([x])[0], np.maximum(x, 0))


def test_other_targets_are_refused() -> None:
    """The CPU builder says so when it is asked for a GPU engine."""
    with pytest.raises(TargetError, match="not 'sm89'"):
        build(target="sm89")


def test_progress_can_cancel() -> None:
    """A progress callback that returns False stops the build."""
    seen: list[tuple[str, int, int]] = []

    def progress(phase: str, done: int, total: int) -> bool:
        seen.append((phase, done, total))
        return done < 1

    with pytest.raises(Cancelled, match="engine 'net' was stopped"):
        build(progress=progress)
    assert seen == [("emit", 0, 2), ("check", 1, 2)]


def test_missing_weight_is_named() -> None:
    """Building or opening without a weight says which one, and for which op or engine."""
    with pytest.raises(EngineBuildError, match="kernel is missing") as caught:
        build(weights={})
    assert "tensorrt.constant" in str(caught.value)
    large = MODEL.replace("4x3x3x3", "400x3x3x3").replace("?x4x8x8", "?x400x8x8")
    engine = build(large, {"kernel": np.zeros((400, 3, 3, 3), np.float32)})
    with pytest.raises(EngineBuildError, match="'kernel' is not in the table"):
        OrtEngine(engine, {})


def test_contradictory_model_is_refused_with_the_reason() -> None:
    """What ONNX Runtime's own checks find comes as one error with its words."""
    text = f"""func.func @main(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) -> tensor<2x5xf32> {OPSET} {{
      %0 = onnx.MatMul(%x, %y) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
      return %0 : tensor<2x5xf32>
    }}"""
    with pytest.raises(EngineBuildError, match=r"(?s)ONNX Runtime refused it: .*engine 'net'"):
        build(text, {})


def test_failure_of_a_run_is_the_packages_own_error() -> None:
    """An index that is out of range is one error that names the engine, not a trace of codes."""
    text = """func.func @main(%x: tensor<3xf32>, %i: tensor<2xi32>) -> tensor<2xf32> {
      %0 = tensorrt.gather {axis = 0 : i64} ins(%x, %i : tensor<3xf32>, tensor<2xi32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    engine = OrtEngine(build(text, {}), {})
    with pytest.raises(MlirTrtError, match="out of data bounds") as caught:
        engine.run([np.zeros(3, np.float32), np.array([0, 7], np.int32)])
    assert "ONNXRuntimeError" not in str(caught.value)
    assert "engine 'net'" in str(caught.value)
