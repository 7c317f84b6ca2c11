"""Every op of the tensorrt dialect on the CPU engine, compared with NumPy: static, dynamic, with constants."""

from __future__ import annotations

import pytest

from mlirtrt_nb.engine.onnxruntime.emitters import EMITTERS
from mlirtrt_nb.ir.context import definitions

from .tensorrt_cpu import edges, elementwise, indexing, reductions, shapes, transformers, windows
from .tensorrt_cpu.cases import Case, run_case

CASES: list[Case] = [
    case
    for family in (edges, elementwise, indexing, reductions, shapes, transformers, windows)
    for case in family.CASES
]


# What makes up programs and regions, not values of its own.
STRUCTURE = {"module", "call", "call_alloc", "yield", "condition"}
# Compared by test_tensorrt_regions_cpu.py, with what the CPU refuses, and by test_recurrent_onnx_cases.py.
ELSEWHERE = {"if", "while", "for", "iterator", "assertion", "random_uniform", "random_normal", "opaque_plugin"}
ELSEWHERE |= {"lstm", "gru", "rnn"}
# Constants are operands of the cases here.
OPERANDS = {"constant"}
# Have no meaning on one device, or a type that ONNX Runtime lacks.
REFUSED = {"dist_collective", "dynamic_quantize"}


def test_every_op_is_compared() -> None:
    """An op of the dialect has a case here, or is named above; all but the refused have an emitter."""
    ops = {name.partition(".")[2] for name in definitions()["tensorrt"].ops} - STRUCTURE
    assert {case.op for case in CASES} == ops - ELSEWHERE - OPERANDS - REFUSED
    assert ops - {name.partition(".")[2] for name in EMITTERS} <= REFUSED | OPERANDS


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
