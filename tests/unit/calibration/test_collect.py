"""`mt.calibrate`: ranges by tensor name, equal to those of the arrays themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import mlirtrt_nb as mt

from ..passes.precision.programs import convolutions, residual

RNG = np.random.default_rng(5)
BATCHES = [RNG.standard_normal((1, 4, 8, 8), dtype=np.float32) for _ in range(3)]


def test_minmax_is_what_the_tensors_say() -> None:
    """The ranges of a model's own tensors, by ONNX's reference evaluator."""
    found = mt.calibrate(mt.load(convolutions()), BATCHES, "minmax")
    model = convolutions()
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in ("r0", "r1"))
    runs = [ReferenceEvaluator(model).run(["r0", "r1"], {"x": x}) for x in BATCHES]
    wanted = {"x": max(np.abs(x).max() for x in BATCHES)}
    wanted |= {f"relu{n}": max(run[n].max() for run in runs) for n in (0, 1)}
    assert found.ranges == pytest.approx(wanted, rel=1e-5)
    assert found.samples == 3 and found.inputs == "3 batches of the user's" and not found.synthetic


def test_minmax_of_tensors_with_negative_numbers() -> None:
    """A tensor whose largest magnitude is below 0, as a convolution's result before a sum may be."""
    model = residual()
    weights = next(w for w in model.graph.initializer if w.name == "w2")
    weights.CopyFrom(numpy_helper.from_array(-np.abs(numpy_helper.to_array(weights)), "w2"))
    x = RNG.standard_normal((1, 8, 6, 6), dtype=np.float32)
    found = mt.calibrate(mt.load(model), [x], "minmax").ranges
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in ("c2", "r0", "r2"))
    c2, r0, r2 = ReferenceEvaluator(model).run(["c2", "r0", "r2"], {"x": x})
    assert c2.max() < 0.5 * -c2.min()
    wanted = {"two": -c2.min(), "relu0": r0.max(), "relu2": r2.max()}
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("method", ["minmax", "percentile"])
def test_batches_that_are_written_over_one_another(method: str) -> None:
    """A stream may give the same memory each time; batches that run side by side are those it gave."""
    arrays = [np.float32(n) * BATCHES[0] for n in (1, 5, 2, 3, 1, 2, 1)]

    def stream() -> Iterator[np.ndarray]:
        memory = np.empty_like(BATCHES[0])
        for array in arrays:
            memory[:] = array
            yield memory

    program = mt.load(convolutions())
    found = mt.calibrate(program, stream(), method)
    assert found.ranges == mt.calibrate(program, arrays, method).ranges
    assert found.samples == 7
    alone = [mt.calibrate(program, [array], method).ranges["x"] for array in arrays]
    assert max(alone) * 0.2 < found.ranges["x"] <= max(alone)


def test_a_stream_and_a_limit() -> None:
    """A generator is enough, and the limit holds."""

    def stream() -> Iterator[np.ndarray]:
        while True:
            yield BATCHES[0]

    found = mt.calibrate(mt.load(convolutions()), stream(), "minmax", limit=2)
    assert found.samples == 2


def test_made_up_inputs_are_always_the_same() -> None:
    """Without data two calibrations agree, and say what they are."""
    first, second = (mt.calibrate(mt.load(convolutions())) for _ in range(2))
    assert first == second
    assert first.synthetic and first.inputs == "seeded synthetic inputs"


def dynamic() -> onnx.ModelProto:
    """A product with weights whose rows are free."""
    weight = numpy_helper.from_array(np.eye(16, dtype=np.float32), "w")
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "w"], ["y"], name="product"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 16])],
        [weight],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_batches_of_different_shapes() -> None:
    """Each batch may have a shape of its own, in any order."""
    arrays = [np.full((n, 16), n, np.float32) for n in (2, 7, 1, 3)]
    assert mt.calibrate(mt.load(dynamic()), arrays, "minmax").ranges == {"relu": 7.0}


def test_large_batches_after_small_ones_and_before_them() -> None:
    """Those that run by themselves, for the memory that they need, are counted like others."""
    sizes = (40_000, 2, 40_001, 3)
    for order in (sizes, sizes[::-1]):
        arrays = [np.full((n, 16), n % 7, np.float32) for n in order]
        found = mt.calibrate(mt.load(dynamic()), arrays, "minmax")
        assert found.ranges == {"relu": 3.0} and found.samples == 4


def test_a_program_of_several_engines() -> None:
    """What follows is not TensorRT's, so a Plan runs it; its batches differ in shape all the same."""
    model = dynamic()
    model.graph.node.append(helper.make_node("Unique", ["y"], ["u"], name="unique"))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("u", TensorProto.FLOAT, ["k"]))
    arrays = [np.full((n, 16), n, np.float32) for n in (2, 7, 1, 3)]
    assert mt.calibrate(mt.load(model), arrays, "minmax").ranges == {"relu": 7.0}


def test_values_that_overflow() -> None:
    """A tensor that becomes infinite is named, with the batch."""
    program = mt.from_mlir("""
        func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
          %w = tensorrt.constant dense<1.0> : tensor<8x8xf32>
          %e = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kEXP>} %x : tensor<4x8xf32>
          %y = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>,
            op1 = #tensorrt.matrix_operation<kNONE>}
            ins(%e, %w : tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
          return %y : tensor<4x8xf32>
        }""")
    with pytest.raises(mt.CalibrationError, match="becomes NaN or infinity in batch 2"):
        mt.calibrate(program, [np.ones((4, 8), np.float32), np.full((4, 8), 200, np.float32)])


