"""Control flow, assertions and random fills of the tensorrt dialect on the CPU engine, compared with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from torch_mlir.dialects import func

from mlirtrt_nb.engine.base import BuildRequest
from mlirtrt_nb.engine.onnxruntime.builder import OnnxRuntimeBuilder
from mlirtrt_nb.engine.onnxruntime.session import OrtEngine
from mlirtrt_nb.errors import EngineBuildError, InputError
from mlirtrt_nb.frontends.text import from_mlir

X = np.array([1, -2, 3, 4], np.float32)


def engine(signature: str, body: str, returns: str) -> OrtEngine:
    """The engine of a function in the dialect's own syntax."""
    results, _, types = returns.partition(" : ")
    arrow = f" -> ({types})" if types else ""
    text = f"func.func @main({signature}){arrow} {{\n{body}\nreturn {returns}\n}}" if results else body
    program = from_mlir(text)
    function = next(op for op in program.module.operation.regions[0].blocks[0] if isinstance(op, func.FuncOp))
    built = OnnxRuntimeBuilder().build(BuildRequest("main", function.operation, program.weights, "cpu"))
    return OrtEngine(built, program.weights)


def run(signature: str, body: str, returns: str, inputs: Sequence[Any]) -> list[np.ndarray]:
    """What the function gives."""
    return engine(signature, body, returns).run([np.asarray(x) for x in inputs])


IF = """
%c0 = tensorrt.constant dense<10.0> : tensor<4xf32>
%0:2 = tensorrt.if (%c : tensor<i1>) -> tensor<4xf32>, tensor<4xf32> {
  %1 = tensorrt.element_wise <kSUM>(%x, %c0 : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  tensorrt.yield %1, %x : tensor<4xf32>, tensor<4xf32>
} else {
  tensorrt.yield %c0, %c0 : tensor<4xf32>, tensor<4xf32>
}"""


@pytest.mark.parametrize("condition", [True, False])
def test_if(condition: bool) -> None:
    """Each branch gives its own values: computed, from outside, constant, the same one twice."""
    one, two = run(
        "%c: tensor<i1>, %x: tensor<4xf32>", IF, "%0#0, %0#1 : tensor<4xf32>, tensor<4xf32>", [condition, X]
    )
    ten = np.full(4, 10, np.float32)
    np.testing.assert_array_equal(one, X + 10 if condition else ten)
    np.testing.assert_array_equal(two, X if condition else ten)


WHILE = """
%0:2 = tensorrt.while (%x, %n : tensor<4xf32>, tensor<i32>) -> tensor<4xf32>, tensor<i32> {
^bb0(%a: tensor<4xf32>, %k: tensor<i32>):
  %zero = tensorrt.constant dense<0> : tensor<i32>
  %more = tensorrt.element_wise <kGREATER>(%k, %zero : tensor<i32>, tensor<i32>) -> tensor<i1>
  tensorrt.condition (%more : tensor<i1>) %a, %k : tensor<4xf32>, tensor<i32>
}, {
^bb0(%a: tensor<4xf32>, %k: tensor<i32>):
  %one = tensorrt.constant dense<1> : tensor<i32>
  %b = tensorrt.element_wise <kSUM>(%a, %a : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = tensorrt.element_wise <kSUB>(%k, %one : tensor<i32>, tensor<i32>) -> tensor<i32>
  tensorrt.yield %b, %l : tensor<4xf32>, tensor<i32>
}"""


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_while(rounds: int) -> None:
    """The condition is asked before each round, also before the first."""
    x, left = run(
        "%x: tensor<4xf32>, %n: tensor<i32>",
        WHILE,
        "%0#0, %0#1 : tensor<4xf32>, tensor<i32>",
        [X, np.int32(rounds)],
    )
    np.testing.assert_array_equal(x, X * 2**rounds)
    assert left == 0


FOR = """
%0 = tensorrt.for %i = %lb to %ub step %step init(%a = %x) -> (tensor<i32>) {
  %b = tensorrt.element_wise <kSUM>(%a, %i : tensor<i32>, tensor<i32>) -> tensor<i32>
  tensorrt.yield %b : tensor<i32>
}"""


@pytest.mark.parametrize("bounds", [(0, 5, 1), (2, 11, 3), (3, 3, 1), (5, 2, 1), (0, 1, 7), (-4, 4, 2)])
def test_for(bounds: tuple[int, int, int]) -> None:
    """The induction variable takes Python's range; an empty range leaves the start values."""
    signature = ", ".join(f"%{n}: tensor<i32>" for n in ("lb", "ub", "step", "x"))
    (total,) = run(signature, FOR, "%0 : tensor<i32>", [*map(np.int32, bounds), np.int32(100)])
    assert total == 100 + sum(range(*bounds))


COLLECT = """
%0:3 = tensorrt.for %i = %lb to %ub step %step init(%a = %x)
    -> (tensor<2xf32>, tensor<2x3xf32>, tensor<3x2xf32>) {
  %s = tensorrt.iterator {axis = 1 : i64} %xs : tensor<2x3xf32> -> tensor<2xf32>
  %r = tensorrt.iterator {axis = 1 : i64, reverse = true} %xs : tensor<2x3xf32> -> tensor<2xf32>
  %b = tensorrt.element_wise <kSUM>(%a, %s : tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  tensorrt.yield %b, %b, %r : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
} {collect_axes = array<i64: 1, 0>, collected = ["kCONCATENATE", "kREVERSE"]}"""


