"""Bytes without a sign, which the builder has at the ends of a network only: inside, i32 holds them."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

import numpy as np
from torch_mlir import ir

from ....ir.builder import Op
from ....ir.constants import value_of
from ..conversions.emitter import Emitter
from ..conversions.node import element
from .spelling import Workaround, again, with_element

__all__ = ["WORKAROUNDS"]

# Ops that put elements in other places, and the operands that have the elements.
_MOVES = {
    **dict.fromkeys(("shuffle", "reshape", "transpose", "expand_rank", "collapse_rank"), "input"),
    **dict.fromkeys(("squeeze", "unsqueeze", "broadcast", "slice"), "input"),
    "concatenation": "inputs",
}


def _cast_of_bytes(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """A cast of bytes that were made in the engine is one of the i32 behind them."""
    value, kind = op.operation.operands[0], op.operation.results[0].type
    whole = _whole(value, emit) if element(value) == "ui8" else None
    return None if whole is None else [emit.op("cast", [whole], {}, kind)]


def _moved_bytes(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """Bytes are moved as i32."""
    if element(op.operation.results[0]) != "ui8":
        return None
    moved = _moved(op, emit)
    return None if moved is None else [emit.cast(moved, "ui8")]


def _moved(op: Op, emit: Emitter) -> ir.Value | None:
    """The result of a move of bytes in i32; None where an operand has none."""
    name = _MOVES[op.definition.mnemonic]
    values = [_whole(value, emit) for value in op.group(name)]
    found = [value for value in values if value is not None]
    if len(found) < len(values) or _is_filled(op):
        return None
    kind = with_element(op.operation.results[0].type, ir.IntegerType.get_signless(32))
    return again(op, emit, {name: found}, kinds=[kind])[0]


def _is_filled(op: Op) -> bool:
    """Whether values from elsewhere stand among what is moved."""
    return op.definition.mnemonic == "slice" and op.operand("fill") is not None


def _whole(value: ir.Value, emit: Emitter) -> ir.Value | None:
    """Bytes as i32: those of an input by a cast, those made in the engine without one. None where what was cast
    to bytes need not have been in their range."""
    owner = value.owner
    if isinstance(owner, ir.Block) or not owner.name.startswith("tensorrt."):
        return emit.cast(value, "i32")
    op = Op.of(owner)
    mnemonic = op.definition.mnemonic
    if mnemonic == "constant":
        return emit.constant(value_of(owner.attributes["weights"], emit.weights).astype(np.int32))
    if mnemonic in _MOVES:
        return _moved(op, emit)
    if mnemonic not in ("cast", "identity"):
        return None
    source = op.operation.operands[0]
    if element(source) == "ui8":
        return _whole(source, emit)
    return emit.cast(source, "i32") if _is_byte(source, emit.weights) else None


def _is_byte(value: ir.Value, weights: MutableMapping[str, np.ndarray]) -> bool:
    """Whether each element of a number is certain to be from 0 to 255."""
    if element(value) in ("ui8", "i1"):
        return True
    owner = value.owner
    if isinstance(owner, ir.Block) or not owner.name.startswith("tensorrt."):
        return False
    op = Op.of(owner)
    if op.definition.mnemonic == "constant":
        array = value_of(owner.attributes["weights"], weights)
        return array.size == 0 or bool(array.min() >= 0 and array.max() <= 255)
    if op.definition.mnemonic == "cast":
        return _is_byte(op.operation.operands[0], weights)
    name = _MOVES.get(op.definition.mnemonic)
    return name is not None and not _is_filled(op) and all(_is_byte(v, weights) for v in op.group(name))


WORKAROUNDS = (
    Workaround(
        "cast-of-bytes",
        ("cast", "identity"),
        "A cast of ui8 that was made in the engine is one of the i32 behind it.",
        _cast_of_bytes,
    ),
    Workaround("moved-bytes", tuple(_MOVES), "ui8 is moved as i32.", _moved_bytes),
)
