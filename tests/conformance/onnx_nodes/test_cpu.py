"""Every node case of ONNX on the CPU, held against the list of those that are known not to pass."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mlirtrt_nb as mt

from .cases import NodeCase, agree, collect, compile_shapes

CHUNKS = 24
TABLE = Path(__file__).parents[3] / "docs" / "onnx-conformance.md"


@cache
def known_failures() -> dict[str, str]:
    """Case -> why it does not pass, from the table in docs/."""
    rows = re.findall(r"^\| (test_\w+) \| (.+) \|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == len(dict(rows))
    return dict(rows)


def problem(case: NodeCase) -> str | None:
    """None if the case passes on the CPU, else what goes wrong."""
    try:
        plan = mt.compile(case.model, shapes=compile_shapes(case), cache=False)
        with np.errstate(all="ignore"), plan.session("cpu", threads=1) as session:
            found = session.run(case.feeds())
            return agree(case, [found[entry.name] for entry in case.model.graph.output])
    except mt.MlirTrtError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_cases(chunk: int) -> None:
    """The cases of one chunk pass, except exactly those in the table."""
    cases = list(collect().values())[chunk::CHUNKS]
    found = {case.name: problem(case) for case in cases}
    broken = {name: what for name, what in found.items() if what and name not in known_failures()}
    mended = [name for name, what in found.items() if what is None and name in known_failures()]
    assert not broken
    assert not mended, f"take these off the table in {TABLE.name}"


def test_the_table_is_of_cases_that_exist() -> None:
    """Each listed case is one of ONNX's; at least 1,850 are not listed."""
    assert known_failures().keys() <= collect().keys()
    assert len(collect()) - len(known_failures()) >= 1850
