"""precision-quantize: where quantize and dequantize ops stand, and what weights become."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.compilation import before_clustering
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.precision.marks import REASON
from mlirtrt_nb.program import Program

from .programs import attributes_of, calibration, convolutions, op_types, residual, text_program


def quantized(program: Program, precision: mt.Precision, target: str = "cpu") -> Program:
    """The program after all passes before clustering."""
    from mlirtrt_nb.passes.pipeline import Pipeline

    entries = [e for e in Pipeline.default(target, precision) if not e.name.startswith("plan-")]
    made = Pipeline(entries).run(program, PassContext((target,)), keep_snapshots=False).program
    made.verify()
    return made


def test_pairs_stand_before_the_layer_and_around_the_pool() -> None:
    """No pair between a convolution and its ReLU; the pooling in between works on rounded numbers."""
    program = mt.load(convolutions())
    precision = mt.Precision("int8", calibration=calibration(program))
    assert [name for name, _ in op_types(quantized(program, precision)) if name != "constant"] == [
        "convolution",
        "activation",
        "quantize",
        "dequantize",
        "pooling",
        "quantize",
        "dequantize",
        "dequantize",
        "convolution",
        "activation",
        "convolution",
    ]


def test_both_inputs_of_a_residual_sum() -> None:
    """The sum reads two dequantized values; the skipped one shares the pair of the branch's first layer."""
    program = mt.load(residual())
    made = quantized(program, mt.Precision("int8", calibration=calibration(program)))
    text = made.text()
    names = [name for name, _ in op_types(made) if name != "constant"]
    assert names.count("quantize") == 3  # before "one" and the sum, before "two", after "two"
    assert names.count("dequantize") == 3 + 2  # and the weights of "one" and "two"
    assert text.count("tensorrt.element_wise") == 1


def test_weights_are_stored_in_the_small_type() -> None:
    """i8 with a scale per channel; the f32 kernel is gone; what is kept stays f32."""
    program = mt.load(convolutions())
    made = quantized(program, mt.Precision("int8", calibration=calibration(program)))
    small = {name: array for name, array in made.weights.items() if array.dtype == np.int8}
    assert [array.shape for array in small.values()] == [(32, 32, 3, 3)]
    (scale,) = [array for name, array in made.weights.items() if name.endswith(".scale")]
    assert scale.shape == (32,) and scale.dtype == np.float32
    (stored,) = small.values()
    original = program.weights["w1"]
    error = np.abs(stored * scale.reshape(-1, 1, 1, 1) - original)
    assert np.all(error <= scale.reshape(-1, 1, 1, 1) / 2 * 1.001)


def test_int4_is_for_weights_alone() -> None:
    """No activation is rounded; kernels are matrices in blocks that divide their rows."""
    made = quantized(mt.load(convolutions()), mt.Precision("int4", block=32))
    names = [name for name, _ in op_types(made)]
    assert "quantize" not in names
    shapes = {array.shape: str(array.dtype) for array in made.weights.values()}
    assert shapes[(32, 288)] == "int4" and shapes[(32, 9)] == "float32"  # 288 = 9 blocks of 32


def test_fp8_weights_have_one_scale() -> None:
    """A scale for the whole tensor folds into the layer; one per channel would leave another layer behind."""
    program = mt.load(convolutions())
    made = quantized(program, mt.Precision("fp8", calibration=calibration(program)))
    assert sum(str(array.dtype) == "float8_e4m3fn" for array in made.weights.values()) == 3
    assert "axis" not in made.text().split("tensorrt.dequantize")[1].split("in(")[0]


def test_ranges_that_cannot_be_used_are_noted() -> None:
    """A range of 0, a denormal one, and one that is missing leave the op as it is, with the reason on it."""
    program = mt.load(convolutions())
    ranges = calibration(program)
    for value, reason in ((0.0, "the range of its input is 0"), (1e-40, "the range of its input is denormal")):
        changed = replace(ranges, ranges={**ranges.ranges, "relu0": value})
        made = quantized(program, mt.Precision("int8", calibration=changed))
        assert attributes_of(made, REASON)["middle"] == reason
        assert "tensorrt.quantize" not in made.text()
    without = replace(ranges, ranges={})
    made = quantized(program, mt.Precision("int8", calibration=without))
    assert attributes_of(made, REASON)["middle"] == "its input has no range in the calibration"


def test_products_of_activations_stay() -> None:
    """A product without weights is left out, with a reason."""
    program = text_program(
        "%x: tensor<2x8x8xf32>",
        """
        %a = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>,
          op1 = #tensorrt.matrix_operation<kTRANSPOSE>}
          ins(%x, %x : tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
        """,
        "%a : tensor<2x8x8xf32>",
    )
    made = quantized(program, mt.Precision("int8", calibration=calibration(program)))
    assert list(attributes_of(made, REASON).values()) == ["a product of two activations"]


