"""A row of f32 times many i8 weights: the CPU engine reads them as i8, and is as exact as in f32."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt

LENGTH, COLUMNS = 1 << 11, 1 << 10
RNG = np.random.default_rng(5)
WEIGHTS = RNG.integers(-128, 128, (LENGTH, COLUMNS)).astype(np.int8)
SCALES = RNG.uniform(1e-3, 1e-2, COLUMNS).astype(np.float32)
BIAS = RNG.standard_normal((1, COLUMNS), dtype=np.float32)


def plan_of(
    rows: int | str = 1,
    *,
    turned: bool = False,
    biased: bool = True,
    length: int = LENGTH,
    one_scale: bool = False,
    shown: bool = False,
    weights: np.ndarray = WEIGHTS,
    scales: np.ndarray = SCALES,
) -> mt.Plan:
    """A product with dequantized weights, and a sum with a bias; `shown` weights are a result too."""
    weights, columns = weights[:length], len(scales)
    arrays = {"w": np.ascontiguousarray(weights.T if turned else weights), "b": BIAS[0]}
    arrays["s"] = scales[0].reshape(()) if one_scale else scales
    axis = None if one_scale else 0 if turned else 1
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=axis),
        helper.make_node("Gemm", ["x", "d", "b"] if biased else ["x", "d"], ["y"], transB=int(turned)),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])]
    if shown:
        outputs.append(helper.make_tensor_value_info("d", TensorProto.FLOAT, arrays["w"].shape))
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, length])],
        outputs,
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    shapes = {"x": ((1, length), (2, length), (4, length))} if isinstance(rows, str) else None
    return mt.compile(mt.load(model), shapes=shapes, cache=False)


def kinds(plan: mt.Plan) -> Counter[str]:
    (engine,) = plan.engine_values
    return Counter(node.op_type for node in onnx.ModelProto.FromString(bytes(engine.blob)).graph.node)


@pytest.mark.parametrize("one_scale", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_the_product_is_as_exact_as_in_f32(turned: bool, biased: bool, one_scale: bool) -> None:
    """Its error beside f64 is below one part in a million of the largest result, at any size of the numbers."""
    plan = plan_of(turned=turned, biased=biased, one_scale=one_scale)
    assert kinds(plan)["MatMulInteger"] == 1 and not kinds(plan)["Gemm"]
    session = plan.session("cpu")
    scales = SCALES[0] if one_scale else SCALES
    for size in (1e-12, 1.0, 1e6):
        x = (RNG.standard_normal((1, LENGTH)) * size).astype(np.float32)
        wanted = x.astype(np.float64) @ WEIGHTS.astype(np.float64) * scales + (BIAS if biased else 0)
        assert np.abs(session(x) - wanted).max() <= 1e-6 * np.abs(wanted).max()


def test_few_large_numbers_leave_the_others_as_they_are() -> None:
    """A digit of 8 bits would round all else to nothing; what is left of a number has digits of its own."""
    x = np.full((1, LENGTH), 1e-4, np.float32)
    x[0, 7] = 1.0
    wanted = x.astype(np.float64) @ WEIGHTS.astype(np.float64) * SCALES + BIAS
    assert np.abs(plan_of().session("cpu")(x) - wanted).max() <= 1e-6 * np.abs(wanted).max()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_so(number: float) -> None:
    """A row with a NaN or an infinity gives NaN in every column; in f32 none is finite either."""
    session = plan_of().session("cpu")
    x = np.ones((1, LENGTH), np.float32)
    assert np.isfinite(session(x)).all()
    x[0, 3] = number
    assert np.isnan(session(x)).all()
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(x @ (WEIGHTS * SCALES)).any()


def test_large_rows_by_small_scales_stay_finite() -> None:
    """The sums in units of the row are beyond f32, up to its largest number; the results are not."""
    session = plan_of(biased=False, scales=SCALES * np.float32(1e-9)).session("cpu")
    for largest in (1e37, np.finfo(np.float32).max):
        x = (RNG.uniform(-1, 1, (1, LENGTH)) * largest).astype(np.float32)
        x[0, 3] = largest
        wanted = x.astype(np.float64) @ (WEIGHTS * SCALES * 1e-9)
        assert np.abs(session(x) - wanted).max() <= 1e-6 * np.abs(wanted).max()


def test_longer_sums_than_i32_holds_are_computed_in_f32() -> None:
    """A digit is at most 127 and a weight at least -128: one term more than 132104 of these is too many."""
    for length, integers in ((132104, 1), (132105, 0)):
        weights = np.full((length, 16), -128, np.int8)
        plan = plan_of(length=length, biased=False, weights=weights, scales=np.ones(16, np.float32))
        assert kinds(plan)["MatMulInteger"] == integers
        np.testing.assert_array_equal(plan.session("cpu")(np.ones((1, length), np.float32)), length * -128.0)


def test_a_row_of_zeros_gives_the_bias() -> None:
    """There is no largest magnitude to divide by."""
    np.testing.assert_array_equal(plan_of().session("cpu")(np.zeros((1, LENGTH), np.float32)), BIAS)


@pytest.mark.parametrize(("rows", "length"), [(2, LENGTH), ("n", LENGTH), (1, LENGTH // 2)])
def test_other_products_are_computed_in_f32(rows: int | str, length: int) -> None:
    """More rows make the arithmetic matter, and few weights are read in no time; they are made real once, as
    the model is opened."""
    plan = plan_of(rows, length=length)
    assert not kinds(plan)["MatMulInteger"] and not kinds(plan)["DequantizeLinear"]
    x = RNG.standard_normal((1 if rows == 1 else 2, length), dtype=np.float32)
    wanted = x.astype(np.float64) @ WEIGHTS[:length].astype(np.float64) * SCALES + BIAS
    assert np.abs(plan.session("cpu")(x) - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_weights_that_something_else_reads_are_real() -> None:
    """They are made real for it in any case."""
    plan = plan_of(shown=True, biased=False)
    assert not kinds(plan)["MatMulInteger"]
    x = RNG.standard_normal((1, LENGTH), dtype=np.float32)
    product, weights = plan.session("cpu").run({"x": x}).values()
    np.testing.assert_allclose(weights, WEIGHTS * SCALES, rtol=1e-6)
    assert np.abs(product - x @ (WEIGHTS * SCALES)).max() <= 1e-4 * np.abs(product).max()


def test_a_dequantized_vector_for_a_whole_batch() -> None:
    """It is no matrix that the batch shares, though its dimensions are those of one with a single row."""
    program = mt.from_mlir("""
        func.func @main(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3xf32> {
          %w = tensorrt.constant dense<[[[1, -2, 3, -128]]]> : tensor<1x1x4xi8>
          %s = tensorrt.constant dense<0.5> : tensor<f32>
          %d = tensorrt.dequantize in(%w : tensor<1x1x4xi8>) scale(%s : tensor<f32>) -> tensor<1x1x4xf32>
          %y = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>,
            op1 = #tensorrt.matrix_operation<kVECTOR>}
            ins(%x, %d : tensor<1x2x3x4xf32>, tensor<1x1x4xf32>) -> tensor<1x2x3xf32>
          return %y : tensor<1x2x3xf32>
        }""")
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    wanted = x @ np.array([0.5, -1, 1.5, -64], np.float32)
    np.testing.assert_array_equal(mt.compile(program, cache=False).session("cpu")(x), wanted)


@pytest.mark.parametrize("batch", ["N", "N,4"])
def test_four_bit_weights_within_branches_and_loops(batch: str) -> None:
    """A decoder whose products stand in an If, or a Loop, opens with 4-bit weights, and is near its f32."""
    rng = np.random.default_rng(0)
    text = f"""<ir_version: 8, opset_import: ["" : 17]> main (bool c, float[{batch},64] x, int64 n)
      => (float[{batch},64] y, float[{batch},64] z) {{
      y = If(c) <then_branch = t () => (float[{batch},64] a) {{ a = MatMul(x, v) }},
                 else_branch = e () => (float[{batch},64] b) {{ b0 = MatMul(x, w) b = Relu(b0) }}>
      z = Loop(n, , x) <body = l (int64 i, bool on, float[{batch},64] p) => (bool go, float[{batch},64] q) {{
            go = Identity(on) r = MatMul(p, w) q = Tanh(r) }}>
    }}"""
    model = onnx.parser.parse_model(text)
    for name in ("v", "w"):
        weights = (rng.standard_normal((64, 64)) * 0.1).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, name))
    x = rng.standard_normal((2, 4, 64) if "4" in batch else (2, 64)).astype(np.float32)
    sessions = [
        mt.compile(model, "cpu", precision, shapes={"x": x.shape}).session("cpu")
        for precision in ("fp32", "int4")
    ]
    for c, n in ((True, 2), (False, 1)):
        exact, rounded = (s.run({"c": np.array(c), "x": x, "n": np.array(n)}) for s in sessions)
        for name in ("y", "z"):
            assert np.abs(rounded[name] - exact[name]).max() < 0.3 * np.abs(exact[name]).max()
