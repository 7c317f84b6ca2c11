"""`Calibration`: saved as a readable file, read back, refused where it is wrong, and shown."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

import mlirtrt_nb as mt

RANGES = mt.Calibration({"x": 2.5, "conv1": 0.0}, "minmax", "0123456789abcdef", 3, "3 batches of the user's")


def test_round_trip(tmp_path: Path) -> None:
    """What is saved is read back equal, and the file can be read by people: a tensor a line."""
    path = tmp_path / "ranges.json"
    RANGES.save(path)
    loaded = mt.Calibration.load(path)
    assert loaded == RANGES and loaded.path == str(path)
    assert '  "x": 2.5,' in path.read_text(encoding="utf-8").splitlines()
    assert pickle.loads(pickle.dumps(RANGES)) == RANGES
    assert mt.Precision("int8", calibration=str(path)).calibration == RANGES


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "2", None, True, 10**400])
def test_ranges_that_cannot_be(value: object) -> None:
    """A range that is negative or no finite number is refused, with its tensor."""
    with pytest.raises(mt.CalibrationError, match="the range of 'x' is"):
        replace(RANGES, ranges={"x": value})


@pytest.mark.parametrize("name", ["model", "method", "inputs"])
def test_words_that_are_none(name: str) -> None:
    """A model's hash and the like that a file has as something else than text are one short error."""
    with pytest.raises(mt.CalibrationError, match=f"'{name}' of these ranges is None"):
        replace(RANGES, **{name: None})


@pytest.mark.parametrize(("ranges", "kind"), [(None, "None"), ([2.5], "a list"), ("x", "a str")])
def test_ranges_by_no_name(ranges: object, kind: str) -> None:
    """Ranges are found by the tensors' names."""
    with pytest.raises(mt.CalibrationError, match=f"ranges are {kind}"):
        replace(RANGES, ranges=ranges)


@pytest.mark.parametrize("samples", ["many", None, True, 1.5])
def test_samples_that_are_no_number(samples: object) -> None:
    """How many batches were run is a whole number."""
    with pytest.raises(mt.CalibrationError, match="must be a number of batches"):
        replace(RANGES, samples=samples)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "is no saved calibration"),
        ("{}", "is no saved calibration"),
        (json.dumps({"format": 9}), "is of another version"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str, said: str) -> None:
    """Each has one short error."""
    path = tmp_path / "ranges.json"
    path.write_text(text)
    with pytest.raises(mt.CalibrationError, match=said):
        mt.Calibration.load(path)
    with pytest.raises(mt.CalibrationError, match="cannot read"):
        mt.Calibration.load(tmp_path / "missing.json")


def test_it_belongs_to_one_model() -> None:
    """Another content hash is refused."""
    RANGES.check_model("0123456789abcdef")
    with pytest.raises(mt.CalibrationError, match="found on another model"):
        RANGES.check_model("fedcba9876543210")


def test_it_shows_what_is_unusual() -> None:
    """Text and HTML say how the ranges were found, and mark those that are of no use or made up."""
    html, text = RANGES._repr_html_(), mt.Calibration(**{**vars(RANGES), "synthetic": True})
    assert "3 batches of the user" in html and "always 0" in html and "1 range unusual" in html
    assert "made-up inputs" not in html and "made-up inputs" in text._repr_html_()
    assert list(RANGES.df.columns) == ["tensor", "amax", "note"]


def test_it_prints_as_a_card() -> None:
    """`print` gives what a terminal shows, a line per range and few of them; `repr` one short line."""
    many = mt.Calibration({f"node{n}": float(n) for n in range(100)}, "mse", "ab" * 16, 2, "2 batches")
    text = str(many)
    assert text.startswith("Calibration") and "100 ranges by mse" in text and "2 batches" in text
    assert "node0" in text and "always 0" in text and len(text.splitlines()) < 40
    assert repr(many) == "<Calibration: 100 ranges, mse, 2 batches>"
    assert many._repr_html_().count("<tr") < 60


def test_a_pipeline_names_it_in_a_word() -> None:
    """A pipeline's text has the file of the ranges, or what they are; not the card."""
    precision = mt.Precision("int8", calibration=RANGES)
    assert "calibration=<" in str(mt.Pipeline.default("cpu", precision))
    assert "\n" not in str(mt.Pipeline.default("cpu", precision))
