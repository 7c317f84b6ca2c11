"""A seeded sample of ONNX's node cases built for `sm89`, held against what the benchmark recorded of all."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from benchmarks.onnx_conformance import RECORD, ours

from .cases import collect, with_shape_inputs

SAMPLE = 48
RECORDED: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", random.Random(89).sample(sorted(RECORDED), SAMPLE))
def test_case(name: str) -> None:
    """As much of the case is in an engine as was recorded, and its numbers on the CPU are as right."""
    assert ours(with_shape_inputs(collect()[name])).partition(":")[0] == RECORDED[name]


def test_the_record_is_complete() -> None:
    """Every case was built, none made compiling fail, and TensorRT takes as many as it should."""
    counts = Counter(RECORDED.values())
    assert RECORDED.keys() == collect().keys()
    assert counts["failed"] == 0
    assert counts["whole"] >= 1100
    assert counts["whole"] + counts["part"] >= 1250
