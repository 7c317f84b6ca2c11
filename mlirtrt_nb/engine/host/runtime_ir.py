"""What compiled functions call while they run, as LLVM-dialect text: memory, failure, and the way in.

A check that fails leaves by `longjmp` to the way in, from any depth of calls and loops, with a number that says
which check it was. Memory comes in blocks that know each other, so that all that a call leaves behind, finished
or failed, is freed when it returns; a result's block is taken out first and then belongs to Python.

A block begins with a header as long as its alignment. In the 64 bytes before the user's own: the previous and
the next block, a mark, and (16 bytes before) the address that the C library gave.
"""

from __future__ import annotations

from collections.abc import Sequence

from .types import HostType

__all__ = [
    "DEPTH",
    "FIRST_CHECK",
    "FREED",
    "GUARD",
    "NO_MEMORY",
    "PREFIX",
    "RAW_OFFSET",
    "declarations",
    "offsets_of",
    "runtime",
]

PREFIX = "__mt_"
GUARD = f"{PREFIX}guard"
# Codes of the runtime's own failures; a function's checks count from FIRST_CHECK.
NO_MEMORY, FREED, DEPTH, FIRST_CHECK = 1, 2, 3, 16
# Where, before a block, the address stands that `free` takes.
RAW_OFFSET = 16
# Calls within calls of functions that call themselves; each may take 1.5 kB of a stack of 8 MB.
_DEEPEST = 5000
_MARK = 0x6D6C6972
_LARGEST = 1 << 46  # bytes; also catches a negative size

