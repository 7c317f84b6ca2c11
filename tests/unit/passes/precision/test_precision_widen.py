"""precision-widen: models in f16 and bf16 are quantized like those in f32, and keep their ends."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mlirtrt_nb as mt
from mlirtrt_nb.compilation import before_clustering
from mlirtrt_nb.ir.dtypes import by_onnx
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.pipeline import make_pass

from .programs import convolutions, op_types, text_program

NARROW = [TensorProto.FLOAT16, TensorProto.BFLOAT16]


def narrowed(element: int) -> onnx.ModelProto:
    """The model of three convolutions with inputs, outputs and weights in another type."""
    model = convolutions()
    kind = by_onnx(element).np
    for weight in model.graph.initializer:
        array = numpy_helper.to_array(weight).astype(kind)
        weight.CopyFrom(helper.make_tensor(weight.name, element, array.shape, array.tobytes(), raw=True))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = element
    return model


def samples(element: int) -> list[dict[str, np.ndarray]]:
    """Two seeded inputs in a type."""
    rng = np.random.default_rng(2)
    return [{"x": rng.standard_normal((1, 4, 8, 8)).astype(by_onnx(element).np)} for _ in range(2)]


@pytest.mark.parametrize("element", NARROW)
def test_a_narrow_model_is_quantized_like_a_wide_one(element: int) -> None:
    """int8 on the CPU: the same roundings and exceptions as in f32, ends in the model's own type, and an error
    of the same size."""
    wide, narrow = mt.load(convolutions()), mt.load(narrowed(element))
    plans = [mt.compile(program, precision="int8") for program in (wide, narrow)]
    for mnemonic in ("tensorrt.quantize", "tensorrt.dequantize"):
        assert plans[1].text().count(mnemonic) == plans[0].text().count(mnemonic) > 0
    columns = ["op", "type", "reason", "location"]
    assert plans[1].kept[columns].equals(plans[0].kept[columns])
    assert plans[1].inputs[0].dtype == plans[1].outputs[0].dtype == by_onnx(element).mlir
    found = [
        mt.compare(program, ("fp32", "int8"), samples(kind), target="cpu", duration_ms=3).df["snr_db"][1]
        for program, kind in ((wide, TensorProto.FLOAT), (narrow, element))
    ]
    assert found[0] > 25 and found[1] == pytest.approx(found[0], abs=3)


@pytest.mark.parametrize("element", NARROW)
def test_calibration_of_a_narrow_model(element: int) -> None:
    """Ranges have the names and nearly the values of those of the f32 model."""
    wide = mt.calibrate(mt.load(convolutions()), samples(TensorProto.FLOAT), "minmax")
    narrow = mt.calibrate(mt.load(narrowed(element)), samples(element), "minmax")
    assert [*narrow.ranges.values()] == pytest.approx([*wide.ranges.values()], rel=0.02)


def test_what_is_left_gets_the_type_of_the_rest() -> None:
    """For TensorRT a bf16 model at int8 computes what is not quantized in fp16, and in bf16 if that is said."""
    program = mt.load(narrowed(TensorProto.BFLOAT16))
    for precision, rest in (("int8", "f16"), (mt.Precision("int8", rest="bf16"), "bf16")):
        kept = mt.compile(program, target="sm89", precision=precision).kept
        assert set(kept["type"]) == {rest}


def test_four_bit_weights_leave_the_types_of_the_model() -> None:
    """Weights alone: the activations of an f16 model stay in f16, and no weight is widened for it."""
    plan = mt.compile(mt.load(narrowed(TensorProto.FLOAT16)), precision=mt.Precision("int4", block=16))
    assert "xf32>" not in plan.text() and plan.text().count("tensorrt.dequantize") == 2


def test_casts_of_the_model_itself_are_joined() -> None:
    """A cast of an f16 result to f32 reads the f32 result; one of an f32 value to f16 is not read any more."""
    program = text_program(
        "%x: tensor<4xf32>",
        """%h = tensorrt.cast %x : tensor<4xf32> to tensor<4xf16>
        %a = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kABS>} %h : tensor<4xf16>
        %y = tensorrt.cast %a : tensor<4xf16> to tensor<4xf32>""",
        "%y : tensor<4xf32>",
    )
    make_pass("precision-widen", {}).apply(program, PassContext())
    assert ("unary", "f32") in op_types(program)
    assert program.text().count("tensorrt.cast") <= 1  # of nothing that is computed, if any
    assert "return %y" not in program.text()


def test_recurrences_say_that_they_are_not_quantized() -> None:
    """`plan.kept` has the LSTM, whose weights stay as they are, for each precision that quantizes weights."""
    rng = np.random.default_rng(4)
    weights = {"w": (1, 32, 8), "r": (1, 32, 8), "p": (8, 32)}
    graph = helper.make_graph(
        [
            helper.make_node("LSTM", ["x", "w", "r"], ["s"], name="rec", hidden_size=8),
            helper.make_node("Squeeze", ["s", "axis"], ["t"], name="squeeze"),
            helper.make_node("MatMul", ["t", "p"], ["y"], name="dense"),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 1, 32])],
        [
            *(
                numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
                for name, shape in weights.items()
            ),
            numpy_helper.from_array(np.array([1]), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    for precision in ("int8", "fp8", "int4"):
        kept = mt.compile(model, precision=precision).kept
        row = kept[kept["op"] == "tensorrt.lstm"].iloc[0]
        assert row["location"] == "rec"
        assert row["reason"] == "a recurrence: its weights and states are not quantized"
    assert mt.compile(model, precision="fp16").kept.empty


def test_marks_are_of_ops_that_are_in_the_wide_type() -> None:
    """A softmax that a model has in f16 is not said to be kept in f32."""
    program = text_program(
        "%x: tensor<2x4xf16>",
        "%y = tensorrt.softmax {axis = 1 : i64} %x : tensor<2x4xf16>",
        "%y : tensor<2x4xf16>",
    )
    make_pass("precision-assign", {}).apply(program, PassContext())
    assert "precision.type" not in before_clustering(program).text()
