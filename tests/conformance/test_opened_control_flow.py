"""ONNX's own cases of If, Loop, Scan and SequenceMap, each opened: the Plan branches and loops itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.backend.test.case.node import collect_testcases

import mlirtrt_nb as mt

WORDS = ("_if_", "loop", "scan", "sequence_map")
with np.errstate(all="ignore"):  # some cases of other ops divide by zero while they are made
    CASES = {case.name: case for case in collect_testcases(None) if any(word in case.name for word in WORDS)}


def _agree(found: Any, wanted: Any) -> None:
    if wanted is None or isinstance(wanted, list | tuple):
        assert (found is None) == (wanted is None) and len(found or ()) == len(wanted or ())
        for ours, theirs in zip(found or (), wanted or (), strict=True):
            _agree(ours, theirs)
        return
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_recorded_outputs(name: str) -> None:
    """Sequences, optionals, types that change from turn to turn: what the case records comes out."""
    case = CASES[name]
    inputs, outputs = case.data_sets[0]
    program = mt.load(case.model)
    given = zip(program.inputs, inputs, strict=True)
    shapes = {spec.name: array.shape for spec, array in given if isinstance(array, np.ndarray)}
    pipeline = mt.Pipeline.default(("cpu",), "fp32").set("onnx-to-tensorrt", split="always")
    plan = mt.compile(program, shapes=shapes, pipeline=pipeline, cache=False, isolate=False)
    found = plan.session("cpu").run(dict(zip([spec.name for spec in plan.inputs], inputs, strict=True)))
    for ours, theirs in zip(found.values(), outputs, strict=True):
        _agree(ours, theirs)


def test_most_cases_are_opened() -> None:
    """There are cases of each kind, and the option does open them."""
    assert len(CASES) > 15
    program = mt.load(CASES["test_loop13_seq"].model)
    pipeline = mt.Pipeline.default(("cpu",), "fp32").set("onnx-to-tensorrt", split="always")
    plan = mt.compile(program, shapes={"trip_count": (), "cond": ()}, pipeline=pipeline, isolate=False)
    assert "repeat" in plan.timeline().op.tolist()