_RUNTIME = f"""
llvm.func @_setjmp(!llvm.ptr) -> i32 attributes {{passthrough = ["returns_twice"]}}
llvm.func @longjmp(!llvm.ptr, i32) attributes {{passthrough = ["noreturn"]}}
llvm.func @aligned_alloc(i64, i64) -> (!llvm.ptr {{llvm.noalias}})
llvm.func @free(!llvm.ptr)
llvm.mlir.global internal @__mt_jump(dense<0> : tensor<64xi64>) {{alignment = 64 : i64}} : !llvm.array<64 x i64>
llvm.mlir.global internal @__mt_first() : !llvm.ptr {{
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}}
llvm.mlir.global internal @__mt_depth(0 : i64) : i64

llvm.func internal @__mt_fail(%code: i32) {{
  %jump = llvm.mlir.addressof @__mt_jump : !llvm.ptr
  llvm.call @longjmp(%jump, %code) : (!llvm.ptr, i32) -> ()
  llvm.unreachable
}}

llvm.func internal @__mt_enter() {{
  %at = llvm.mlir.addressof @__mt_depth : !llvm.ptr
  %old = llvm.load %at : !llvm.ptr -> i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %most = llvm.mlir.constant({_DEEPEST} : i64) : i64
  %new = llvm.add %old, %one : i64
  llvm.store %new, %at : i64, !llvm.ptr
  %deep = llvm.icmp "sgt" %new, %most : i64
  llvm.cond_br %deep, ^bad, ^good
^bad:
  %code = llvm.mlir.constant({DEPTH} : i32) : i32
  llvm.call @__mt_fail(%code) : (i32) -> ()
  llvm.unreachable
^good:
  llvm.return
}}

llvm.func internal @__mt_leave() {{
  %at = llvm.mlir.addressof @__mt_depth : !llvm.ptr
  %old = llvm.load %at : !llvm.ptr -> i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %new = llvm.sub %old, %one : i64
  llvm.store %new, %at : i64, !llvm.ptr
  llvm.return
}}

llvm.func internal @_mlir_memref_to_llvm_aligned_alloc(%asked: i64, %size: i64) -> (!llvm.ptr {{llvm.noalias}})
    attributes {{passthrough = ["noinline"]}} {{
  %least = llvm.mlir.constant(64 : i64) : i64
  %alignment = llvm.intr.umax(%asked, %least) : (i64, i64) -> i64
  %largest = llvm.mlir.constant({_LARGEST} : i64) : i64
  %large = llvm.icmp "ugt" %size, %largest : i64
  llvm.cond_br %large, ^none, ^some
^some:
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %less = llvm.sub %alignment, %one : i64
  %mask = llvm.sub %zero, %alignment : i64
  %up = llvm.add %size, %less : i64
  %padded = llvm.and %up, %mask : i64
  %total = llvm.add %padded, %alignment : i64
  %raw = llvm.call @aligned_alloc(%alignment, %total) : (i64, i64) -> !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %failed = llvm.icmp "eq" %raw, %null : !llvm.ptr
  llvm.cond_br %failed, ^none, ^link
^none:
  %code = llvm.mlir.constant({NO_MEMORY} : i32) : i32
  llvm.call @__mt_fail(%code) : (i32) -> ()
  llvm.unreachable
^link:
  %block = llvm.getelementptr %raw[%alignment] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %first = llvm.mlir.addressof @__mt_first : !llvm.ptr
  %next = llvm.load %first : !llvm.ptr -> !llvm.ptr
  llvm.store %block, %first : !llvm.ptr, !llvm.ptr
  %at_prev = llvm.getelementptr %block[-64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %null, %at_prev : !llvm.ptr, !llvm.ptr
  %at_next = llvm.getelementptr %block[-56] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %next, %at_next : !llvm.ptr, !llvm.ptr
  %at_mark = llvm.getelementptr %block[-48] : (!llvm.ptr) -> !llvm.ptr, i8
  %mark = llvm.mlir.constant({_MARK} : i64) : i64
  llvm.store %mark, %at_mark : i64, !llvm.ptr
  %at_raw = llvm.getelementptr %block[-{RAW_OFFSET}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %raw, %at_raw : !llvm.ptr, !llvm.ptr
  %last = llvm.icmp "eq" %next, %null : !llvm.ptr
  llvm.cond_br %last, ^done, ^back
^back:
  %at_back = llvm.getelementptr %next[-64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %block, %at_back : !llvm.ptr, !llvm.ptr
  llvm.br ^done
^done:
  llvm.return %block : !llvm.ptr
}}

llvm.func internal @_mlir_memref_to_llvm_alloc(%size: i64) -> !llvm.ptr {{
  %alignment = llvm.mlir.constant(64 : i64) : i64
  %block = llvm.call @_mlir_memref_to_llvm_aligned_alloc(%alignment, %size) : (i64, i64) -> !llvm.ptr
  llvm.return %block : !llvm.ptr
}}

llvm.func internal @__mt_unlink(%block: !llvm.ptr) {{
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = llvm.mlir.constant(0 : i64) : i64
  %at_mark = llvm.getelementptr %block[-48] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store volatile %zero, %at_mark : i64, !llvm.ptr
  %at_prev = llvm.getelementptr %block[-64] : (!llvm.ptr) -> !llvm.ptr, i8
  %prev = llvm.load %at_prev : !llvm.ptr -> !llvm.ptr
  %at_next = llvm.getelementptr %block[-56] : (!llvm.ptr) -> !llvm.ptr, i8
  %next = llvm.load %at_next : !llvm.ptr -> !llvm.ptr
  %is_first = llvm.icmp "eq" %prev, %null : !llvm.ptr
  %first = llvm.mlir.addressof @__mt_first : !llvm.ptr
  %after_prev = llvm.getelementptr %prev[-56] : (!llvm.ptr) -> !llvm.ptr, i8
  %at = llvm.select %is_first, %first, %after_prev : i1, !llvm.ptr
  llvm.store %next, %at : !llvm.ptr, !llvm.ptr
  %is_last = llvm.icmp "eq" %next, %null : !llvm.ptr
  llvm.cond_br %is_last, ^done, ^back
^back:
  %at_back = llvm.getelementptr %next[-64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %prev, %at_back : !llvm.ptr, !llvm.ptr
  llvm.br ^done
^done:
  llvm.return
}}

llvm.func internal @_mlir_memref_to_llvm_free(%block: !llvm.ptr) attributes {{passthrough = ["noinline"]}} {{
  %null = llvm.mlir.zero : !llvm.ptr
  %empty = llvm.icmp "eq" %block, %null : !llvm.ptr
  llvm.cond_br %empty, ^done, ^check
^check:
  %at_mark = llvm.getelementptr %block[-48] : (!llvm.ptr) -> !llvm.ptr, i8
  %found = llvm.load %at_mark : !llvm.ptr -> i64
  %mark = llvm.mlir.constant({_MARK} : i64) : i64
  %right = llvm.icmp "eq" %found, %mark : i64
  llvm.cond_br %right, ^give, ^bad
^bad:
  %code = llvm.mlir.constant({FREED} : i32) : i32
  llvm.call @__mt_fail(%code) : (i32) -> ()
  llvm.unreachable
^give:
  llvm.call @__mt_unlink(%block) : (!llvm.ptr) -> ()
  %at_raw = llvm.getelementptr %block[-{RAW_OFFSET}] : (!llvm.ptr) -> !llvm.ptr, i8
  %raw = llvm.load %at_raw : !llvm.ptr -> !llvm.ptr
  llvm.call @free(%raw) : (!llvm.ptr) -> ()
  llvm.br ^done
^done:
  llvm.return
}}

llvm.func internal @__mt_take(%block: !llvm.ptr) -> i8 {{
  %null = llvm.mlir.zero : !llvm.ptr
  %first = llvm.mlir.addressof @__mt_first : !llvm.ptr
  %start = llvm.load %first : !llvm.ptr -> !llvm.ptr
  llvm.br ^look(%start : !llvm.ptr)
^look(%at: !llvm.ptr):
  %end = llvm.icmp "eq" %at, %null : !llvm.ptr
  llvm.cond_br %end, ^no, ^compare
^compare:
  %same = llvm.icmp "eq" %at, %block : !llvm.ptr
  llvm.cond_br %same, ^yes, ^on
^on:
  %at_next = llvm.getelementptr %at[-56] : (!llvm.ptr) -> !llvm.ptr, i8
  %next = llvm.load %at_next : !llvm.ptr -> !llvm.ptr
  llvm.br ^look(%next : !llvm.ptr)
^yes:
  llvm.call @__mt_unlink(%block) : (!llvm.ptr) -> ()
  %one = llvm.mlir.constant(1 : i8) : i8
  llvm.return %one : i8
^no:
  %zero = llvm.mlir.constant(0 : i8) : i8
  llvm.return %zero : i8
}}

llvm.func internal @__mt_clear() {{
  %null = llvm.mlir.zero : !llvm.ptr
  %first = llvm.mlir.addressof @__mt_first : !llvm.ptr
  llvm.br ^look
^look:
  %block = llvm.load %first : !llvm.ptr -> !llvm.ptr
  %end = llvm.icmp "eq" %block, %null : !llvm.ptr
  llvm.cond_br %end, ^done, ^give
^give:
  llvm.call @_mlir_memref_to_llvm_free(%block) : (!llvm.ptr) -> ()
  llvm.br ^look
^done:
  llvm.return
}}
"""