def test_collected_values_and_iterators() -> None:
    """A loop walks along an axis, forwards and backwards, and stacks what its body yields."""
    xs = np.array([[1, 2, 3], [10, 20, 30]], np.float32)
    start = np.array([0.5, 1.5], np.float32)
    signature = (
        "%lb: tensor<i32>, %ub: tensor<i32>, %step: tensor<i32>, %x: tensor<2xf32>, %xs: tensor<2x3xf32>"
    )
    returns = "%0#0, %0#1, %0#2 : tensor<2xf32>, tensor<2x3xf32>, tensor<3x2xf32>"
    last, sums, turned = run(signature, COLLECT, returns, [np.int32(0), np.int32(3), np.int32(1), start, xs])
    expected = start[:, None] + np.cumsum(xs, 1)
    np.testing.assert_array_equal(last, expected[:, -1])
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(turned, xs.T)


NESTED = """
%0 = tensorrt.for %i = %lb to %ub step %step init(%a = %x) -> (tensor<i32>) {
  %two = tensorrt.constant dense<2> : tensor<i32>
  %odd = tensorrt.element_wise <kGREATER>(%i, %two : tensor<i32>, tensor<i32>) -> tensor<i1>
  %b = tensorrt.if (%odd : tensor<i1>) -> tensor<i32> {
    %1 = tensorrt.element_wise <kSUM>(%a, %i : tensor<i32>, tensor<i32>) -> tensor<i32>
    tensorrt.yield %1 : tensor<i32>
  } else {
    %1 = tensorrt.element_wise <kSUB>(%a, %x : tensor<i32>, tensor<i32>) -> tensor<i32>
    tensorrt.yield %1 : tensor<i32>
  }
  tensorrt.yield %b : tensor<i32>
}"""


def test_nested_regions_see_outer_values() -> None:
    """An if in a loop reads the loop's values and the function's."""
    signature = ", ".join(f"%{n}: tensor<i32>" for n in ("lb", "ub", "step", "x"))
    (total,) = run(signature, NESTED, "%0 : tensor<i32>", [*map(np.int32, (0, 5, 1)), np.int32(7)])
    assert total == 7 - 3 * 7 + 3 + 4


ASSERTION = """
tensorrt.assertion {message = "the batch is 'odd'"} ins(%c : tensor<2xi1>)
%0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>"""


def test_assertion() -> None:
    """An assertion that does not hold fails the run with its message; one that holds changes nothing."""
    made = engine("%c: tensor<2xi1>, %x: tensor<4xf32>", ASSERTION, "%0 : tensor<4xf32>")
    np.testing.assert_array_equal(made.run([np.array([True, True]), X])[0], np.maximum(X, 0))
    with pytest.raises(InputError, match="assertion failed: the batch is 'odd'"):
        made.run([np.array([True, False]), X])


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_random_uniform(kind: str) -> None:
    """Numbers lie in the range, spread over it, and differ from run to run."""
    bounds = "{static_high = 5.0 : f64, static_low = 2.0 : f64}"
    body = f"%0 = tensorrt.random_uniform {bounds} -> tensor<100x20x{kind}>"
    made = engine("", body, f"%0 : tensor<100x20x{kind}>")
    one, two = (made.run([])[0].astype(np.float64) for _ in range(2))
    assert one.min() >= 2 and one.max() <= 5
    assert abs(one.mean() - 3.5) < 0.1 and abs(one.std() - 3 / 12**0.5) < 0.1
    assert (one != two).any()


def test_random_normal_with_tensors() -> None:
    """Mean, deviation and shape may be tensors."""
    body = """%0 = tensorrt.random_normal mean(%m : tensor<f32>) std(%s : tensor<f32>) shape(%n : tensor<2xi32>)
              -> tensor<?x?xf32>"""
    signature = "%m: tensor<f32>, %s: tensor<f32>, %n: tensor<2xi32>"
    inputs = [np.float32(-3), np.float32(0.5), np.array([60, 50], np.int32)]
    (drawn,) = run(signature, body, "%0 : tensor<?x?xf32>", inputs)
    assert drawn.shape == (60, 50)
    assert abs(drawn.mean() + 3) < 0.05 and abs(drawn.std() - 0.5) < 0.05


PLUGIN = """%0 = tensorrt.opaque_plugin {creator_params = {}, plugin_name = "P", plugin_namespace = "",
    plugin_version = "1"} (%x) : (tensor<4xf32>) -> tensor<4xf32>"""
F4 = "%0 = tensorrt.dequantize in(%x : tensor<4xf4E2M1FN>) scale(%s : tensor<f32>) -> tensor<4xf32>"


@pytest.mark.parametrize(
    ("signature", "body", "message"),
    [
        ("%x: tensor<4xf32>", PLUGIN, "opaque_plugin runs on a GPU only"),
        ("%x: tensor<4xf4E2M1FN>, %s: tensor<f32>", F4, "do not hold f4E2M1FN"),
    ],
)
def test_refusals_name_the_op(signature: str, body: str, message: str) -> None:
    """What ONNX Runtime cannot do is one error that names the op."""
    with pytest.raises(EngineBuildError, match=message) as caught:
        engine(signature, body, "%0 : tensor<4xf32>")
    assert "tensorrt." in str(caught.value) and "engine 'main'" in str(caught.value)
