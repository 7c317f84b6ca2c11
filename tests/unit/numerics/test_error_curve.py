"""The curve finds where the error comes from, without changing what is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import Cancelled, OptionError, PrecisionError
from mlirtrt_nb.numerics.error_curve import curve_of
from mlirtrt_nb.numerics.interpreter import Interpreter
from mlirtrt_nb.numerics.samples import samples_of

from .models import classifier, inputs, overflowing
from .programs import exponential, half_exponential


def test_first_bad_op_is_where_the_overflow_is() -> None:
    """dense1 and act are good in fp16, blow is infinite, and so is all after it."""
    curve = mt.error_curve(overflowing(), "fp16", inputs((4, 8)))
    assert [entry.source for entry in curve.ops] == ["dense1", "act", "blow", "shrink", "dense2"]
    assert curve.first_bad is not None and curve.first_bad.source == "blow"
    assert curve.overflow is curve.first_bad
    assert curve.df.loc[0, "snr_db"] > 60
    assert curve.df.loc[2, "not_finite"] > 0
    assert curve.df.loc[2, "largest"] > 65504


def test_own_error_is_on_exact_inputs() -> None:
    """dense2 reads garbage in the run, and makes hardly an error itself."""
    curve = mt.error_curve(overflowing(), "fp16", inputs((4, 8)))
    last = curve.df.iloc[-1]
    assert last["snr_db"] == -np.inf
    assert last["own_snr_db"] > 50


def test_errors_are_those_of_the_rounded_values() -> None:
    """For a program written by hand: the error of the product is what NumPy computes."""
    exact, half = exponential(), half_exponential()
    x = np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)
    curve = curve_of(Interpreter(exact), Interpreter(half), samples_of(exact, x), precision="fp16")
    product = x @ np.full((8, 4), 0.3, np.float32)
    w = np.full((8, 4), 0.3, np.float16).astype(np.float32)
    rounded = (x.astype(np.float16).astype(np.float32) @ w).astype(np.float16).astype(np.float32)
    assert curve.df.loc[0, "max_abs_error"] == pytest.approx(np.abs(product - rounded).max(), rel=1e-3)
    assert [entry.source for entry in curve.ops] == ["mm", "exp"]


def test_fp32_has_no_error() -> None:
    """Nothing is bad, and no op is the worst."""
    curve = mt.error_curve(overflowing(), "fp32", inputs((4, 8), 1))
    assert curve.first_bad is None
    assert curve.worst is None
    assert "no op's result is bad" in str(curve)


def test_the_card_names_the_op() -> None:
    """Text and HTML say which op is the first bad one; every number has its source."""
    curve = mt.error_curve(overflowing(), "fp16", inputs((4, 8), 1))
    for shown in (str(curve), curve._repr_html_()):
        assert "blow" in shown
        assert "not finite" in shown
    assert set(curve.df.attrs["sources"]) == set(curve.df.columns) - {"op", "source", "type"}
    assert curve.plot().axes


def test_bad_arguments() -> None:
    """A threshold that is no number, a precision that does not exist, a stop."""
    with pytest.raises(OptionError, match="threshold"):
        mt.error_curve(overflowing(), "fp16", threshold="20")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="threshold"):
        mt.error_curve(overflowing(), "fp16", threshold=float("nan"))
    with pytest.raises(PrecisionError, match="fp17"):
        mt.error_curve(overflowing(), "fp17")
    with pytest.raises(Cancelled):
        mt.error_curve(overflowing(), "fp16", inputs((4, 8)), progress=lambda *_: False)


@pytest.mark.parametrize("target", [None, "cpu", ("cpu", "sm89")])
def test_all_that_measure_agree_on_the_targets(target: Any) -> None:
    """For the same arguments the curve ends where `compare` says, the default among them; the card names it."""
    samples = inputs((1, 3, 12, 12))
    table = mt.compare(classifier(), ("fp32", "int8"), samples, target=target, duration_ms=1)
    curve = mt.error_curve(classifier(), "int8", samples, target=target)
    assert curve.outputs is not None
    assert curve.outputs.snr_db == table.df["snr_db"][1]
    assert curve.place == ("cpu, the rest in fp32" if target == "cpu" else "cpu, sm89, the rest in fp16")
    assert curve.place in str(curve) and curve.place in str(table.curve("int8"))
    costs = mt.sensitivity(classifier(), "int8", samples[:1], target=target)
    assert costs.place == curve.place and costs.place in str(costs)


def test_the_type_is_what_an_op_computes_in() -> None:
    """A convolution whose operands are dequantized computes in i8, though it gives f32; the first stays."""
    samples = inputs((1, 3, 12, 12))
    types = mt.error_curve(classifier(), "int8", samples, target="cpu").df.set_index("source")["type"]
    assert (types["conv1"], types["conv2"]) == ("f32", "i8")
    costs = mt.sensitivity(classifier(), "int8", samples, target="cpu").df.set_index("source")["type"]
    assert costs["conv2"] == "i8"
