"""Every op in a branch, built for real: what the table of limits admits there, and what it does not."""

from __future__ import annotations

import pytest
from torch_mlir import ir
from torch_mlir.dialects import func

from mlirtrt_nb.dialects.tensorrt.limits import refusal
from mlirtrt_nb.engine.base import BuildRequest
from mlirtrt_nb.engine.tensorrt import TensorRtBuilder
from mlirtrt_nb.errors import EngineBuildError
from mlirtrt_nb.ir.builder import create
from mlirtrt_nb.ir.context import new_context

from .trt_cases import CASES, Case, operation_in, tensor

# Built by tests of their own, or for newer hardware, or with a result that an engine cannot return.
_ELSEWHERE = {"lstm", "gru", "rnn", "dynamic_quantize", "dist_collective"}


def _cases() -> list[Case]:
    """One case of each op: the first that gives numbers that a branch can yield."""
    found: dict[str, Case] = {}
    for case in CASES:
        if case.name not in _ELSEWHERE and not any("f8" in kind for kind in case.results):
            found.setdefault(case.name, case)
    return list(found.values())


def branches(case: Case) -> tuple[func.FuncOp, list[ir.Operation]]:
    """A function of an `if` whose branches both are the op of the case; and the two ops."""
    inputs = [tensor("i1"), *(tensor(o) for o in case.flat if o is not None and not o.startswith("="))]
    results = [tensor(kind) for kind in case.results]
    function = func.FuncOp("branches", (inputs, results))
    block, ops = function.add_entry_block(), []
    with ir.InsertionPoint(block):
        chosen = create("tensorrt.if", [block.arguments[0]], {}, results)
        for region in chosen.regions:
            with ir.InsertionPoint(region.blocks.append()):
                ops.append(operation_in(case, list(block.arguments)[1:]))
                create("tensorrt.yield", [list(ops[-1].results)], {}, [])
        func.ReturnOp(list(chosen.results))
    return function, ops


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case.name)
def test_in_a_branch(case: Case) -> None:
    """The builder takes the op in a branch exactly if the table of limits says so."""
    with new_context(), ir.Location.name("branches"):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function, ops = branches(case)
        request = BuildRequest("branches", function.operation, {}, "sm89")
        if refusal(ops[0]) is None:
            assert len(TensorRtBuilder().build(request).outputs) == len(case.results)
        else:
            with pytest.raises(EngineBuildError):
                TensorRtBuilder().build(request)
