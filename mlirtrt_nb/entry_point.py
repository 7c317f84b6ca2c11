"""Which function of a program is compiled: `@main`, or the only one that it can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .errors import SourceError

if TYPE_CHECKING:
    from torch_mlir import ir

    from .program import Program

__all__ = ["with_main"]

_SHOWN = 6


def with_main(program: Program) -> Program:
    """The program if it has a function `@main`, else a copy whose entry function is called so.

    The entry is the one public function with a body that no other calls. Raises SourceError where none is, or
    several are.
    """
    from torch_mlir import ir

    with program.context:
        names = [_name(function) for function in _functions(program.module.operation)]
        if "main" in names:
            return program
        copy = program.clone()
        entry = _only_entry(copy.module.operation)
        ir.SymbolTable.replace_all_symbol_uses(_name(entry), "main", copy.module.operation)
        ir.SymbolTable.set_symbol_name(entry, "main")
        return copy


def _only_entry(module: ir.Operation) -> ir.Operation:
    public = [function for function in _functions(module) if "sym_visibility" not in function.attributes]
    called = {name for function in _functions(module) for name in _callees(function)}
    found = [function for function in public if _name(function) not in called] or public
    if len(found) == 1:
        return found[0]
    if not found:
        raise SourceError(
            "the program has no function to compile", hint="write one: func.func @main(...) { ... }"
        )
    names = ", ".join(f"@{_name(function)}" for function in found[:_SHOWN]) + (
        ", ..." if found[_SHOWN:] else ""
    )
    raise SourceError(
        f"the program has several functions to compile and none is @main: {names}",
        hint="call one @main, or make the others private",
    )


def _functions(module: ir.Operation) -> Iterator[ir.Operation]:
    """The functions with a body at the top level of a module."""
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "func.func" and op.operation.regions[0].blocks:
            yield op.operation


def _callees(function: ir.Operation) -> list[str]:
    """The functions that `function` calls, itself left out."""
    from torch_mlir import ir

    found: list[str] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        callee = operation.attributes.get("callee", None)
        if isinstance(callee, ir.FlatSymbolRefAttr) and callee.value != _name(function):
            found.append(callee.value)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def _name(function: ir.Operation) -> str:
    from torch_mlir import ir

    return str(ir.StringAttr(function.attributes["sym_name"]).value)
