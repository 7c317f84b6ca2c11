"""Runs one pass over text and compares what comes out with other text, whatever the values are called."""

from __future__ import annotations

from torch_mlir import ir

from mlirtrt_nb.ir.assembly import parse_module
from mlirtrt_nb.ir.context import new_context
from mlirtrt_nb.ir.verifier import errors_of
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.pipeline import Pipeline
from mlirtrt_nb.program import Program

_CONTEXT = new_context()


def run(text: str, passes: str) -> Program:
    """The program after `passes`; it must verify before and after."""
    program = Program(parse_module(text, "<before>", _CONTEXT))
    assert errors_of(program.module) == []
    after = Pipeline.parse(passes).run(program, PassContext(), keep_snapshots=False).program
    assert errors_of(after.module) == []
    assert after.module.operation.verify()
    return after


def check(before: str, after: str, passes: str) -> None:
    """`before` becomes `after`, up to the names of values and the order of constants."""
    assert _plain(run(before, passes)) == _plain(Program(parse_module(after, "<after>", _CONTEXT)))


def check_unchanged(text: str, passes: str) -> None:
    check(text, text, passes)


def mnemonics(program: Program) -> list[str]:
    """The tensorrt ops but constants, without the dialect's name, in order."""
    found: list[str] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("tensorrt.") and operation.name != "tensorrt.constant":
            found.append(operation.name.removeprefix("tensorrt."))
        return ir.WalkResult.ADVANCE

    program.module.operation.walk(visit)
    return found


def function(arguments: str, body: str, returns: str) -> str:
    """A function @main of these arguments, ops and returned "%value : type"."""
    kinds = returns.partition(" : ")[2]
    return f"func.func @main({arguments}) -> ({kinds}) {{\n{body}\nreturn {returns}\n}}"


def _plain(program: Program) -> str:
    """Generic text, constants first, so that only what is computed matters."""
    for operation in program.module.body.operations:
        block = operation.operation.regions[0].blocks[0]
        constants = [op for op in block.operations if op.operation.name == "tensorrt.constant"]
        for op in sorted(constants, key=lambda op: str(op.operation.attributes["weights"]), reverse=True):
            op.operation.move_before(block.operations[0].operation)
    return str(program.module)
