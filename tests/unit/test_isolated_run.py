"""Functions of cells run in the worker."""

from __future__ import annotations

import os

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import InputError
from mlirtrt_nb.isolated_run import run_isolated

ADD = """
func.func @main(%x: tensor<?xf32>, %n: f32) -> (tensor<?xf32>, f32) {
  %m = arith.addf %n, %n : f32
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y, %m : tensor<?xf32>, f32
}
func.func @set(%m: memref<4xf32>, %i: index) {
  %c = arith.constant 7.0 : f32
  memref.store %c, %m[%i] : memref<4xf32>
  return
}
"""


@pytest.fixture
def program() -> mt.Program:
    """Two functions: one of tensors and numbers, one that changes its argument."""
    return mt.from_mlir(ADD)


@pytest.mark.parametrize(
    ("x", "n"),
    [
        (np.ma.masked_array(np.ones(3, np.float32), [False, True, False]), 2.5),
        ([1.0, np.ma.masked, 2.0], 2.5),
        (np.ones(3, np.float32), np.ma.masked),
    ],
)
def test_masks_are_not_lost(program: mt.Program, x: object, n: object) -> None:
    """A masked array, list or number is refused before anything runs."""
    for isolate in (True, False):
        with pytest.raises(InputError, match="is a masked array, whose mask would be lost"):
            mt.run(program, x, n, isolate=isolate)


def test_results_are_those_of_this_process(program: mt.Program) -> None:
    """Arrays and numbers come back, and can be written to."""
    x = np.arange(3000, dtype=np.float32)
    there, here = (mt.run(program, x, 2.5, isolate=isolate) for isolate in (True, False))
    np.testing.assert_array_equal(there[0], here[0])
    assert there[1] == here[1] == 5 and type(there[1]) is type(here[1])
    there[0][0] = 1


def test_arguments_are_changed_here(program: mt.Program) -> None:
    """A memref is changed in place, although its function ran elsewhere."""
    values = np.zeros(4, np.float32)
    assert mt.run(program, values, 2, func="set") is None
    np.testing.assert_array_equal(values, [0, 0, 7, 0])


def test_errors_of_the_call(program: mt.Program) -> None:
    """What does not fit, or a check that fails, is the same error as here."""
    with pytest.raises(mt.InputError, match="takes 2 inputs, got 1"):
        mt.run(program, np.zeros(2, np.float32))
    with pytest.raises(mt.InputError):
        mt.run(program, np.zeros(4, np.float32), 9, func="set")
    with pytest.raises(mt.OptionError, match="has no function 'sett'"):
        mt.run(program, func="sett")
    with pytest.raises(mt.InputError):
        mt.run(program, open, 1)


def test_it_is_compiled_once(program: mt.Program) -> None:
    """The worker keeps what it compiled for the same IR."""
    from mlirtrt_nb.native import _run_here

    def seen(given: mt.Program, *inputs: object, func: str | None) -> tuple[int, object]:
        return id(given), _run_here(given, *inputs, func=func)

    x = np.ones(2, np.float32)
    first, second = (run_isolated(seen, program, [x, 1.0], None, [], mt.Isolation())[0] for _ in range(2))
    assert first == second


def test_a_crash_is_an_error(program: mt.Program) -> None:
    """It names the function; the next run works."""

    def crash(*_: object, func: str | None) -> None:
        os.abort()

    with pytest.raises(mt.WorkerCrashed, match="function @set crashed: abort"):
        run_isolated(crash, program, [], "set", [], mt.Isolation())
    assert mt.run(program, np.ones(2, np.float32), 1.0)[1] == 2


COPY = """
func.func @main(%to: memref<?xf32>, %from: memref<?xf32>) {
  %c = arith.constant 0 : index
  %v = memref.load %from[%c] : memref<?xf32>
  memref.store %v, %to[%c] : memref<?xf32>
  return
}
"""


def test_arguments_that_share_memory() -> None:
    """What is written through one is there in the other, as without a worker."""
    values = np.array([1, 0, 0, 0], np.float32)
    mt.run(mt.from_mlir(COPY), values[1:], values[:-1])
    np.testing.assert_array_equal(values, [1, 1, 0, 0])


def test_an_argument_that_cannot_be_changed() -> None:
    """A read-only array is refused by its name, and stays as it is."""
    values = np.zeros(4, np.float32)
    values.flags.writeable = False
    with pytest.raises(InputError, match="'to' cannot be written"):
        mt.run(mt.from_mlir(COPY), values, np.ones(4, np.float32))