def declarations() -> str:
    """The runtime's functions that the pipeline's own passes call, as `func` declarations."""
    return (
        f"func.func private @{PREFIX}fail(i32)\n"
        f"func.func private @{PREFIX}enter()\n"
        f"func.func private @{PREFIX}leave()\n"
    )


def runtime(entry: str, arguments: Sequence[str], result: str | None, results: Sequence[HostType]) -> str:
    """The runtime, with a way in to `@_mlir_ciface_<entry>`.

    `arguments` are its LLVM argument types after the pointer to its results; `result` is the LLVM type that it
    returns, None if it writes through that pointer. The way in is `@__mt_guard(table) -> code`: the table holds
    addresses of: the results, one byte per result that says whether the caller owns its memory, and each
    argument. The code is 0, or that of the check that failed.
    """
    lines = [f"{_entry_of(name, at)}" for name, at in (("results", 0), ("owned", 1))]
    values = []
    for number, kind in enumerate(arguments):
        lines.append(_entry_of(f"p{number}", number + 2))
        lines.append(f"%v{number} = llvm.load %p{number} : !llvm.ptr -> {kind}")
        values.append((f"%v{number}", kind))
    lines += _call(entry, values, result, has_results=bool(results))
    for number, offset in enumerate(offsets_of(results)[0]):
        if not results[number].is_scalar:
            lines += _take(number, offset)
    return _RUNTIME + _declare(entry, [kind for _, kind in values], result, bool(results)) + _guard(lines)


