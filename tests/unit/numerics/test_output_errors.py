"""No output makes up for another: of each measure the worst output counts, and integers hide nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import TensorProto, helper

import mlirtrt_nb as mt
from mlirtrt_nb.numerics.output_errors import compared

from .models import classifier, inputs

EXACT = np.array([[3.0, 4.0]])


def test_the_worst_output_counts() -> None:
    """An error of 1 in 25 is 14 dB, whatever the exact outputs beside it are."""
    found = compared(
        {"good": EXACT * 100, "bad": EXACT, "count": np.array([900, 7])},
        {"good": EXACT * 100, "bad": EXACT + np.array([0.0, 1.0]), "count": np.array([900, 9])},
    )
    assert found.snr_db == pytest.approx(10 * math.log10(25))
    assert found.mean_abs_error == 0.5
    assert found.cosine == pytest.approx((9 + 20) / 5 / math.sqrt(34))
    assert found.max_abs_error == 2
    assert (found.integers["count"].differing, found.integers["count"].count) == (1, 2)


def test_integers_alone_are_measured() -> None:
    """A program that gives nothing but integers has their error; another shape has none that is known."""
    found = compared({"n": np.array([3, 4]), "k": np.zeros(2)}, {"n": np.array([3, 5]), "k": np.zeros(3)})
    assert found.snr_db == pytest.approx(10 * math.log10(25))
    assert found.reshaped == {"k"}


def test_an_exact_integer_output_changes_no_measure() -> None:
    """`compare`, `bisect` and `error_curve` say the same with exact integers among the outputs."""
    samples = inputs((1, 3, 12, 12))
    plain, counting = classifier(), classifier()
    counting.graph.node.append(helper.make_node("Shape", ["x"], ["n"], name="sizes"))
    counting.graph.output.append(helper.make_tensor_value_info("n", TensorProto.INT64, [4]))
    tables = [
        mt.compare(model, ("fp32", "fp16"), samples, target="cpu", duration_ms=1).df
        for model in (plain, counting)
    ]
    for column in ("snr_db", "cosine", "mean_abs_error", "max_abs_error", "top1_agreement"):
        assert tables[0][column].tolist() == tables[1][column].tolist()
    reached = tables[1]["snr_db"][1]
    outputs = mt.error_curve(counting, "fp16", samples, target="cpu").outputs
    assert outputs is not None and outputs.snr_db == reached
    goal = reached - 0.01
    assert not mt.bisect(counting, "fp16", "snr_db", goal, samples, target="cpu").keep
    assert mt.bisect(counting, "fp16", "snr_db", goal + 0.02, samples, target="cpu").keep
