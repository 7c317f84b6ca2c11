"""Checks that compiled functions make while they run: each assertion becomes a number and a way out.

MLIR's own pass asserts that accesses are in bounds and shapes agree. Added here is what would stop the whole
process on this processor: integer division by zero, and of the least number by -1; and calls without an end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir
from torch_mlir.dialects import arith, func, scf, vector

from ...errors import InputError, SourceSpan
from ...ir.locations import sources_of
from ...ir.walking import ops_where
from .runtime_ir import DEPTH, FIRST_CHECK, FREED, NO_MEMORY, PREFIX

__all__ = [
    "Failure",
    "assert_divisors",
    "assert_sizes",
    "assertions_to_exits",
    "bound_recursion",
    "failure_at",
]

_DIVISIONS = re.compile(r"(?:arith|index)\.(?:div|rem|floordiv|ceildiv)([su])i?")
_VERIFICATION = "ERROR: Runtime op verification failed"
_OP_NAME = re.compile(r"(?:^|= )\"?([a-z_]\w*(?:\.\w+)+)")
_RUNTIME = {
    NO_MEMORY: "not enough memory for a tensor",
    FREED: "memory is deallocated twice, or was never allocated",
    DEPTH: "functions call each other too deeply",
}

SpanOf = Callable[[ir.Location], SourceSpan | None]


@dataclass(frozen=True)
class Failure:
    """What a check says when it does not hold: the message, the place in the user's text where that is known,
    else the names of the op's sources."""

    what: str
    where: str | None = None
    span: SourceSpan | None = None

    @staticmethod
    def of(entry: Mapping[str, Any]) -> Failure:
        """The failure that `dataclasses.asdict` made `entry` of."""
        span = entry["span"]
        return Failure(entry["what"], entry["where"], SourceSpan(**span) if span else None)

    def error(self, function: str) -> InputError:
        """The exception for a call of `function`."""
        where = f"{self.where}, @{function}" if self.where else f"@{function}"
        return InputError(self.what, where=where, span=self.span)


def failure_at(code: int, failures: tuple[Failure, ...]) -> Failure:
    """The failure that a compiled function's code stands for."""
    return failures[code - FIRST_CHECK] if code >= FIRST_CHECK else Failure(_RUNTIME[code])


# Division ------------------------------------------------------------------------------------------------


def assert_divisors(module: ir.Operation) -> None:
    """Assert before each integer division that it has a result."""
    for operation in ops_where(module, lambda op: _DIVISIONS.fullmatch(op.name) is not None):
        match = _DIVISIONS.fullmatch(operation.name)
        left, right = operation.operands
        known = _constant(right)
        if known not in (None, 0, -1):
            continue
        with ir.InsertionPoint(operation), operation.location:
            _assert(_differs(right, 0), f"division by zero in {operation.name}")
            if match is not None and match[1] == "s" and known is None:
                least = _not_least(left, right)
                if least is not None:
                    _assert(least, f"overflow in {operation.name}: the least number divided by -1")