@pytest.mark.parametrize("op1", ["kNONE", "kTRANSPOSE"])
@pytest.mark.parametrize("base", ["int8", "int4", "fp8"])
def test_products_give_nearly_the_same(op1: str, base: str) -> None:
    """Scales run along the right dimension, for weights as they are and transposed."""
    rng = np.random.default_rng(1)
    weight = rng.standard_normal((64, 64), dtype=np.float32) * np.geomspace(0.1, 4, 64, dtype=np.float32)
    body = "\n".join(
        f"""
        %w{n} = tensorrt.constant dense_resource<w> : tensor<64x64xf32>
        %v{n + 1} = tensorrt.matrix_multiply {{op0 = #tensorrt.matrix_operation<kNONE>,
          op1 = #tensorrt.matrix_operation<{op1}>}}
          ins(%v{n}, %w{n} : tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>"""
        for n in range(1)
    )
    program = text_program("%v0: tensor<8x64xf32>", body, "%v1 : tensor<8x64xf32>")
    program.weights["w"] = weight
    x = rng.standard_normal((8, 64), dtype=np.float32)
    ranges = mt.calibrate(program, x, "minmax")
    plan = mt.compile(program, precision=mt.Precision(base, calibration=ranges, block=16), cache=False)
    exact = x @ (weight if op1 == "kNONE" else weight.T)
    found = plan.session("cpu")(x)
    noise = np.sqrt(np.mean((found - exact) ** 2) / np.mean(exact**2))
    assert noise < {"int8": 0.02, "fp8": 0.06, "int4": 0.15}[base]
    small = {"int8": "int8", "int4": "int4", "fp8": "float8_e4m3fn"}[base]
    assert small in {str(array.dtype) for array in plan.weights.values()}


def test_a_models_own_scales_are_kept() -> None:
    """Ops that a model quantizes itself get no second pair."""
    program = text_program(
        "%x: tensor<8x16xf32>",
        """
        %s = tensorrt.constant dense<0.1> : tensor<f32>
        %w = tensorrt.constant dense<1> : tensor<16x16xi8>
        %q = tensorrt.quantize in(%x : tensor<8x16xf32>) scale(%s : tensor<f32>) -> tensor<8x16xi8>
        %d = tensorrt.dequantize in(%q : tensor<8x16xi8>) scale(%s : tensor<f32>) -> tensor<8x16xf32>
        %e = tensorrt.dequantize in(%w : tensor<16x16xi8>) scale(%s : tensor<f32>) -> tensor<16x16xf32>
        %y = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>,
          op1 = #tensorrt.matrix_operation<kNONE>}
          ins(%d, %e : tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
        """,
        "%y : tensor<8x16xf32>",
    )
    made = quantized(program, mt.Precision("int8", calibration=calibration(program)))
    assert op_types(made) == op_types(program)


def test_without_ranges_made_up_inputs_serve() -> None:
    """A pipeline that is run by itself finds ranges on synthetic inputs."""
    made = quantized(mt.load(convolutions()), mt.Precision("int8"))
    assert "tensorrt.quantize" in made.text()
    plan = mt.compile(mt.load(convolutions()), precision="int8", cache=False)
    assert plan.metadata["synthetic_calibration"] is True
    assert "Calibrated on made-up inputs" in str(plan) and "Calibrated on made-up inputs" in plan._repr_html_()


def test_ranges_of_another_model_are_refused() -> None:
    """Ranges belong to the content of their model."""
    ranges = calibration(mt.load(residual()))
    with pytest.raises(mt.CalibrationError, match="found on another model"):
        mt.compile(mt.load(convolutions()), precision=mt.Precision("int8", calibration=ranges))


def test_ranges_go_by_names_that_stay() -> None:
    """Each range has the name that its tensor has in the program before it is quantized."""
    program = before_clustering(mt.load(convolutions()))
    assert set(calibration(mt.load(convolutions())).ranges) <= set(_names(program))


def _names(program: Program) -> list[str]:
    from torch_mlir import ir

    from mlirtrt_nb.passes.input.rewriting import functions
    from mlirtrt_nb.passes.precision.tensor_names import tensor_names

    with program.context, ir.Location.unknown():
        return list(tensor_names(next(functions(program))).values())


@pytest.mark.parametrize("base", ["int8", "int4"])
def test_weights_that_are_not_finite(base: str) -> None:
    """Weights with NaN in them have no scale: the op stays, with the reason on it."""
    program = mt.load(convolutions())
    precision = mt.Precision(base, calibration=calibration(program), block=32)
    program.weights["w1"] = program.weights["w1"].copy()
    program.weights["w1"][0, 0, 0, 0] = np.nan
    made = quantized(program, precision)
    assert attributes_of(made, REASON)["middle"] == "its weights hold NaN or infinity"
