"""The exercises of notebook 02: their starts are not right, their solutions are, and the checks tell which."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

import mlirtrt_nb as mt

PATH = Path(__file__).parent.parent.parent / "notebooks" / "02_writing_mlir.ipynb"
CELLS = nbformat.read(str(PATH), as_version=4).cells
STARTS = [cell.source for cell in CELLS if "exercise" in cell.metadata.get("tags", [])]
CHECKS = [cell.source for cell in CELLS if cell.source.startswith("check(")]
SOLUTIONS = re.findall(r"```mlir\n(.*?)```", "\n".join(cell.source for cell in CELLS), re.DOTALL)


@pytest.mark.parametrize("number", range(3))
def test_an_exercise(number: int) -> None:
    """The check says "not yet" to the start that the reader is given, and "right" to the solution."""
    assert len(STARTS) == len(CHECKS) == len(SOLUTIONS) == 3
    names = {"np": np, "mt": mt, "x": np.arange(4, dtype=np.float32), "y": np.ones(4, dtype=np.float32)}
    exec(next(cell.source for cell in CELLS if cell.source.startswith("def check")), names)
    variable = f"exercise_{number + 1}"
    for text, wanted in ((STARTS[number].partition("\n")[2], "not yet"), (SOLUTIONS[number], "right")):
        names[variable] = mt.from_mlir(text)
        assert eval(CHECKS[number], names).startswith(wanted)
