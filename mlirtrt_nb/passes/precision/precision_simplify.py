"""precision-simplify: casts and roundings that undo each other, or that only surround a move, go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...program import Program
from ..base import Pass, PassContext, register

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["PrecisionSimplify"]


@register
class PrecisionSimplify(Pass):
    """Drop what changes nothing: a cast to a wider type and back, a dequantize and a quantize of the same
    scale; and let ops that only move numbers between two f32 ops stay in f32."""

    name = "precision-simplify"
    phase = "precision"

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from ...ir.constants import forget_unnamed

        with program.context, ir.Location.unknown():
            while _widen_moves(program) + _drop_casts(program) + _drop_roundings(program):
                pass
            forget_unnamed(program.module.operation, program.weights)


def _drop_casts(program: Program) -> int:
    """x cast up and down again is x."""
    from ..tensorrt.matching import maker, operations, replace

    dropped = 0
    for cast in reversed(operations(program, "cast")):
        inner = maker(cast.operands[0], "cast")
        if inner is not None and inner.operands[0].type == cast.results[0].type and _widens(inner):
            replace(cast, inner.operands[0])
            dropped += 1
    return dropped


def _widens(cast: ir.Operation) -> bool:
    kinds = (str(value.type.element_type) for value in (cast.operands[0], cast.results[0]))
    return tuple(kinds) in (("f16", "f32"), ("bf16", "f32"))


def _drop_roundings(program: Program) -> int:
    """Small numbers dequantized and quantized with one scale are the same small numbers."""
    from ..tensorrt.matching import maker, operations, replace

    dropped = 0
    for down in reversed(operations(program, "quantize")):
        up = maker(down.operands[0], "dequantize")
        if up is None or up.operands[0].type != down.results[0].type:
            continue
        if up.operands[1] == down.operands[1] and _axis(up) == _axis(down):
            replace(down, up.operands[0])
            dropped += 1
    return dropped


def _axis(operation: ir.Operation) -> str:
    return str(operation.attributes["axis"]) if "axis" in operation.attributes else ""


def _widen_moves(program: Program) -> int:
    """A move that reads what was cast down, and whose results are all cast up again, stays wide."""
    from ...dialects.tensorrt.number_flow import MOVES, only_moves
    from ..tensorrt.matching import erase_unused, maker, operations

    changed = 0
    for move in operations(program, *(name.removeprefix("tensorrt.") for name in MOVES)):
        down = maker(move.operands[0], "cast")
        readers = [use.owner.operation for use in move.results[0].uses]
        if down is None or not readers or not all(_goes_to(reader, down) for reader in readers):
            continue
        if not only_moves(move):  # what it is given beside its input stays narrow
            continue
        if not _widens_back(down, readers[0]):
            continue
        move.operands[0] = down.operands[0]
        wide = readers[0].results[0].type
        move.results[0].set_type(wide)
        for reader in readers:
            reader.results[0].replace_all_uses_with(move.results[0])
            reader.erase()
        erase_unused(down)
        changed += 1
    return changed


def _goes_to(reader: ir.Operation, down: ir.Operation) -> bool:
    """Whether a reader casts to the type that `down` came from."""
    if reader.name != "tensorrt.cast":
        return False
    return bool(reader.results[0].type.element_type == down.operands[0].type.element_type)


def _widens_back(down: ir.Operation, reader: ir.Operation) -> bool:
    narrow = down.results[0].type.element_type
    return _widens(reader) and bool(reader.operands[0].type.element_type == narrow)
