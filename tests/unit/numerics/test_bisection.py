"""Bisection keeps exactly what has to be kept, and goes on where it was stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import Cancelled, OptionError, PrecisionError

from .models import classifier, inputs, overflowing

SAMPLES = inputs((4, 8))


def kept(precision: mt.Precision) -> set[Any]:
    """The patterns that a precision keeps."""
    return {entry.pattern for entry in precision.keep}


def test_the_two_ops_that_overflow_are_kept() -> None:
    """blow gives what f16 does not hold, and shrink reads it; the products may be f16."""
    found = mt.bisect(overflowing(), "fp16", "snr_db", 40, SAMPLES)
    assert kept(found) == {"blow", "shrink"}
    assert str(found).startswith("fp16, 2 kept: ") and "blow" in str(found) and "shrink" in str(found)
    reached = float(str(found).split("; reaches ")[1].split(",")[0])
    assert reached >= 40 and str(found).endswith("wanted snr_db at least 40, on 3 given samples")
    assert str(found.with_keep("dense1")) == "fp16, 3 kept"
    curve = mt.error_curve(overflowing(), found, SAMPLES, threshold=40)
    assert curve.precision == "fp16, 2 kept"
    assert curve.first_bad is None


def test_a_precision_that_is_good_is_returned_as_it_is() -> None:
    """Nothing is kept where nothing has to be."""
    given = mt.Precision("fp16", keep=["blow", "shrink"])
    assert mt.bisect(overflowing(), given, "max_abs_error", 0.1, SAMPLES) == given


def test_keeping_every_op_leaves_no_error_of_int8() -> None:
    """With all ops kept in fp32, the weights of the first and last layer among them, nothing is rounded."""
    given = mt.Precision("int8", rest="fp16", keep=".*")
    table = mt.compare(classifier(), ("fp32", given), inputs((1, 3, 12, 12)), target="cpu", duration_ms=1)
    assert table.df["max_abs_error"].tolist() == [0.0, 0.0]
    found = mt.bisect(classifier(), "int8", "snr_db", 55, inputs((1, 3, 12, 12)), target=("cpu", "sm89"))
    assert "dense" in kept(found)


def test_what_is_found_for_one_target_holds_for_another() -> None:
    """The result says what is not quantized, and reaches the threshold when it is compiled for sm89."""
    samples = inputs((1, 3, 12, 12))
    found = mt.bisect(classifier(), "int8", "snr_db", 45, samples, target="cpu")
    assert found.rest == "fp32"
    table = mt.compare(classifier(), {"fp32": "fp32", "best": found}, samples, target="sm89", duration_ms=1)
    assert table.df["snr_db"][1] >= 45
    assert mt.bisect(classifier(), "int8", "snr_db", 20, samples).rest == "fp16"


def test_out_of_reach() -> None:
    """A threshold above what fp16 inputs of the kept ops allow is an error that says how far it goes."""
    with pytest.raises(PrecisionError, match="cosine at least 2 is out of reach"):
        mt.bisect(overflowing(), "fp16", "cosine", 2.0, SAMPLES)


def test_a_stopped_search_goes_on(tmp_path: Path) -> None:
    """The trials of the first attempt are not made again, and the result is the same."""
    path = tmp_path / "search.json"
    calls: list[str] = []

    def stop_late(phase: str, done: int, total: int) -> bool:
        calls.append(phase)
        return calls.count("bisection") < 3

    with pytest.raises(Cancelled):
        mt.bisect(overflowing(), "fp16", "snr_db", 40, SAMPLES, state=path, progress=stop_late)
    before = json.loads(path.read_text(encoding="utf-8"))["trials"]
    assert len(before) == 2
    found = mt.bisect(overflowing(), "fp16", "snr_db", 40, SAMPLES, state=path)
    assert kept(found) == {"blow", "shrink"}
    assert json.loads(path.read_text(encoding="utf-8"))["trials"][:2] == before
    trials: list[str] = []
    again = mt.bisect(
        overflowing(),
        "fp16",
        "snr_db",
        40,
        SAMPLES,
        state=path,
        progress=lambda *a: trials.append(a[0]) or True,
    )
    assert again == found
    assert trials == []


def test_a_state_of_another_search_is_refused(tmp_path: Path) -> None:
    """Another threshold, another program, or a file that is no state: one short error."""
    path = tmp_path / "search.json"
    mt.bisect(overflowing(), "fp16", "snr_db", 40, SAMPLES, state=path)
    with pytest.raises(PrecisionError, match="another goal"):
        mt.bisect(overflowing(), "fp16", "snr_db", 41, SAMPLES, state=path)
    with pytest.raises(PrecisionError, match="another inputs"):
        mt.bisect(overflowing(), "fp16", "snr_db", 40, inputs((4, 8), 1), state=path)
    for text in ("{}", '{"format": 1, "search": [], "order": null, "trials": []}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(PrecisionError, match="not the state of a bisection"):
            mt.bisect(overflowing(), "fp16", "snr_db", 40, SAMPLES, state=path)


def test_a_state_in_no_folder(tmp_path: Path) -> None:
    """A state that cannot be written is refused before the search."""
    with pytest.raises(PrecisionError, match=r"there is no folder .*nope"):
        mt.bisect(overflowing(), "fp16", "snr_db", 40, SAMPLES, state=tmp_path / "nope" / "s.json")


def test_a_state_is_of_its_targets_and_ranges(tmp_path: Path) -> None:
    """Trials in fp32 for the CPU say nothing of fp16 around int8 for an engine, nor of other ranges."""
    path, samples = tmp_path / "search.json", inputs((1, 3, 12, 12))
    narrow, wide = (mt.calibrate(mt.load(classifier()), samples * factor, "minmax") for factor in (1, 40))
    precision = mt.Precision("int8", calibration=narrow)
    mt.bisect(classifier(), precision, "cosine", 0.5, samples, state=path)
    with pytest.raises(PrecisionError, match="another targets"):
        mt.bisect(classifier(), precision, "cosine", 0.5, samples, state=path, target="sm89")
    with pytest.raises(PrecisionError, match="another precision"):
        mt.bisect(classifier(), mt.Precision("int8", calibration=wide), "cosine", 0.5, samples, state=path)


def test_bad_arguments() -> None:
    """An unknown metric, a threshold that is no number, a program that draws random numbers."""
    with pytest.raises(OptionError, match="no metric 'psnr'"):
        mt.bisect(overflowing(), metric="psnr")
    with pytest.raises(OptionError, match="threshold must be a number"):
        mt.bisect(overflowing(), threshold="high")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="threshold must be a number"):
        mt.bisect(overflowing(), threshold=float("nan"))
    random = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.random_uniform {static_low = 0.0 : f64, static_high = 1.0 : f64} -> tensor<4xf32> loc("noise")
  %1 = tensorrt.element_wise <kSUM>(%x, %0 : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
    with pytest.raises(PrecisionError, match="draws random numbers"):
        mt.bisect(random)


def test_int8_brings_its_ranges() -> None:
    """Ranges are found once, on the samples; the result carries them, so that compiling needs no more."""
    samples = inputs((1, 3, 12, 12))
    found = mt.bisect(classifier(), "int8", "cosine", 0.9, samples)
    assert not found.calibration.synthetic
    plan = mt.compile(classifier(), precision=found)
    assert "samples" in plan.metadata["calibration"] or "batches" in plan.metadata["calibration"]


def test_a_function_is_known_by_what_it_takes(tmp_path: Path) -> None:
    """A state goes on with a function that takes the same ops, whatever it is called, and with no other."""
    path = tmp_path / "state.json"

    def search(keep: Any, trials: list[Any]) -> None:
        mt.bisect(
            overflowing(),
            mt.Precision("fp16", keep=keep),
            "snr_db",
            40,
            SAMPLES,
            state=path,
            progress=lambda *a: trials.append(a[0]) or True,
        )

    search(lambda op: op.name == "tensorrt.activation", first := [])
    search(lambda op: op.name.endswith("activation"), second := [])
    assert first and "bisection" not in second
    with pytest.raises(PrecisionError, match="another bisection: another precision"):
        search(lambda op: op.name == "tensorrt.matrix_multiply", [])
