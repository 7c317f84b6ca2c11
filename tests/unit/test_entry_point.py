"""Which function of a program is compiled."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import SourceError

X = np.array([1.0, -2.0, 3.0, 0.5], np.float32)


def _negate(name: str, *, private: bool = False) -> str:
    return f"""func.func {"private " if private else ""}@{name}(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %y = tensorrt.unary {{unaryOperation = #tensorrt.unary_operation<kNEG>}} %x : tensor<4xf32>
  return %y : tensor<4xf32>
}}
"""


def _calling(name: str, callee: str) -> str:
    return f"""func.func @{name}(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %y = call @{callee}(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}}
"""


@pytest.mark.parametrize("isolate", [False, True])
def test_a_function_of_another_name(isolate: bool) -> None:
    """The only function is compiled whatever it is called, and the program keeps its name."""
    program = mt.from_mlir(_negate("trt_unary"))
    np.testing.assert_array_equal(mt.compile(program, isolate=isolate).session("cpu")(X), -X)
    assert "@trt_unary" in program.text() and "@main" not in program.text()


def test_private_functions_and_called_ones_are_no_entries() -> None:
    """The entry is what nothing calls; `@main` is it whatever else there is."""
    for text in (
        _negate("helper", private=True) + _calling("f", "helper"),
        _negate("helper") + _calling("f", "helper"),
        _calling("other", "helper") + _negate("helper") + _calling("main", "helper"),
    ):
        np.testing.assert_array_equal(mt.compile(mt.from_mlir(text), isolate=False).session("cpu")(X), -X)


def test_functions_that_call_functions() -> None:
    """Calls are inlined through several functions, and twice where one is called twice."""
    text = f"""{_negate("negate")}
func.func private @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
  %0 = call @negate(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @negate(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
  %0:2 = call @twice(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}}"""
    program = mt.from_mlir(text)
    plan = mt.compile(program, isolate=False)
    outputs = plan.session("cpu")(X)
    np.testing.assert_array_equal(outputs[0], X)
    np.testing.assert_array_equal(outputs[1], -X)
    assert "@twice" in program.text() and "@twice" not in plan.text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no function to compile"),
        ("func.func private @f()", "no function to compile"),
        (f"module @a {{ {_negate('main')} }}\nmodule @b {{ {_negate('main')} }}", "no function to compile"),
        (_negate("a") + _negate("b"), "several functions to compile and none is @main: @a, @b"),
    ],
)
def test_no_entry(text: str, message: str) -> None:
    """A program without one entry says what it has, and what to do."""
    with pytest.raises(SourceError, match=message) as caught:
        mt.compile(mt.from_mlir(text))
    assert caught.value.hint
