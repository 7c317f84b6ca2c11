"""Which function of a program is compiled: `@main`, or the only one that it can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .errors import SourceError

if TYPE_CHECKING:
    from torch_mlir import ir

    from .program import Program

__all__ = ["only_entry", "with_main"]

_SHOWN = 6
# Dialects whose ops are made into engines.
_ENGINES = frozenset({"tensorrt", "onnx"})


def with_main(program: Program) -> Program:
    """The program with an entry function `@main` that calls no function with ops that engines are built from.

    The entry is `@main`, or else the one public function with a body that no other calls. What it calls is
    inlined where it has such ops. The program itself is left as it is; a program that needs no change is given
    back. Raises SourceError where there is no entry, or several are, and for what is a Plan's own.
    """
    from torch_mlir import ir

    from .ir.inlining import inline_calls

    with program.context:
        _refuse_scheduled(program.module.operation)
        functions = {_name(function): function for function in _functions(program.module.operation)}
        if functions.keys() == {"main"}:  # as all that comes from a model
            return program
        needed = functions.keys() & {name for function in functions.values() for name in _callees(function)}
        if "main" in functions and not any(_has_engine_ops(functions[name]) for name in needed):
            return program
        copy = program.clone()
        module = copy.module.operation
        if "main" not in functions:
            entry = only_entry(module)
            ir.SymbolTable.replace_all_symbol_uses(_name(entry), "main", module)
            ir.SymbolTable.set_symbol_name(entry, "main")
        inline_calls(module, "main", _has_engine_ops)
        return copy


def _refuse_scheduled(module: ir.Operation) -> None:
    if any(op.operation.name == "plan.program" for op in module.regions[0].blocks[0].operations):
        raise SourceError(
            "the program is that of a Plan: it is compiled already",
            hint="give the model, or the program of mt.load, that the Plan was made of",
        )


def only_entry(module: ir.Operation, otherwise: str = "make the others private") -> ir.Operation:
    """The one public function with a body that no other calls, in a module without `@main`.

    Raises SourceError where there is none, or several are, with what can be done but to call one `@main`.
    """
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
        hint=f"call one @main, or {otherwise}",
    )


def _functions(module: ir.Operation) -> Iterator[ir.Operation]:
    """The functions with a body at the top level of a module."""
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "func.func" and op.operation.regions[0].blocks:
            yield op.operation


def _has_engine_ops(function: ir.Operation) -> bool:
    from .ir.walking import ops_where

    return bool(ops_where(function, lambda op: op.name.partition(".")[0] in _ENGINES))


def _callees(function: ir.Operation) -> list[str]:
    """The functions that `function` calls, itself left out."""
    from torch_mlir import ir

    from .ir.walking import ops_where

    calls = ops_where(function, lambda op: op.name == "func.call")
    names = [str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value) for call in calls]
    return [name for name in names if name != _name(function)]


def _name(function: ir.Operation) -> str:
    from torch_mlir import ir

    return str(ir.StringAttr(function.attributes["sym_name"]).value)
