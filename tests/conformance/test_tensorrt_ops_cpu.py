"""Every op of the tensorrt dialect on the CPU engine, compared with NumPy: static, dynamic, with constants."""

from __future__ import annotations

import pytest

from .tensorrt_cpu import elementwise, indexing, reductions, shapes, transformers, windows
from .tensorrt_cpu.cases import Case, run_case

CASES: list[Case] = [
    case
    for family in (elementwise, indexing, reductions, shapes, transformers, windows)
    for case in family.CASES
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_static(case: Case) -> None:
    """The op gives NumPy's answer with static shapes."""
    run_case(case, "static")


@pytest.mark.parametrize("case", [c for c in CASES if c.dynamic], ids=lambda case: case.id)
def test_dynamic(case: Case) -> None:
    """The op gives NumPy's answer when no dimension is known at build time."""
    run_case(case, "dynamic")


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.constant and len(c.arrays) > 1], ids=lambda case: case.id
)
def test_constant_operands(case: Case) -> None:
    """The op gives NumPy's answer when all operands but the first are constants."""
    run_case(case, "constant")
