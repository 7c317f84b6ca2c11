"""`mt.run` on functions of a model's ops."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

import mlirtrt_nb as mt
from mlirtrt_nb.errors import InputError, SourceError

RELU = """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def dynamic() -> mt.Program:
    """A model whose input has a dynamic dimension."""
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", sides[:1], sides[1:])
    return mt.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


@pytest.mark.parametrize("given", [[-1, 2, 3, 4], [-1.0, 2, 3, 4], (-1.0, 2.0, 3.0, 4.0)])
def test_a_list_of_numbers_is_made_what_an_engine_takes(given: list[float]) -> None:
    """Python's numbers become an array of the dtype of the argument."""
    result = mt.run(mt.from_mlir(RELU), given)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [0, 2, 3, 4])


def test_inputs_of_an_engine_have_the_names_of_the_text() -> None:
    """A misfit names the argument as its function does."""
    program = mt.from_mlir(RELU)
    with pytest.raises(InputError, match=r"^input 'a' has shape 3, expected 4"):
        mt.run(program, [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"^input 'a' has dtype float64, expected float32"):
        mt.run(program, np.zeros(4))
    with pytest.raises(InputError, match=r"^@main takes 1 input, got 2"):
        mt.run(program, [1.0], [2.0])


def test_a_plan_is_no_program(dynamic: mt.Program) -> None:
    """A Plan is not compiled again, nor is its own program or its text: the hint says what to give instead."""
    plan = mt.compile(dynamic, shapes={"x": (1, 2)})
    with pytest.raises(mt.SourceError, match=r"a Plan is compiled already\n  hint: give the model"):
        mt.compile(plan)
    for given in (plan.program, plan.text()):
        with pytest.raises(mt.SourceError, match=r"that of a Plan: .* already\n  hint: give the model"):
            mt.compile(given)


def test_dynamic_dimensions_are_those_of_the_arrays(dynamic: mt.Program) -> None:
    """One program runs on arrays of any size that its dynamic dimensions allow."""
    for size in (1, 3, 1):
        x = np.arange(-2, 2 * size - 2, dtype=np.float32).reshape(size, 2)
        np.testing.assert_array_equal(mt.run(dynamic, x), np.maximum(x, 0))
    with pytest.raises(mt.ShapeError, match="'x' has rank 1"):
        mt.run(dynamic, np.zeros(2, np.float32))


def test_several_functions_and_no_main():
    """Which of several is meant must be said; one that another calls, or is private, is not meant."""
    text = """func.func @foo(%x: f32) -> f32 { return %x : f32 }
func.func @bar(%x: f32) -> f32 { %y = arith.addf %x, %x : f32 return %y : f32 }"""
    program = mt.from_mlir(text)
    for attempt in (lambda: mt.run(program, np.float32(2)), lambda: mt.jit(program)):
        with pytest.raises(
            SourceError, match="several functions to compile and none is @main: @foo, @bar"
        ) as e:
            attempt()
        assert e.value.hint == "call one @main, or give func="
    assert mt.run(program, np.float32(2), func="bar") == 4
    assert mt.run(mt.from_mlir(text.replace("@foo", "private @foo")), np.float32(2)) == 4