def offsets_of(results: Sequence[HostType]) -> tuple[list[int], int]:
    """The byte offset of each result in the struct that a function writes, and the struct's size."""
    offsets, end = [], 0
    for kind in results:
        end = -(-end // kind.alignment) * kind.alignment
        offsets.append(end)
        end += kind.size
    return offsets, end


def _entry_of(name: str, position: int) -> str:
    return (
        f"%at_{name} = llvm.getelementptr %table[{position}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr\n"
        f"%{name} = llvm.load %at_{name} : !llvm.ptr -> !llvm.ptr"
    )


def _call(entry: str, values: list[tuple[str, str]], result: str | None, *, has_results: bool) -> list[str]:
    by_pointer = [("%results", "!llvm.ptr")] if has_results and result is None else []
    given = [*by_pointer, *values]
    names, kinds = ", ".join(name for name, _ in given), ", ".join(kind for _, kind in given)
    call = f"llvm.call @_mlir_ciface_{entry}({names}) : ({kinds}) -> {result or '()'}"
    return [call] if result is None else [f"%out = {call}", f"llvm.store %out, %results : {result}, !llvm.ptr"]


def _take(number: int, offset: int) -> list[str]:
    return [
        f"%d{number} = llvm.getelementptr %results[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8",
        f"%b{number} = llvm.load %d{number} : !llvm.ptr -> !llvm.ptr",
        f"%t{number} = llvm.call @__mt_take(%b{number}) : (!llvm.ptr) -> i8",
        f"%o{number} = llvm.getelementptr %owned[{number}] : (!llvm.ptr) -> !llvm.ptr, i8",
        f"llvm.store %t{number}, %o{number} : i8, !llvm.ptr",
    ]


def _declare(entry: str, kinds: list[str], result: str | None, has_results: bool) -> str:
    listed = ", ".join((["!llvm.ptr"] if has_results and result is None else []) + kinds)
    return f"llvm.func @_mlir_ciface_{entry}({listed}){f' -> {result}' if result else ''}\n"


def _guard(lines: list[str]) -> str:
    body = "\n".join(lines)
    return f"""
llvm.func @{GUARD}(%table: !llvm.ptr) -> i32 {{
  %jump = llvm.mlir.addressof @__mt_jump : !llvm.ptr
  %depth = llvm.mlir.addressof @__mt_depth : !llvm.ptr
  %none = llvm.mlir.constant(0 : i64) : i64
  llvm.store %none, %depth : i64, !llvm.ptr
  %code = llvm.call @_setjmp(%jump) : (!llvm.ptr) -> i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %good = llvm.icmp "eq" %code, %zero : i32
  llvm.cond_br %good, ^go, ^out(%code : i32)
^go:
{body}
  llvm.br ^out(%zero : i32)
^out(%end: i32):
  llvm.call @__mt_clear() : () -> ()
  llvm.return %end : i32
}}
"""
