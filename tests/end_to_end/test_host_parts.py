"""Programs that mix tensorrt ops with upstream dialects: engines, native code, and one schedule for both."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import EngineBuildError, InputError, PassError

MIXED = """func.func @main(%x: tensor<4x8xf32>, %s: f32, %n: index) -> (tensor<4x8xf32>, f32, index) {
  %c0 = arith.constant 0 : index
  %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4x8xf32>
  %e = tensor.extract %0[%c0, %n] : tensor<4x8xf32>
  %f = arith.mulf %e, %s : f32
  %b = tensor.splat %f : tensor<4x8xf32>
  %1 = arith.addf %0, %b : tensor<4x8xf32>
  %k = arith.constant dense<2.0> : tensor<1x1xf32>
  %2 = tensorrt.element_wise <kPROD>(%1, %k : tensor<4x8xf32>, tensor<1x1xf32>) -> tensor<4x8xf32>
  %3 = math.tanh %2 : tensor<4x8xf32>
  %m = tensor.extract %3[%c0, %c0] : tensor<4x8xf32>
  %q = arith.addf %m, %f : f32
  %nn = arith.addi %n, %n : index
  return %3, %q, %nn : tensor<4x8xf32>, f32, index
}"""
X = np.random.default_rng(0).normal(size=(4, 8)).astype("f4")


def expected(x, s, n):
    """What MIXED computes."""
    y = np.maximum(x, 0)
    f = y[0, n] * s
    z = np.tanh((y + f) * 2)
    return z, z[0, 0] + f, 2 * n


@pytest.fixture(scope="module")
def plan():
    """The plan of MIXED, for the CPU and with engines beside it."""
    return mt.compile(mt.from_mlir(MIXED), target=["cpu", "sm89"])


def test_host_parts_and_engines_make_one_plan(plan, tmp_path) -> None:
    """Numbers that cross between parts and out of the program are tensors of rank 0; a saved plan runs too."""
    plan.save(tmp_path / "mixed.plan")
    for made in (plan, mt.Plan.load(tmp_path / "mixed.plan")):
        found = made.session("cpu")(X, np.float32(2), np.int64(3))
        for got, wanted in zip(found, expected(X, 2, 3), strict=True):
            np.testing.assert_allclose(got, wanted, 1e-5, 1e-6)


def test_what_the_plan_says_of_host_parts(plan) -> None:
    """Their kind of engine, and why their ops are not in TensorRT's."""
    kinds = {engine.name: engine.kind for engine in plan.engine_values if engine.target == "cpu"}
    assert kinds["main_host_0"] == kinds["main_host_1"] == "mlir_host"
    assert kinds["trt_engines::main_0"] == "onnxruntime"
    assert {e.target for e in plan.engine_values if e.name.startswith("trt_engines")} == {"cpu", "sm89"}
    rows = plan.layers.query("engine == 'main_host_1'").set_index("kind")
    assert rows.loc["math.tanh", ["shapes", "dtypes", "output_bytes"]].tolist() == [["4x8"], ["f32"], 128]
    rows = plan.fallbacks.set_index("op")
    assert rows.loc["math.tanh", "backend"] == "mlir_host"
    assert "MLIR compiles it for the host" in rows.loc["math.tanh", "reason"]


def test_a_check_that_fails_in_a_plan(plan) -> None:
    """It is an error at the user's line, and the session goes on working."""
    session = plan.session("cpu")
    with pytest.raises(InputError, match=r"out-of-bounds access in tensor.extract") as caught:
        session(X, np.float32(2), np.int64(8))
    assert caught.value.span.line == 4
    np.testing.assert_allclose(session(X, np.float32(1), np.int64(0))[1], expected(X, 1, 0)[1], 1e-5)


def test_stablehlo_calls_and_weights() -> None:
    """A function that host code calls is compiled with it; weights are the plan's."""
    program = mt.from_mlir("""func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
      %w = stablehlo.constant dense_resource<__elided__> : tensor<64xf32>
      %0 = stablehlo.add %x, %w : tensor<64xf32>
      %1 = func.call @twice(%0) : (tensor<64xf32>) -> tensor<64xf32>
      return %1 : tensor<64xf32>
    }
    func.func private @twice(%x: tensor<64xf32>) -> tensor<64xf32> {
      %0 = arith.addf %x, %x : tensor<64xf32>
      return %0 : tensor<64xf32>
    }""")
    (name,) = program.weights
    program.weights[name] = np.arange(64, dtype="f4")
    plan = mt.compile(program)
    assert [engine.kind for engine in plan.engine_values] == ["mlir_host"]
    x = np.ones(64, "f4")
    np.testing.assert_array_equal(plan.session("cpu")(x), (x + program.weights[name]) * 2)


def test_what_no_plan_can_hold() -> None:
    """Memrefs at the entry, and ops that are compiled for no host, are refused with their place."""
    with pytest.raises(PassError, match=r"argument 0 is of type memref<4xf32>"):
        mt.compile(
            mt.from_mlir("""func.func @main(%x: memref<4xf32>) -> index {
          %c = arith.constant 0 : index
          %d = memref.dim %x, %c : memref<4xf32>
          return %d : index
        }""")
        )
    with pytest.raises(EngineBuildError, match=r"cannot compile stablehlo\.fft") as caught:
        mt.compile(
            mt.from_mlir("""func.func @main(%a: tensor<4xf32>) -> tensor<3xcomplex<f32>> {
          %0 = stablehlo.fft %a, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
          return %0 : tensor<3xcomplex<f32>>
        }""")
        )
    assert caught.value.span.line == 2


def test_shapes_that_vary() -> None:
    """An engine behind host code gets its range of shapes from what that code gives at the corners."""
    program = mt.from_mlir("""func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %n = tensor.dim %x, %c0 : tensor<?x4xf32>
      %half = arith.divui %n, %c2 : index
      %0 = tensor.extract_slice %x[0, 0] [%half, 4] [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
      %1 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %0 : tensor<?x4xf32>
      return %1 : tensor<?x4xf32>
    }""")
    plan = mt.compile(program, target=["cpu", "sm89"], shapes={"arg0": ("2x4", "6x4", "8x4")})
    assert {engine.target for engine in plan.engine_values if "trt_engines" in engine.name} == {"cpu", "sm89"}
    assert "min = [1, 4], opt = [3, 4], max = [4, 4]" in plan.text()
    for rows in (2, 5, 8):
        x = np.random.default_rng(rows).normal(size=(rows, 4)).astype("f4")
        np.testing.assert_array_equal(plan.session("cpu")(x), np.maximum(x[: rows // 2], 0))
