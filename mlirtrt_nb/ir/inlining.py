"""Calls replaced by the ops of what they call.

MLIR's own inliner leaves ops alone whose dialects do not tell it that they may be moved, as ours cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch_mlir import ir

from .walking import ops_where

__all__ = ["inline_calls"]


def inline_calls(module: ir.Operation, entry: str, wanted: Callable[[ir.Operation], bool]) -> None:
    """Inline, into the function `entry`, the calls that reach functions for which `wanted` holds.

    A function that calls itself, or has several blocks, is left where it is. Functions that only the inlined
    calls used are erased.
    """
    functions = {
        _name(op.operation): op.operation
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "func.func" and op.operation.regions[0].blocks
    }
    worth = {name for name in functions if _inlinable(name, functions, wanted)}
    while True:
        calls = [call for call in _calls(functions[entry]) if _callee(call) in worth]
        if not calls:
            break
        for call in calls:
            _inline(call, functions[_callee(call)])
    _erase_unused(functions, worth - {entry})


def _inlinable(
    name: str, functions: Mapping[str, ir.Operation], wanted: Callable[[ir.Operation], bool]
) -> bool:
    reached = _reached(name, functions)
    if name in reached or len(functions[name].regions[0].blocks) != 1:
        return False
    return any(wanted(functions[found]) for found in (name, *reached))


def _reached(name: str, functions: Mapping[str, ir.Operation]) -> set[str]:
    """The functions that `name` calls, and those that they call. Itself only where it is recursive."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for call in _calls(functions[waiting.pop()]):
            callee = _callee(call)
            if callee in functions and callee not in found:
                found.add(callee)
                waiting.append(callee)
    return found


def _inline(call: ir.Operation, callee: ir.Operation) -> None:
    copy = callee.clone(ir.InsertionPoint(call))
    block = copy.regions[0].blocks[0]
    for argument, value in zip(block.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(value)
    *operations, end = [op.operation for op in block.operations]
    for operation in operations:
        operation.move_before(call)
    for result, value in zip(call.results, list(end.operands), strict=True):
        result.replace_all_uses_with(value)
    copy.erase()
    call.erase()


def _erase_unused(functions: Mapping[str, ir.Operation], names: set[str]) -> None:
    """Erase those of `names` that no function outside of them calls."""
    used = {_callee(call) for name in functions.keys() - names for call in _calls(functions[name])}
    kept = {found for name in used & names for found in (name, *_reached(name, functions))}
    for name in names - kept:
        functions[name].erase()


def _calls(function: ir.Operation) -> list[ir.Operation]:
    return ops_where(function, lambda op: op.name == "func.call")


def _callee(call: ir.Operation) -> str:
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


def _name(function: ir.Operation) -> str:
    return str(ir.StringAttr(function.attributes["sym_name"]).value)
