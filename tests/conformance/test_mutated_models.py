"""Damaged real models: each gives one clear error or the right result, and never ends the process or hangs.

The mutants of a model are taken one after another in a process of its own with limited memory; by hand,
`python -m tests.conformance.mutants.child MODEL FIRST LAST` takes as many others as one likes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from models.fetch import model

ROOT = Path(__file__).parent.parent.parent
# Model and how many mutants of it; those with branches, with recurrence, and a plain one with few shapes given.
MODELS = {"silero_vad_16k_sequence": 40, "silero_vad": 15, "ch_ppocr_mobile_v2.0_cls_mobile": 15}
PATIENCE = 240  # seconds for all mutants of a model, on a machine that is busy with other things too


@pytest.fixture(scope="module", params=MODELS)
def outcomes(request) -> list[dict[str, Any]]:
    """What came of each mutant: its seed, its change, its outcome, its seconds."""
    command = [sys.executable, "-m", "tests.conformance.mutants.child", str(model(request.param)), "0"]
    done = subprocess.run(
        [*command, str(MODELS[request.param])], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    begun, ended = lines[::2], lines[1::2]
    if len(ended) < len(begun) or done.returncode:
        where = begun[-1] if begun else "the start"
        pytest.fail(
            f"{request.param}: the process ended with {done.returncode} at {where}: {done.stderr[-2000:]}"
        )
    return [{**first, **second} for first, second in zip(begun, ended, strict=True)]


def test_each_mutant_has_one_clear_error_or_the_right_result(outcomes) -> None:
    """Errors are of the package's own kinds and short; results are those of ONNX Runtime on the same mutant."""
    bad = [row for row in outcomes if row["outcome"].startswith(("unforeseen", "differs"))]
    assert bad == []


def test_mutants_are_of_many_kinds(outcomes) -> None:
    """Some mutants run and are compared, some are refused: the test sees both sides."""
    kinds = Counter(row["outcome"].partition(":")[0] for row in outcomes)
    assert kinds["error"] >= 3 and kinds["the same"] >= 1
    assert len({row["change"] for row in outcomes}) > 8