def _constant(value: ir.Value) -> int | None:
    """The number that an integer value is known to be; None for others."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name not in ("arith.constant", "index.constant"):
        return None
    found = owner.attributes["value"]
    if isinstance(found, ir.DenseElementsAttr):
        if not found.is_splat:
            return None
        found = found.get_splat_value()
    return int(ir.IntegerAttr(found).value)


def _number(like: ir.Value, number: int) -> ir.Value:
    kind = like.type
    if isinstance(kind, ir.VectorType):
        element = ir.IntegerAttr.get(kind.element_type, number)
        return arith.ConstantOp(kind, ir.DenseElementsAttr.get_splat(kind, element)).result
    return arith.ConstantOp(kind, ir.IntegerAttr.get(kind, number)).result


def _differs(value: ir.Value, number: int) -> ir.Value:
    return arith.CmpIOp(arith.CmpIPredicate.ne, value, _number(value, number)).result


def _not_least(left: ir.Value, right: ir.Value) -> ir.Value | None:
    element = left.type.element_type if isinstance(left.type, ir.VectorType) else left.type
    bits = 64 if isinstance(element, ir.IndexType) else ir.IntegerType(element).width
    if bits > 64:
        return None
    return arith.OrIOp(_differs(right, -1), _differs(left, -(1 << (bits - 1)))).result


def _assert(condition: ir.Value, message: str) -> None:
    from torch_mlir.dialects import cf

    kind = condition.type
    if isinstance(kind, ir.VectorType):
        flag = ir.IntegerType.get_signless(1)
        if kind.rank != 1:
            count = 1
            for axis in range(kind.rank):
                count *= kind.get_dim_size(axis)
            condition = vector.ShapeCastOp(ir.VectorType.get([count], flag), condition).result
        condition = vector.ReductionOp(flag, vector.CombiningKind.AND, condition).result
    cf.AssertOp(condition, message)


# Memory --------------------------------------------------------------------------------------------------

_MOST_ELEMENTS = float(1 << 46)


def assert_sizes(module: ir.Operation) -> None:
    """Assert before each allocation whose size varies that no dimension is negative and all is addressable."""
    for operation in ops_where(module, lambda op: op.name == "memref.alloc" and len(op.operands) > 0):
        static = 1.0
        for dim in ir.MemRefType(operation.results[0].type).shape:
            static *= dim if dim >= 0 else 1
        index, f64, i64 = ir.IndexType.get(), ir.F64Type.get(), ir.IntegerType.get_signless(64)
        with ir.InsertionPoint(operation), operation.location:
            zero = arith.ConstantOp(index, 0).result
            count = arith.ConstantOp(f64, static).result
            for dim in operation.operands:
                good = arith.CmpIOp(arith.CmpIPredicate.sge, dim, zero).result
                _assert(good, "a tensor would have a negative dimension")
                size = arith.SIToFPOp(f64, arith.IndexCastOp(i64, dim).result).result
                count = arith.MulFOp(count, size).result
            most = arith.ConstantOp(f64, _MOST_ELEMENTS).result
            _assert(arith.CmpFOp(arith.CmpFPredicate.OLT, count, most).result, _RUNTIME[NO_MEMORY])


# Recursion -----------------------------------------------------------------------------------------------


def bound_recursion(module: ir.Operation) -> None:
    """Count the depth of calls in functions that may call themselves, and fail where there is no end."""
    functions = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in ops_where(module, _is_function)}
    calls = {name: _callees(op) & functions.keys() for name, op in functions.items()}
    for name, function in functions.items():
        if not _reaches(calls, name):
            continue
        with function.location, ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
            func.CallOp([], f"{PREFIX}enter", [])
        for end in ops_where(function, lambda op: op.name == "func.return"):
            with end.location, ir.InsertionPoint(end):
                func.CallOp([], f"{PREFIX}leave", [])


def _is_function(operation: ir.Operation) -> bool:
    return operation.name == "func.func" and len(operation.regions[0].blocks) > 0


def _callees(function: ir.Operation) -> set[str]:
    return {
        ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        for op in ops_where(function, lambda op: op.name == "func.call")
    }


def _reaches(calls: dict[str, set[str]], start: str) -> bool:
    """Whether `start` can come to call itself."""
    stack, seen = list(calls[start]), set[str]()
    while stack:
        name = stack.pop()
        if name == start:
            return True
        if name not in seen:
            seen.add(name)
            stack += calls[name]
    return False


# Assertions ----------------------------------------------------------------------------------------------


def assertions_to_exits(module: ir.Operation, span_of: SpanOf) -> list[Failure]:
    """Turn each `cf.assert` into a call of the runtime with a number of its own; the failures in that order."""
    failures: list[Failure] = []
    numbers: dict[Failure, int] = {}
    for operation in ops_where(module, lambda op: op.name == "cf.assert"):
        failure = _failure_of(operation, span_of)
        if failure not in numbers:
            numbers[failure] = len(failures)
            failures.append(failure)
        _exit_unless(operation, FIRST_CHECK + numbers[failure])
        operation.erase()
    return failures


def _exit_unless(operation: ir.Operation, code: int) -> None:
    i1, i32 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(32)
    with ir.InsertionPoint(operation), operation.location:
        broken = arith.XOrIOp(operation.operands[0], arith.ConstantOp(i1, 1).result).result
        branch = scf.IfOp(broken)
        with ir.InsertionPoint(branch.then_block):
            func.CallOp([], f"{PREFIX}fail", [arith.ConstantOp(i32, code).result])
            scf.YieldOp([])


def _failure_of(operation: ir.Operation, span_of: SpanOf) -> Failure:
    span = span_of(operation.location)
    name = next(iter(sources_of(operation.location)), None)
    message = _message(ir.StringAttr(operation.attributes["msg"]).value, _written(span))
    return Failure(message, None if span else name, span)


def _written(span: SourceSpan | None) -> str | None:
    """The name of the op that the user wrote at a place, which lowering may have made another of."""
    if span is None:
        return None
    token = span.text[span.column - 1 : span.column - 1 + span.length].strip('"')
    return token if _OP_NAME.fullmatch(token) else None


def _message(text: str, written: str | None) -> str:
    """The reason that MLIR's verification gives and the op's name; of a user's assertion, its own text."""
    if not text.startswith(_VERIFICATION):
        return text
    lines = text.split("\n")
    reason = next((line[2:] for line in lines if line.startswith("^ ")), "a check failed")
    found = _OP_NAME.search(lines[1]) if len(lines) > 1 else None
    name = written or (found[1] if found else None)
    return f"{reason.replace(' #', ' ')} in {name}" if name else reason
