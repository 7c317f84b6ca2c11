"""Quantized functions on the CPU: ONNX Runtime's 8-bit kernels run them, and change nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.dialects.onnx.ort_session import SessionSettings, open_session

from ...passes.precision.programs import calibration, convolutions, dense, pooled, residual

MODELS = {"convolutions": convolutions, "residual": residual}


def run(name: str, optimization: str, path: Path, *, defaults: bool = False) -> tuple[np.ndarray, Counter[str]]:
    """The int8 result, with the usual exceptions or with none, and the kinds of nodes that ran."""
    program = mt.load((MODELS | {"dense": dense, "pooled": pooled})[name]())
    precision = mt.Precision("int8", calibration=calibration(program), defaults=defaults)
    plan = mt.compile(program, precision=precision, cache=False)
    (engine,) = plan.engine_values
    settings = SessionSettings(threads=1, optimization=optimization)
    opened = open_session(engine.blob, plan.weights, settings, dump_to=str(path))
    shape = [d for d in program.inputs[0].shape if isinstance(d, int)]
    x = np.random.default_rng(8).standard_normal(shape, dtype=np.float32)
    kinds = Counter(node.op_type for node in onnx.ModelProto.FromString(path.read_bytes()).graph.node)
    return opened.session.run(None, {"x": x})[0], kinds


@pytest.mark.parametrize("name", MODELS)
def test_kernels_give_what_the_ir_says(name: str, tmp_path: Path) -> None:
    """With and without ONNX Runtime's fusions the numbers are the same, but for the order of float sums."""
    plain, unfused = run(name, "none", tmp_path / "plain.onnx")
    fast, fused = run(name, "all", tmp_path / "fast.onnx")
    assert unfused["QLinearConv"] == 0 and fused["QLinearConv"] >= 2
    assert np.abs(fast - plain).max() <= 0.02 * np.abs(plain).max()


def test_a_residual_sum_is_one_kernel(tmp_path: Path) -> None:
    """Both sides and the result of the sum have one type, so that it is added in 8 bits."""
    _, fused = run("residual", "all", tmp_path / "fast.onnx")
    assert fused["QLinearAdd"] == 1 and fused["Relu"] == 0


def test_a_kernel_that_is_multiplied_in_f32_is_made_real_once(tmp_path: Path) -> None:
    """The last convolution gives f32: ONNX Runtime computes it in f32. Only what it reads is dequantized in
    each run."""
    _, fused = run("convolutions", "all", tmp_path / "fast.onnx")
    assert fused["Conv"] == 1 and fused["DequantizeLinear"] == 1
    assert fused["Cast"] == fused["Mul"] == 0


@pytest.mark.parametrize("name", MODELS)
def test_full_numbers_meet_unsigned_kernels(name: str, tmp_path: Path) -> None:
    """u8 numbers above 127 times i8 overflow on some processors: only those of at most 127 meet i8 kernels."""
    path = tmp_path / "fast.onnx"
    run(name, "all", path)
    graph = onnx.ModelProto.FromString(path.read_bytes()).graph
    kinds = {tensor.name: tensor.data_type for tensor in graph.initializer}
    zeros = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer if not tensor.dims}
    pairs = {
        (int(zeros[node.input[2]]), onnx.TensorProto.DataType.Name(kinds[node.input[3]]))
        for node in graph.node
        if node.op_type == "QLinearConv"
    }
    assert (128, "UINT8") in pairs
    assert pairs <= {(128, "UINT8"), (0, "INT8")}


@pytest.mark.parametrize(("defaults", "count"), [(False, 4), (True, 2)])
def test_products_with_a_bias_multiply_integers(defaults: bool, count: int, tmp_path: Path) -> None:
    """Also one behind whose ReLU nothing is rounded, since the last product is left in f32: its weights would
    be made real in each run."""
    plain, _ = run("dense", "none", tmp_path / "plain.onnx", defaults=defaults)
    fast, fused = run("dense", "all", tmp_path / "fast.onnx", defaults=defaults)
    assert fused["QGemm"] == count and fused["Gemm"] + fused["FusedGemm"] == 4 - count
    assert fused["DequantizeLinear"] == 0
    assert np.abs(fast - plain).max() <= 0.02 * np.abs(plain).max()


def test_what_is_rounded_behind_a_pooling_too_is_pooled_as_it_is(tmp_path: Path) -> None:
    """Rounding before and behind it is rounding behind it, and ONNX Runtime does not move it up again."""
    plain, unfused = run("pooled", "none", tmp_path / "plain.onnx")
    path = tmp_path / "fast.onnx"
    fast, _ = run("pooled", "all", path)
    # The input, what was pooled, and what the second convolution gives.
    assert unfused["QuantizeLinear"] == 3
    order = [node.op_type for node in onnx.ModelProto.FromString(path.read_bytes()).graph.node]
    pool = order.index("MaxPool")
    assert "QuantizeLinear" not in order[order.index("Div") : pool] and "QuantizeLinear" in order[pool:]
    assert np.abs(fast - plain).max() <= 0.02 * np.abs(plain).max()


@pytest.mark.parametrize(("scale", "roundings"), [(0.5, 1), (0.25, 2)])
def test_a_rounding_that_is_undone_by_another_scale_stays(scale: float, roundings: int) -> None:
    """Then it changes more than the last digits, wherever numbers are rounded again."""
    program = mt.from_mlir(f"""
        func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {{
          %s = tensorrt.constant dense<0.5> : tensor<f32>
          %t = tensorrt.constant dense<{scale}> : tensor<f32>
          %e = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<kEXP>}} %x : tensor<1x2x4x4xf32>
          %q = tensorrt.quantize in(%e : tensor<1x2x4x4xf32>) scale(%s : tensor<f32>) -> tensor<1x2x4x4xi8>
          %d = tensorrt.dequantize in(%q : tensor<1x2x4x4xi8>) scale(%t : tensor<f32>) -> tensor<1x2x4x4xf32>
          %p = tensorrt.pooling {{poolingType = #tensorrt.pooling_type<kMAX>, windowSize = array<i64: 2, 2>,
            stride = array<i64: 2, 2>, prePadding = array<i64: 0, 0>, postPadding = array<i64: 0, 0>}}
            ins(%d : tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
          %r = tensorrt.quantize in(%p : tensor<1x2x2x2xf32>) scale(%s : tensor<f32>) -> tensor<1x2x2x2xi8>
          %y = tensorrt.dequantize in(%r : tensor<1x2x2x2xi8>) scale(%s : tensor<f32>) -> tensor<1x2x2x2xf32>
          return %y : tensor<1x2x2x2xf32>
        }}""")
    plan = mt.compile(program, cache=False)
    (engine,) = plan.engine_values
    nodes = [node.op_type for node in onnx.ModelProto.FromString(bytes(engine.blob)).graph.node]
    assert nodes.count("QuantizeLinear") == roundings
    x = np.random.default_rng(2).standard_normal((1, 2, 4, 4), dtype=np.float32)
    once = np.rint(np.exp(x) / 0.5).clip(-128, 127) * scale
    pooled = once.reshape(1, 2, 2, 2, 2, 2).max((3, 5))
    wanted = np.rint(pooled / 0.5).clip(-128, 127) * 0.5
    np.testing.assert_array_equal(plan.session("cpu")(x), wanted)
