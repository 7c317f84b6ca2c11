"""Every op of the dialect, built for real; and that the table of limits says what the builder does."""

from __future__ import annotations

from functools import cache

import pytest
from torch_mlir import ir

from mlirtrt_nb.dialects.tensorrt.limits import refusal
from mlirtrt_nb.engine.tensorrt.encoders import ENCODERS
from mlirtrt_nb.errors import EngineBuildError, VerificationError
from mlirtrt_nb.ir.context import definitions, new_context
from mlirtrt_nb.ir.verifier import verify_op

from .trt_cases import CASES, Case, build_case, build_cases, operation_of

ELEMENTS = ("f32", "f16", "bf16", "i8", "i32", "i64", "i1")
# Ops of engines that no layer stands for, and ops that a test of their own builds.
STRUCTURE = {"module", "call", "call_alloc", "yield", "condition", "constant"}
ELSEWHERE = {"if", "while", "for", "iterator", "assertion", "opaque_plugin"}
# Ops that the builder expands into others first.
EXPANDED = {"lstm", "gru", "rnn"}
# Types that only newer hardware has: 4-bit floats.
NEWER = {"dynamic_quantize"}


def test_every_op_has_an_encoder_and_a_case() -> None:
    """No op of the dialect is left out of the encoders or of these tests."""
    ops = {name.partition(".")[2] for name in definitions()["tensorrt"].ops} - STRUCTURE
    assert {name.partition(".")[2] for name in ENCODERS} == ops - EXPANDED
    assert {case.name for case in CASES} == ops - ELSEWHERE


@cache
def _sorted_cases(element: str) -> tuple[list[Case], list[Case]]:
    """The cases with `element` that the dialect allows: those that the table admits, and those it refuses."""
    admitted: list[Case] = []
    refused: list[Case] = []
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        for original in CASES:
            case = original.typed(element)
            if element != "f32" and case == original:
                continue
            try:
                with ir.InsertionPoint(module.body):
                    _, operation = operation_of(case)
                verify_op(operation)
            except (VerificationError, ir.MLIRError):
                continue
            (admitted if refusal(operation) is None else refused).append(case)
    return admitted, refused


@pytest.mark.parametrize("element", ELEMENTS)
def test_what_the_limits_admit_builds(element: str) -> None:
    """Every op with this element type that the table admits goes into one engine for sm89."""
    cases = [case for case in _sorted_cases(element)[0] if case.name not in NEWER]
    engine = build_cases(cases)
    assert len(engine.outputs) == sum(len(case.results) for case in cases)
    sources = {source for row in engine.report.layers for source in row.sources}
    assert len(sources & {str(case) for case in cases}) > len(cases) // 3


@cache
def _refused() -> list[Case]:
    """One refused case of each op and, where it is an element type that is refused, of each op's kind."""
    found: dict[tuple[str, str], Case] = {}
    for element in ELEMENTS:
        for case in _sorted_cases(element)[1]:
            found.setdefault((case.name, str(case).split()[1]), case)
    return list(found.values())


def test_what_the_limits_refuse_does_not_build() -> None:
    """The table keeps nothing from an engine that the builder would take."""
    built = []
    for case in _refused():
        try:
            build_case(case)
        except EngineBuildError:
            continue
        built.append(str(case))
    assert built == []


def test_four_bit_floats_need_newer_hardware() -> None:
    """dynamic_quantize builds for sm120; for sm89 the builder's own words come back, with the op."""
    (case,) = (case for case in CASES if case.name == "dynamic_quantize")
    assert len(build_case(case, "sm120").blob) > 0
    with pytest.raises(EngineBuildError, match="HW-specific datatypes"):
        build_case(case)


@pytest.mark.parametrize("target", ["sm75", "sm80", "sm86", "sm120", "sm121"])
def test_every_target(target: str) -> None:
    """The same function builds for every target of the ahead-of-time flavour, on this machine."""
    (case,) = (case for case in CASES if case.name == "convolution" and "= dense<0.5>" in str(case.operands))
    engine = build_case(case, target)
    assert engine.target == target and engine.kind == "tensorrt_rtx"
    assert len(engine.report.layers) > 0
