"""What users give as inputs becomes samples by name, or one short error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import InputError
from mlirtrt_nb.numerics.samples import SYNTHETIC, samples_of

from .programs import exponential

X = np.ones((2, 8), np.float32)

TWO = """
func.func @main(%a: tensor<2xf32> {plan.name = "a"}, %b: tensor<?xf32> {plan.name = "b"}) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}"""

SEQUENCE = """
func.func @main(%x: tensor<?xf32> {plan.name = "x"}) -> tensor<?xf32> {
  %y = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kEXP>} %x : tensor<?xf32>
  return %y : tensor<?xf32>
}"""


def test_none_makes_seeded_samples() -> None:
    """The same each time, different from each other, and called synthetic."""
    one, two = samples_of(exponential()), samples_of(exponential())
    assert len(one.values) == SYNTHETIC
    assert one.synthetic
    assert one.fingerprint == two.fingerprint
    assert not np.array_equal(one.values[0]["x"], one.values[1]["x"])


@pytest.mark.parametrize(
    ("given", "count"),
    [(X, 1), ({"x": X}, 1), ([X, X], 2), ([{"x": X}], 1), (({"x": X} for _ in range(3)), 3), ([[X]], 1)],
)
def test_forms_of_one_input(given: Any, count: int) -> None:
    """An array, a mapping, a list of either, a generator."""
    found = samples_of(exponential(), given)
    assert len(found.values) == count
    assert all(list(sample) == ["x"] for sample in found.values)
    assert not found.synthetic


def test_two_inputs_and_a_dynamic_one() -> None:
    """Arrays by position are one sample; shapes of dynamic inputs are those of the arrays."""
    program = mt.from_mlir(TWO)
    a, b = np.zeros(2, np.float32), np.zeros(5, np.float32)
    assert list(samples_of(program, [a, b]).values[0]) == ["a", "b"]
    assert samples_of(program, [{"a": a, "b": b}, {"a": a, "b": b[:3]}]).values[1]["b"].shape == (3,)


def test_an_input_of_unknown_rank() -> None:
    """It takes samples of any rank, but all of the same."""
    program = mt.from_mlir(
        'func.func @main(%x: tensor<*xf32> {plan.name = "x"}) -> tensor<*xf32> {return %x : tensor<*xf32>}'
    )
    assert samples_of(program, [X, X[:1]]).values[1]["x"].shape == (1, 8)
    with pytest.raises(InputError, match="input 'x' has shape 2x8x1"):
        samples_of(program, [X, X[..., None]])


def test_a_wrong_name_beside_a_dynamic_input() -> None:
    """The error names the inputs there are; it does not ask for the shapes of an input that was not given."""
    program = mt.from_mlir(TWO)
    given = {"a": np.zeros(2, np.float32), "bb": np.zeros(5, np.float32)}
    for measure in (mt.ranges, lambda p, i: mt.compare(p, ("fp32",), i, target="cpu")):
        for inputs in (given, [given]):
            with pytest.raises(InputError, match="there is no input 'bb'") as raised:
                measure(program, inputs)
            assert raised.value.hint is not None and raised.value.hint.startswith("did you mean 'b'? inputs: a")


def test_a_generator_for_a_dynamic_input() -> None:
    """Its samples are taken once, and say the shapes as those of a list do."""
    program = mt.from_mlir(SEQUENCE)
    found = mt.ranges(program, (np.ones(size, np.float32) for size in (5, 2, 7)))
    assert found.inputs == "3 given samples"
    table = mt.compare(program, ("fp32",), (np.ones(size, np.float32) for size in (5, 2)), target="cpu")
    plan = table.plans["fp32"]
    assert plan.session("cpu")(np.ones(2, np.float32)).shape == (2,)
    with pytest.raises(InputError, match="compiled for 2 to 5"):
        plan.session("cpu")(np.ones(6, np.float32))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "inputs= holds no samples"),
        ([None], "a sample is None"),
        ([np.ones(3, np.float32), 5], "a sample is an int\n  in sample 1"),
        ([np.ones(3, np.float32), np.ones((3, 1), np.float32)], "has shape 3x1, expected ?\n  in sample 1"),
        ([np.ones(3, np.float32), np.ones(3)], "has dtype float64, expected float32\n  in sample 1"),
        ({"x": 3}, "'x' is an int that makes an array of int64"),
    ],
)
def test_bad_samples_of_a_dynamic_input(given: Any, words: str) -> None:
    """The error speaks of the sample that is wrong, and asks for no shapes, which the arrays are to give."""
    with pytest.raises(InputError) as raised:
        samples_of(mt.from_mlir(SEQUENCE), given)
    assert words in str(raised.value)


def test_samples_without_a_number() -> None:
    """One input may be empty; where all are, nothing can be said, least of all that results are exact."""
    program = mt.from_mlir(TWO)
    a, b = np.zeros(2, np.float32), np.zeros(0, np.float32)
    assert samples_of(program, [a, b], {"b": "0"}).values[0]["b"].shape == (0,)
    alone = mt.from_mlir(
        'func.func @main(%b: tensor<?xf32> {plan.name = "b"}) -> tensor<?xf32> { return %b : tensor<?xf32> }'
    )
    for given in (b, None):
        with pytest.raises(InputError, match="holds no numbers"):
            samples_of(alone, given, {"b": "0"})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"z": X}, "no input 'z'"),
        (X[:1], "shape 1x8"),
        (X.astype(np.float64), "dtype float64"),
        (np.full_like(X, np.nan), "holds NaN"),
        ([X, np.full_like(X, np.inf)], "holds infinity"),
        ([], "no samples"),
        (3, "is an int"),
        ("x.npy", "is a str"),
        ([3], "a sample is an int"),
    ],
)
def test_bad_inputs_are_one_short_error(given: Any, words: str) -> None:
    """A wrong name, shape or dtype, NaN, infinity, nothing at all."""
    with pytest.raises(InputError, match=words) as caught:
        samples_of(exponential(), given)
    assert len(str(caught.value).splitlines()) <= 3
