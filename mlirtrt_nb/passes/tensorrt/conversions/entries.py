"""Lengths and positions as numbers where they are known, as dimensions or computed vectors of one where not.

The arithmetic folds what is known, so a graph that needs no computation at run time gets none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, rank_of, shape_of
from .shape_values import Dim

__all__ = [
    "Entry",
    "add",
    "entries_of",
    "floor_divide",
    "known",
    "maximum",
    "minimum",
    "multiply",
    "near",
    "subtract",
]

# A number, the length of a tensor's dimension, or an i64 vector of one.
Entry: TypeAlias = "int | Dim | ir.Value"

# Two per dimension are the most that a sound op reads.
_MOST_ENTRIES = 64


def entries_of(node: Node, emit: Emitter, index: int, what: str) -> list[Entry]:
    """The elements of the integer tensor, of rank 0 or 1, that input `index` holds.

    Refuses values that are not computed from shapes: those would have to come back from the device.
    """
    value = node[index]
    count = shape_of(value)[0] if rank_of(value) else 1
    if count is None:
        raise Refused(f"{what} of unknown length")
    if count > _MOST_ENTRIES:
        raise Refused(f"{what} of {count} numbers")
    known_entries = node.dims.elements(value) or (None,) * count
    found: list[Entry] = []
    for position, entry in enumerate(known_entries):
        if entry is None:
            if not node.dims.is_shape(value):
                raise Refused(f"{what} is computed from data")
            vector = emit.cast(value, "i64") if rank_of(value) else emit.unsqueeze(emit.cast(value, "i64"), [0])
            found.append(vector if count == 1 else emit.slice(vector, [position], [1]))
        else:
            found.append(entry)
    return found


def near(node: Node, x: ir.Value, entry: Entry, axis: int) -> Entry:
    """`entry` as a dimension of `x` itself where it equals one, best the one at `axis`."""
    if not isinstance(entry, Dim):
        return entry
    own = node.dims.of(x)
    order = [axis, *range(len(own))] if axis < len(own) else list(range(len(own)))
    return next((Dim(x, n) for n in order if own[n] == entry), entry)


def known(entries: list[Entry]) -> list[int] | None:
    """The entries if all are numbers."""
    numbers = [entry for entry in entries if isinstance(entry, int)]
    return numbers if len(numbers) == len(entries) else None


def add(emit: Emitter, a: Entry, b: Entry) -> Entry:
    """a + b, made only where it must be."""
    if _is(a, 0):
        return b
    return a if _is(b, 0) else _apply(emit, "kSUM", a, b, lambda x, y: x + y)


def subtract(emit: Emitter, a: Entry, b: Entry) -> Entry:
    """a - b, made only where it must be."""
    if _is(b, 0):
        return a
    return 0 if _same(a, b) else _apply(emit, "kSUB", a, b, lambda x, y: x - y)


def multiply(emit: Emitter, a: Entry, b: Entry) -> Entry:
    """a * b, made only where it must be."""
    if _is(a, 1):
        return b
    return a if _is(b, 1) else _apply(emit, "kPROD", a, b, lambda x, y: x * y)


def floor_divide(emit: Emitter, a: Entry, b: Entry) -> Entry:
    """a / b rounded down, made only where it must be."""
    return a if _is(b, 1) else _apply(emit, "kFLOOR_DIV", a, b, lambda x, y: x // y)


def minimum(emit: Emitter, a: Entry, b: Entry) -> Entry:
    """The smaller of two, made only where it must be."""
    return a if _same(a, b) else _apply(emit, "kMIN", a, b, min)


def maximum(emit: Emitter, a: Entry, b: Entry) -> Entry:
    """The larger of two, made only where it must be."""
    return a if _same(a, b) else _apply(emit, "kMAX", a, b, max)


def _is(entry: Entry, number: int) -> bool:
    return isinstance(entry, int) and entry == number


def _same(a: Entry, b: Entry) -> bool:
    return type(a) is type(b) and a == b


def _apply(emit: Emitter, kind: str, a: Entry, b: Entry, fold: Callable[[int, int], int]) -> Entry:
    if isinstance(a, int) and isinstance(b, int):
        return fold(a, b)
    return emit.binary(kind, emit.scalar(a), emit.scalar(b))