def rated(assertion: str) -> mt.Program:
    """A product behind an assertion on the input `rate`."""
    return mt.from_mlir(f"""
        func.func @main(%x: tensor<4x8xf32>, %rate: tensor<i64>) -> tensor<4x8xf32> {{
          %w = tensorrt.constant dense<1.0> : tensor<8x8xf32>
          %k = tensorrt.constant dense<16000> : tensor<i64>
          %c = tensorrt.element_wise <{assertion}> (%rate, %k : tensor<i64>, tensor<i64>) -> tensor<i1>
          tensorrt.assertion {{message = "a rate that the model knows"}} ins(%c : tensor<i1>)
          %y = tensorrt.matrix_multiply {{op0 = #tensorrt.matrix_operation<kNONE>,
            op1 = #tensorrt.matrix_operation<kNONE>}}
            ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
          return %y : tensor<4x8xf32>
        }}""")


def test_made_up_integers_are_those_that_the_program_knows() -> None:
    """An input that is tested for one number is given that number."""
    found = mt.calibrate(rated("kEQUAL"))
    assert found.synthetic and list(found.ranges) == ["arg0"]


def test_made_up_inputs_that_the_program_refuses() -> None:
    """The error has the program's words and says to bring inputs."""
    with pytest.raises(mt.CalibrationError, match=r"does not run on made-up inputs: .*model knows") as caught:
        mt.calibrate(rated("kGREATER"))
    assert caught.value.hint == "give calibration inputs, and shapes= where they vary"


@pytest.mark.parametrize("method", ["minmax", "percentile"])
@pytest.mark.parametrize("given", [-1.0, 0.0])
@pytest.mark.parametrize("rest", ["", "5x"])
def test_nan_and_infinity_among_numbers(method: str, given: float, rest: str) -> None:
    """One value of many that is NaN (log of -1) or infinite (log of 0) is found by every method, in tensors of
    either rank."""
    kind, square = (f"tensor<{f'2x{rest}' if rest else ''}{n}x8xf32>" for n in (40, 8))
    program = mt.from_mlir(f"""
        func.func @main(%x: {kind}) -> {kind} {{
          %w = tensorrt.constant dense<1.0> : {square}
          %e = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<kLOG>}} %x : {kind}
          %y = tensorrt.matrix_multiply {{op0 = #tensorrt.matrix_operation<kNONE>,
            op1 = #tensorrt.matrix_operation<kNONE>}}
            ins(%e, %w : {kind}, {square}) -> {kind}
          return %y : {kind}
        }}""")
    batch = np.ones(((2, 5) if rest else ()) + (40, 8), np.float32)
    batch[..., 17, 3] = given
    with pytest.raises(mt.CalibrationError, match="becomes NaN or infinity in batch 1"):
        mt.calibrate(program, batch, method)


def test_unknown_method() -> None:
    """The error lists the methods."""
    with pytest.raises(mt.CalibrationError, match="unknown method 'max'") as caught:
        mt.calibrate(mt.load(convolutions()), BATCHES, "max")
    assert caught.value.hint == "there are minmax, percentile, entropy, mse"


def test_a_model_that_is_not_loaded_yet() -> None:
    """What `mt.load` takes is taken here as well, as everywhere else."""
    assert mt.calibrate(convolutions(), BATCHES) == mt.calibrate(mt.load(convolutions()), BATCHES)


def test_progress_is_told_and_stops() -> None:
    """Each batch, of how many where that is known; False stops; a compilation that calibrates tells it too."""
    rng = np.random.default_rng(8)
    data = [{"x": rng.standard_normal((1, 4, 8, 8)).astype(np.float32)} for _ in range(3)]
    program = mt.load(convolutions())
    said: list[tuple[str, int, int]] = []
    for given, limit, total in ((data, None, 3), (iter(data), None, 0), (data, 2, 2)):
        said.clear()
        mt.calibrate(program, given, limit=limit, progress=lambda *step: said.append(step) or True)
        assert said == [("calibration", number, total) for number in range(limit or 3)]
    with pytest.raises(mt.Cancelled, match="calibration was cancelled"):
        mt.calibrate(program, data, progress=lambda *step: step[1] < 1)
    precision = mt.Precision("int8", calibration=data)
    phases: list[str] = []
    mt.compile(program, precision=precision, progress=lambda *step: phases.append(step[0]) or True)
    assert phases.count("calibration") == 3


def test_what_a_padding_adds_has_a_range_too() -> None:
    """A slice that fills with a number of its own hands on more than it reads."""
    model = dynamic()
    pad = helper.make_node("Pad", ["r", "pads", "value"], ["p"], name="pad")
    model.graph.node.insert(1, pad)
    model.graph.node[2].input[0] = "p"
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 0, 0, 0]), "pads"))
    model.graph.initializer.append(numpy_helper.from_array(np.float32(9), "value"))
    found = mt.calibrate(mt.load(model), [np.full((2, 16), 3, np.float32)], "minmax").ranges
    assert list(found.values()) == [9.0]
