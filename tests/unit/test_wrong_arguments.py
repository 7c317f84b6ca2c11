"""Arguments of another kind than a public function takes: one short error, nothing from inside."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import Cancelled, InputError, MlirTrtError, OptionError, ShapeError, TargetError

RELU = """func.func @main(%x: tensor<?x3xf32> {plan.name = "x"}) -> tensor<?x3xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
"""
SHAPES = {"x": (2, 3)}
X = np.array([[-1, 0, 1], [2, -2, 3]], np.float32)


@pytest.fixture(scope="module")
def program() -> mt.Program:
    return mt.load(RELU)


@pytest.fixture
def session(program: mt.Program) -> Any:
    return mt.compile(program, shapes=SHAPES).session("cpu", threads=1)


def test_a_target_in_capitals(program: mt.Program) -> None:
    """A target is meant in lower case, and the error says which."""
    with pytest.raises(TargetError, match="unknown target 'SM89'") as caught:
        mt.compile(program, "SM89", shapes=SHAPES)
    assert "did you mean 'sm89'?" in str(caught.value)


@pytest.mark.parametrize("target", [None, 5, b"cpu", [None]])
def test_targets(program: mt.Program, target: Any) -> None:
    """What names no target is an unknown target."""
    with pytest.raises(TargetError, match="unknown target"):
        mt.compile(program, target, shapes=SHAPES)


@pytest.mark.parametrize("shapes", ["x=2x3", 5, [5], ["2x3"], b"x"])
def test_shapes_that_are_no_mapping(program: mt.Program, shapes: Any) -> None:
    """The hint shows a mapping."""
    with pytest.raises(ShapeError, match="give a mapping from input to shape"):
        mt.compile(program, shapes=shapes)


@pytest.mark.parametrize("shape", [(2**62, 3), (2**70, 3), f"{10**30}x3", "２x3"])
def test_shapes_that_nothing_can_hold(program: mt.Program, shape: Any) -> None:
    """A dimension beyond any memory is refused before a pass meets it, and so is a digit that is not ASCII."""
    with pytest.raises(ShapeError, match=r"more than any memory holds|not a shape"):
        mt.compile(program, shapes={"x": shape})


@pytest.mark.parametrize("pipeline", [5, [], object()])
def test_pipelines(program: mt.Program, pipeline: Any) -> None:
    """A pipeline is a Pipeline or its text."""
    with pytest.raises(OptionError, match="pipeline= is a"):
        mt.compile(program, shapes=SHAPES, pipeline=pipeline)


def test_progress(program: mt.Program) -> None:
    """Only False cancels: a callback that returns nothing, such as print, does not. Its own errors come out."""
    calls: list[tuple[Any, ...]] = []
    mt.compile(program, ["cpu", "sm89"], shapes=SHAPES, progress=lambda *event: calls.append(event))  # type: ignore[arg-type,func-returns-value]
    assert calls
    with pytest.raises(Cancelled, match="cancelled"):
        mt.compile(program, shapes=SHAPES, progress=lambda *event: False)
    with pytest.raises(ZeroDivisionError):
        mt.compile(program, shapes=SHAPES, progress=lambda *event: bool(1 / 0))
    with pytest.raises(OptionError, match="progress= is an int"):
        mt.compile(program, shapes=SHAPES, progress=5)  # type: ignore[arg-type]


def test_a_pipeline_without_clustering_names_the_op(program: mt.Program) -> None:
    """The message says which op is left over, by its source and not as MLIR writes a location."""
    with pytest.raises(MlirTrtError, match=r"still holds tensorrt.activation\n  in y\n  hint: run plan-cl"):
        mt.compile(program, shapes=SHAPES, pipeline="canonicalize")


@pytest.mark.parametrize("inputs", [None, [X], 5])
def test_inputs_that_are_no_mapping(session: Any, inputs: Any) -> None:
    """`run` takes a mapping."""
    with pytest.raises(InputError, match="inputs are a mapping from name to array"):
        session.run(inputs)


def test_a_name_that_is_no_text(session: Any) -> None:
    """A number as a name is an unknown input."""
    with pytest.raises(InputError, match="there is no input 1"):
        session.run({1: X})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            X.tolist(),
            r"a list that makes an array of float64, expected float32\n  hint: np.asarray\(x, 'float32'\)",
        ),
        (3.0, "a float that makes an array of float64"),
        (None, "is None, expected an array of float32"),
        ({"x": X}, "is a dict, expected an array of float32"),
        ("abc", "is a str, expected an array of float32"),
    ],
)
def test_values_that_are_no_arrays(session: Any, value: Any, message: str) -> None:
    """The message names the value's own type, and the hint is one that works for it."""
    with pytest.raises(InputError, match=message):
        session(value)


@pytest.mark.parametrize("threads", ["a", -1, 10**9, 1.5, None])
def test_threads(program: mt.Program, threads: Any) -> None:
    """A number of threads that no machine starts is refused, not tried."""
    with pytest.raises(OptionError, match="threads must be a number from 0 to"):
        mt.compile(program, shapes=SHAPES).session("cpu", threads=threads)


def test_a_closed_session(session: Any) -> None:
    """It says so, whatever is asked of it."""
    session.close()
    asked = [lambda: session(X), lambda: session.bind(x=X), session.execute, lambda: mt.benchmark(session)]
    for ask in (*asked, lambda: session.profile([X]), lambda: session.timed([X])):
        with pytest.raises(MlirTrtError, match="the session is closed"):
            ask()


def test_a_session_is_of_its_process(session: Any) -> None:
    """Pickling one says what to pickle instead."""
    with pytest.raises(MlirTrtError, match="pickle its plan"):
        pickle.dumps(session)


@pytest.mark.parametrize(
    "option",
    [{"duration_ms": "a"}, {"duration_ms": float("nan")}, {"warmup_ms": float("inf")}, {"iterations": None}],
)
def test_options_of_benchmark(session: Any, option: dict[str, Any]) -> None:
    """What is no finite number is named."""
    with pytest.raises(OptionError, match=f"{next(iter(option))} must be a number"):
        mt.benchmark(session, **option)


def test_what_benchmark_measures(program: mt.Program, session: Any) -> None:
    """A Plan in a Session's place is told how to become one; so are inputs that are none."""
    with pytest.raises(OptionError, match=r"not a Plan\n  hint: mt.benchmark\(plan.session\(\)\)"):
        mt.benchmark(mt.compile(program, shapes=SHAPES))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not an int"):
        mt.benchmark(session, 5)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers(program: mt.Program) -> None:
    """A count or a limit may come out of a table, whose numbers are NumPy's."""
    session = mt.compile(program, shapes=SHAPES).session("cpu", threads=np.int64(1))
    assert len(mt.benchmark(session, [X], np.float32(0), np.int64(0), np.int32(5)).samples["Latency"]) >= 5
    assert session.profile([X], np.int64(2))
    assert program.graph(hops=np.int64(1), limit=np.int32(50)).level == "none"
    assert mt.calibrate(program, [X, X, X], limit=np.int64(2)).samples == 2
    assert mt.sensitivity(program, "fp16", X, target="cpu").keep(np.int64(1)).base == "fp16"
    assert mt.bisect(program, "fp16", "snr_db", np.float32(200), X, target="cpu").base == "fp16"
    assert mt.error_curve(program, "fp16", X, target="cpu", threshold=np.float32(30)).threshold == 30
    assert mt.compare(program, ("fp32",), X, target="cpu", duration_ms=np.int64(5)).variants == ("fp32",)
