"""A Comparison and what the rounding reference finds, as they are shown: the same words in text and HTML."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.comparison.comparison import Comparison
from mlirtrt_nb.comparison.engines import EngineNumbers
from mlirtrt_nb.comparison.notes import Facts
from mlirtrt_nb.comparison.variant import OpTypes, Variant
from mlirtrt_nb.numerics.error_curve import ErrorCurve, OpErrors
from mlirtrt_nb.numerics.metrics import Errors
from mlirtrt_nb.numerics.output_errors import OutputErrors
from mlirtrt_nb.numerics.ranges import OpRange, Ranges
from mlirtrt_nb.numerics.samples import Samples
from mlirtrt_nb.numerics.sensitivity import OpSensitivity, Sensitivity
from mlirtrt_nb.reports.latency import LatencyReport

EXACT = np.linspace(-1, 1, 16).reshape(2, 8)


def errors(noise: float) -> Errors:
    """The errors of a result that is off by `noise` everywhere, with alternating sign."""
    made = Errors()
    made.add(EXACT, EXACT + noise * np.resize([1, -1], EXACT.shape))
    return made


def at_output(noise: float) -> OutputErrors:
    """The errors of one output `y` that is off by `noise`."""
    return OutputErrors({"y": errors(noise)})


def facts(name: str, noise: float, milliseconds: float, weights: int, *, failed: str = "") -> Facts:
    """A row with made-up but plausible numbers."""
    precision = mt.Precision(name)
    if failed:
        return Facts(Variant(name, precision, error=failed))
    types = OpTypes(
        {"f32": 10} if name == "fp32" else {"f16": 8, "f32": 2}, {} if name == "fp32" else {"softmax": 2}
    )
    variant = Variant(name, precision, None, None, types, errors=at_output(noise))
    numbers = EngineNumbers("sm89", "TensorRT-RTX 1.7", 12, weights, 4096, weights + 8192, 1, 0, 0.5)
    report = LatencyReport(
        {"Latency": np.full(20, milliseconds)},
        20 * milliseconds / 1e3,
        {"session": "net", "device": "cpu", "processor": "one", "turns": 3},
    )
    return Facts(variant, numbers, numbers, report)


@pytest.fixture
def comparison() -> Comparison:
    """Three rows: exact, good, and one that failed."""
    program = mt.from_mlir(
        "func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {\n  return %x : tensor<2x8xf32>\n}"
    )
    program.name = "net"
    rows = [
        facts("fp32", 0.0, 4.0, 1 << 20),
        facts("fp16", 0.001, 5.0, 1 << 19),
        facts("int8", 0, 0, 0, failed="sm75 has no int8 (it has fp32)"),
    ]
    samples = Samples(({},), "synthetic inputs, seeds 0 to 3")
    return Comparison(
        program, ("cpu", "sm89"), "fp32", samples, rows, ("threads is not the same for all rows",)
    )


def curve() -> ErrorCurve:
    """Three ops: good, bad, not finite."""
    broken = errors(0.5)
    broken.broken = 3
    ops = [
        OpErrors("tensorrt.convolution", "conv1", "f16", errors(0.0005), errors(0.0005), 3.25),
        OpErrors("tensorrt.element_wise", "scale", "f16", errors(0.2), errors(0.2), 70000.0),
        OpErrors("tensorrt.softmax", "probabilities", "f32", broken, errors(0.0), 1.0),
    ]
    return ErrorCurve("net", "fp16", "2 given samples", 20.0, ops, OutputErrors({"y": broken}), "cpu")


def ranges() -> Ranges:
    """An overflow, values that vanish, and a dead channel."""
    entries = [
        OpRange("tensorrt.convolution", name, "f32", name, proportional=True)
        for name in ("conv1", "scale", "exp")
    ]
    for entry, array in zip(entries, _arrays(), strict=True):
        entry.add(array)
    return Ranges("net", "2 given samples", entries)


def _arrays() -> list[np.ndarray]:
    first = np.ones((1, 3, 2, 2), np.float32)
    first[0, 1] = 0
    return [first, np.array([1.0, 1e5], np.float32), np.array([1.0, 1e-9, 1e-9], np.float32)]


def sensitivity() -> Sensitivity:
    """Two ops, one of which makes most of the noise."""
    ops = [
        OpSensitivity("tensorrt.convolution", "conv1", "i8", "conv1", errors(0.05), at_output(0.1)),
        OpSensitivity("tensorrt.matrix_multiply", "dense", "i8", "dense", errors(0.01), at_output(0.01)),
    ]
    return Sensitivity("net", mt.Precision("int8"), "2 given samples", ops, "sm89, the rest in fp16")


def test_comparison_text(comparison: Comparison, golden: Callable[[str, str], None]) -> None:
    """Rows with signs, ratios against the reference, notes, and where numbers come from."""
    golden("display/comparison.txt", str(comparison))


def test_comparison_markdown(comparison: Comparison, golden: Callable[[str, str], None]) -> None:
    """The same as Markdown."""
    golden("display/comparison.md", comparison.to_markdown())


def test_error_curve_text(golden: Callable[[str, str], None]) -> None:
    """Ops in order, each with its verdict; the first bad one is named above."""
    golden("display/error_curve.txt", str(curve()))


def test_ranges_text(golden: Callable[[str, str], None]) -> None:
    """Findings, worst first, with their cures; then all ranges."""
    golden("display/ranges.txt", str(ranges()))


def test_sensitivity_text(golden: Callable[[str, str], None]) -> None:
    """The costliest op first, with its share of the noise."""
    golden("display/sensitivity.txt", str(sensitivity()))


def test_html_says_what_the_text_says(comparison: Comparison) -> None:
    """Every word of a text is in the HTML, which is complete without script and without style."""
    for shown in (comparison, curve(), ranges(), sensitivity()):
        html = re.sub(r"<style>.*?</style>|<[^>]+>", " ", shown._repr_html_(), flags=re.S)
        words = set(re.findall(r"[A-Za-z]{3,}", str(shown)))
        assert words <= set(re.findall(r"[A-Za-z]{3,}", html)) | {"more", "rows"}
        assert "<script" not in shown._repr_html_()


def test_signs_go_with_colours(comparison: Comparison) -> None:
    """A coloured cell has its sign as text, so that nothing is said by colour alone."""
    coloured = re.findall(r'<span class="mt-(good|warn|bad)"[^>]*>(.)', comparison._repr_html_())
    assert {"good": "✓", "bad": "✗"}.items() <= dict(coloured).items()
    assert all({"good": "✓", "warn": "⚠", "bad": "✗"}[level] == sign for level, sign in coloured)


def test_figures_have_labels(comparison: Comparison) -> None:
    """Axes say what they show and in which unit; a row without numbers is left out."""
    labels = [axes.get_xlabel() + axes.get_ylabel() for axes in comparison.plot().axes]
    assert "median latency, ms" in labels[0]
    assert "MiB" in labels[1]
    assert {text.get_text() for text in comparison.plot().axes[0].texts} == {"fp32 (exact)", "fp16"}
    for figure, words in ((curve().plot(), "dB"), (ranges().plot(), "magnitude"), (sensitivity().plot(), "%")):
        assert words in figure.axes[0].get_ylabel() + figure.axes[0].get_xlabel()
