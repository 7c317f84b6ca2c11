"""The reference runs op by op and rounds after each op as its type does."""

from __future__ import annotations

import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import MlirTrtError
from mlirtrt_nb.numerics.interpreter import Interpreter

from .programs import exponential, half_exponential, quantized_product

RNG = np.random.default_rng(7)


def x(scale: float = 1.0) -> np.ndarray:
    """An input for the programs."""
    return (RNG.standard_normal((2, 8)) * scale).astype(np.float32)


def test_f32_is_what_numpy_computes() -> None:
    """Without narrow types the reference adds no error of its own."""
    array = x()
    expected = np.exp(array @ np.full((8, 4), 0.3, np.float32))
    np.testing.assert_allclose(Interpreter(exponential()).run({"x": array})["y"], expected, rtol=1e-6)


def test_every_op_rounds_to_its_own_type() -> None:
    """Each value of the f16 program is the f16 rounding of the op on values already rounded."""
    array = x()
    half = array.astype(np.float16)
    product = (half.astype(np.float32) @ np.full((8, 4), 0.3, np.float16).astype(np.float32)).astype(np.float16)
    last = np.exp(product.astype(np.float32)).astype(np.float16)
    seen = [executed.results[0] for executed in Interpreter(half_exponential()).walk({"x": array})]
    for found, expected in zip(seen, [half, product, last, last.astype(np.float32)], strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_f16_overflows_as_f16_does() -> None:
    """exp of 12 is above 65504: infinity in f16, a number in f32."""
    array = np.full((2, 8), 5.0, np.float32)
    assert np.isinf(Interpreter(half_exponential()).run({"x": array})["y"]).all()
    assert np.isfinite(Interpreter(exponential()).run({"x": array})["y"]).all()


def test_quantized_values_are_exact() -> None:
    """The product of dequantized integers is that of the integers, scaled."""
    array = x(3.0)
    integers = np.clip(np.rint(array / np.float32(0.05)), -128, 127)
    expected = (integers.astype(np.int64) @ np.full((8, 4), 30)) * 0.05 * 0.01
    np.testing.assert_allclose(Interpreter(quantized_product()).run({"x": array})["y"], expected, rtol=1e-5)


ELEMENTWISE = [("kSUM", np.add), ("kPROD", np.multiply), ("kDIV", np.divide), ("kSUB", np.subtract)]


@pytest.mark.parametrize(("kind", "function"), ELEMENTWISE)
@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_arithmetic_is_correctly_rounded(kind: str, function: Any, element: str, dtype: Any) -> None:
    """One rounding of the exact result, on all sizes of operands: as float64 computes it and then rounds."""
    program = mt.from_mlir(f"""
func.func @main(%a: tensor<4096x{element}> {{plan.name = "a"}}, %b: tensor<4096x{element}> {{plan.name = "b"}})
    -> tensor<4096x{element}> {{
  %0 = tensorrt.element_wise <{kind}>(%a, %b : tensor<4096x{element}>, tensor<4096x{element}>)
      -> tensor<4096x{element}>
  return %0 : tensor<4096x{element}>
}}""")
    sides = [(RNG.standard_normal(4096) * 10.0 ** RNG.integers(-4, 4, 4096)).astype(dtype) for _ in range(2)]
    (found,) = Interpreter(program).run(dict(zip("ab", sides, strict=True))).values()
    with np.errstate(all="ignore"):
        expected = function(*(side.astype(np.float64) for side in sides)).astype(dtype)
    np.testing.assert_array_equal(found.view(np.uint16), expected.view(np.uint16))


def test_values_are_dropped_after_their_last_use() -> None:
    """Of a long chain only the values still to be read are held: memory does not grow with depth."""
    lines = ["%0 = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kABS>} %x : tensor<64xf32>"]
    lines += [
        f"%{n} = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<kNEG>}} %{n - 1} : tensor<64xf32>"
        for n in range(1, 30)
    ]
    body = "\n  ".join(lines)
    program = mt.from_mlir(
        f"func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {{\n  {body}\n  return %29 : tensor<64xf32>\n}}"
    )
    walk = Interpreter(program).walk({"arg0": np.ones(64, np.float32)})
    assert max(len(walk._values) for _ in walk) <= 2
    np.testing.assert_array_equal(walk.outputs["result0"], -np.ones(64, np.float32))


def test_ops_of_one_kind_share_a_session() -> None:
    """Twenty negations of one type are one model; weights are fed, so they do not make more."""
    from mlirtrt_nb.numerics import single_op

    test_values_are_dropped_after_their_last_use()
    before = len(single_op._sessions)
    test_values_are_dropped_after_their_last_use()
    assert len(single_op._sessions) == before


def test_a_branch_leaves_the_run_as_it_was() -> None:
    """Replacing one op's result gives other outputs; the run itself ends as if nothing had been asked."""
    array = x()
    interpreter = Interpreter(exponential())
    walk = interpreter.walk({"x": array})
    branched = {}
    for executed in walk:
        if executed.step.op == "tensorrt.matrix_multiply":
            branched = walk.branch(executed, [np.zeros((2, 4), np.float32)])
    np.testing.assert_array_equal(branched["y"], np.ones((2, 4), np.float32))
    np.testing.assert_array_equal(walk.outputs["y"], interpreter.run({"x": array})["y"])


def test_the_program_is_kept_alive() -> None:
    """An interpreter may outlive every other reference to its program."""
    interpreter = Interpreter(half_exponential())
    gc.collect()
    assert interpreter.run({"x": x()})["y"].shape == (2, 4)


def test_random_ops_are_known() -> None:
    """A program that draws numbers says so, since two runs of it differ."""
    program = mt.from_mlir("""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.random_uniform {static_low = 0.0 : f64, static_high = 1.0 : f64} -> tensor<4xf32> loc("noise")
  %1 = tensorrt.element_wise <kSUM>(%x, %0 : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}""")
    assert [step.source for step in Interpreter(program).random_ops] == ["noise"]
    assert Interpreter(exponential()).random_ops == ()


def test_an_op_that_fails_is_named() -> None:
    """The error says which op of the program it was, with its source."""
    program = mt.from_mlir("""
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = tensorrt.element_wise <kSUM>(%x, %y : tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> loc("sum")
  return %0 : tensor<?xf32>
}""")
    with pytest.raises(MlirTrtError, match="sum") as caught:
        Interpreter(program).run({"arg0": np.ones(3, np.float32), "arg1": np.ones(2, np.float32)})
    assert caught.value.where == "tensorrt.element_wise 'sum'"


HOST = """func.func @main(%x: tensor<4xf32>, %n: index) -> (tensor<4xf32>, index) {
  %c = arith.constant dense<2.0> : tensor<4xf32>
  %k = arith.constant 1 : index
  %more = arith.addi %n, %k : index
  %0 = func.call @sine(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tensorrt.element_wise <kSUM>(%0, %c : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.map ins(%1 : tensor<4xf32>) outs(%x : tensor<4xf32>) (%i: f32, %o: f32) {
    %square = arith.mulf %i, %i : f32
    linalg.yield %square : f32
  }
  return %2, %more : tensor<4xf32>, index
}
func.func private @sine(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.sin %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def test_native_code_runs_op_by_op_too() -> None:
    """Ops of MLIR's own dialects, with regions, calls, numbers and constants, are followed like an engine's;
    they compute in their own types whatever the precision is."""
    program = mt.from_mlir(HOST)
    x = np.linspace(-2, 2, 4, dtype=np.float32)
    found = list(Interpreter(program).run({"arg0": x, "arg1": np.int64(3)}).values())
    np.testing.assert_allclose(found[0], (np.sin(x) + 2) ** 2, rtol=1e-5)
    assert found[1] == 4
    samples = {"arg0": x, "arg1": np.array(3)}
    assert [op.op for op in mt.ranges(program, samples).ops if op.op != "weights"] == [
        *("func.call", "tensorrt.element_wise", "linalg.map"),
    ]
    curve = mt.error_curve(program, "fp16", samples).df.set_index("op")
    assert (
        curve.loc["func.call", "max_abs_error"]
        == 0
        < curve.loc["tensorrt.element_wise", "max_abs_error"]
        < 0.01
    )
    assert curve["type"].to_dict() == {"func.call": "f32", "tensorrt.element_wise": "f16", "linalg.map": "f32"}


def test_an_op_on_memory_is_named() -> None:
    """It cannot be run by itself: the error says which op, and why."""
    program = mt.from_mlir("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = bufferization.to_buffer %x read_only : tensor<4xf32> to memref<4xf32>
      %1 = bufferization.to_tensor %0 restrict : memref<4xf32> to tensor<4xf32>
      return %1 : tensor<4xf32>
    }""")
    with pytest.raises(MlirTrtError, match=r"bufferization.to_buffer works on memory") as caught:
        Interpreter(program).run({"arg0": np.ones(4, np.float32)})
    assert caught.value.where == "bufferization.to_buffer '<cell>:2:12'"
