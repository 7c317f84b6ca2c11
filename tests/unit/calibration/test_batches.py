"""Calibration inputs in every form, and what is wrong with them in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.calibration.batches import batches, synthetic_batches
from mlirtrt_nb.program import TensorSpec

ONE = [TensorSpec("x", ("n", 4), "f32")]
TWO = [TensorSpec("a", (2,), "f32"), TensorSpec("b", (3,), "i64")]
X = np.ones((2, 4), np.float32)
PAIR = (np.ones(2, np.float32), np.arange(3))


class Tensor:
    """What a torch tensor looks like from here."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.array

    def __dlpack__(self) -> object:
        raise TypeError("this stands for a tensor that needs its gradient")


class Loader:
    """What a torch DataLoader looks like from here: batches of inputs and labels."""

    dataset = ()
    batch_size = 2

    def __iter__(self) -> Iterator[Any]:
        return iter([[Tensor(X), Tensor(np.zeros(2))]] * 3)


class NamedLoader(Loader):
    """One whose batches are by name, as data sets for transformers give them."""

    def __iter__(self) -> Iterator[Any]:
        return iter([{"labels": Tensor(np.zeros(2)), "x": Tensor(X)}] * 3)


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (X, 1),
        ({"x": X}, 1),
        ([X, X], 2),
        (({"x": X} for _ in range(3)), 3),
        ([(X,), [X]], 2),
        (Tensor(X), 1),
        (Loader(), 3),
        (NamedLoader(), 3),
    ],
    ids=["array", "mapping", "list", "generator", "tuples", "tensor", "loader", "loader by name"],
)
def test_forms(data: object, count: int) -> None:
    """Each form gives dictionaries of arrays."""
    found = list(batches(ONE, data))
    assert len(found) == count
    for batch in found:
        assert list(batch) == ["x"]
        np.testing.assert_array_equal(batch["x"], X)


def test_several_inputs() -> None:
    """By position in a tuple, or by name in any order."""
    for data in ([PAIR], {"b": PAIR[1], "a": PAIR[0]}):
        (batch,) = batches(TWO, data)
        assert list(batch) == ["a", "b"] and batch["b"].dtype == np.int64


def test_batches_are_taken_one_at_a_time() -> None:
    """A stream is read no further than it is used, nor beyond the limit."""
    read: list[int] = []

    def stream() -> Iterator[np.ndarray]:
        for n in range(100):
            read.append(n)
            yield X

    taken = batches(ONE, stream(), limit=5)
    next(taken)
    assert read == [0]
    assert len(list(taken)) == 4 and len(read) == 5


BAD = {
    "name": ({"y": X}, "batch 1 has no input 'x'"),
    "extra name": ({"x": X, "y": X}, "batch 1 has 'y'"),
    "dtype": (X.astype(np.float64), "the array is float64; the input is float32"),
    "shape": ([X, np.ones((2, 5), np.float32)], "the array is 2x5; the input is x: nx4xf32"),
    "rank": (np.ones(4, np.float32), "the array is 4; the input is x: nx4xf32"),
    "nan": (np.full((2, 4), np.nan, np.float32), "the array holds NaN"),
    "infinity": (np.full((2, 4), -np.inf, np.float32), "the array holds infinity"),
    "none": ([], "there are no calibration inputs"),
    "empty": (np.ones((0, 4), np.float32), "the array is empty"),
    "count": ([(X, X)], "batch 1 has 2 arrays for 1 inputs"),
    "text": ("inputs.npz", "calibration inputs are a str"),
    "number": (3, "calibration inputs are an int"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong(case: str) -> None:
    """One short error that names the batch and the input."""
    data, said = BAD[case]
    with pytest.raises(mt.CalibrationError) as caught:
        list(batches(ONE, data))
    assert caught.value.what == said


def test_an_iterator_gives_its_batches_once() -> None:
    """One that was read before is said to be that, not to be empty."""
    used = iter([X])
    assert len(list(batches(ONE, used))) == 1
    with pytest.raises(mt.CalibrationError, match="an iterator gives what it has once") as caught:
        list(batches(ONE, used))
    assert "mt.calibrate" in str(caught.value.hint)


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "2"])
def test_limits_that_are_none(limit: object) -> None:
    """A number of batches is a whole number from 1 on."""
    with pytest.raises(mt.CalibrationError, match="is no number of batches"):
        list(batches(ONE, [X], limit))  # type: ignore[arg-type]


def test_the_second_batch_is_named() -> None:
    """The place is in the error."""
    with pytest.raises(mt.CalibrationError) as caught:
        list(batches(ONE, [X, X * np.float32(np.nan)]))
    assert caught.value.where == "batch 2, input 'x'"


def test_made_up_inputs() -> None:
    """The same each time, of the given shapes, or of small ones."""
    specs = [*ONE, *TWO, TensorSpec("c", (), "i1")]
    first, second = (list(synthetic_batches(specs, {"x": (5, 4)})) for _ in range(2))
    assert len(first) == 2 and first[0]["x"].shape == (5, 4) and first[0]["c"].dtype == np.bool_
    np.testing.assert_array_equal(first[1]["x"], second[1]["x"])
    assert set(np.unique(first[0]["b"])) <= {0, 1}
    assert next(synthetic_batches(ONE, {}))["x"].shape == (1, 4)
    assert set(np.unique(next(synthetic_batches(specs, {}, {"b": 16000}))["b"])) == {16000}


@pytest.mark.parametrize("limit", [0, -1, 1.5, "2"])
def test_a_limit_that_is_no_number_of_batches(limit: object) -> None:
    """None, a negative, a broken or a spelled number of batches cannot be taken."""
    with pytest.raises(mt.CalibrationError, match="is no number of batches"):
        next(batches(ONE, [X], limit))  # type: ignore[arg-type]
