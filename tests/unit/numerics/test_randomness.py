"""Programs that draw random numbers: what cannot be told is not told, and searches refuse them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import PrecisionError
from mlirtrt_nb.numerics.conversion import converted
from mlirtrt_nb.numerics.interpreter import Interpreter
from mlirtrt_nb.numerics.randomness import depends_on_random

from .programs import exponential, noisy

X = {"x": np.random.default_rng(6).standard_normal((2, 8)).astype(np.float32)}


def test_the_curve_leaves_out_what_depends_on_random_numbers() -> None:
    """The product has its error; the op that draws, the sum and the exponential have none, and none is bad."""
    curve = mt.error_curve(noisy(), "fp16", X, target="cpu")
    rows = curve.df.set_index("source")
    assert rows.loc["mm", "snr_db"] > 50
    assert rows.loc[["noise", "sum", "exp"], "snr_db"].isna().all()
    assert rows.loc[["noise", "sum", "exp"], "max_abs_error"].isna().all()
    assert np.isnan(rows.loc["noise", "own_snr_db"])
    assert rows.loc["sum", "own_snr_db"] > 50  # on the same numbers
    assert curve.first_bad is None and curve.outputs is None
    assert curve.random == "tensorrt.random_uniform 'noise'"


def test_the_curve_says_so() -> None:
    """Text and HTML have a note, and a word on each of these ops."""
    curve = mt.error_curve(noisy(), "fp16", X, target="cpu")
    for shown in (str(curve), curve._repr_html_()):
        assert "it draws random numbers" in shown
        assert "⚠ draws random numbers" in shown and "⚠ depends on random numbers" in shown
    assert str(curve.ops[1]) == "tensorrt.random_uniform 'noise': draws random numbers"
    assert str(curve.ops[2]) == "tensorrt.element_wise 'sum': depends on random numbers"


@pytest.mark.parametrize("search", [mt.sensitivity, mt.bisect])
def test_searches_refuse(search: Callable[..., Any]) -> None:
    """No two runs agree, so that what one op costs cannot be told."""
    with pytest.raises(PrecisionError, match="draws random numbers") as caught:
        search(noisy(), "fp16", inputs=X, target="cpu")
    assert caught.value.where == "tensorrt.random_uniform 'noise'"
    assert "deterministic" in str(caught.value.hint)


def test_random_numbers_within_a_branch() -> None:
    """An op that draws in a region makes the op around it one that does."""
    program = mt.from_mlir("""
func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.if (%c : tensor<i1>) -> tensor<4xf32> {
    %1 = tensorrt.random_uniform {static_low = 0.0 : f64, static_high = 1.0 : f64} -> tensor<4xf32>
    tensorrt.yield %1 : tensor<4xf32>
  } else {
    tensorrt.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}""")
    interpreter = Interpreter(program)
    assert [step.op for step in interpreter.random_ops] == ["tensorrt.if"]
    assert depends_on_random(interpreter) == {interpreter.random_ops[0].index}


def test_nothing_depends_where_nothing_is_drawn() -> None:
    """A deterministic program has no such ops, and its curve no note."""
    assert depends_on_random(Interpreter(converted(exponential()))) == set()
    curve = mt.error_curve(exponential(), "fp16", X, target="cpu")
    assert curve.random == "" and "random" not in str(curve)
