"""transpose-reshape-elimination: fewer and shorter chains of ops that only move data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op, create
from ...program import Program
from ..base import Pass, PassContext, register
from .matching import fused, maker, only_user, operations
from .matching import replace as replace_value

__all__ = ["TransposeReshapeElimination"]

_MOVING = ("shuffle", "transpose", "reshape", "expand_rank", "collapse_rank")


@register
class TransposeReshapeElimination(Pass):
    """Join transposes and reshapes that follow each other into one `tensorrt.shuffle`, drop those that change
    nothing, turn a transpose that only moves unit dimensions into a reshape, and let matrix_multiply read
    through a transpose of the last two dimensions."""

    name = "transpose-reshape-elimination"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            # In program order, so that what an op reads has been joined before it is.
            for operation in operations(program, *_MOVING):
                _simplify(operation)
            for operation in operations(program, "matrix_multiply"):
                _read_through(operation)


@dataclass(frozen=True)
class _Move:
    """Transpose by `first`, reshape to `middle`, transpose by `second`. `source` is the input's shape.

    A `middle` that is the transposed shape itself is no reshape; at most one of its dimensions is dynamic
    if it is one.
    """

    source: tuple[int, ...]
    first: tuple[int, ...]
    middle: tuple[int, ...]
    second: tuple[int, ...]

    @property
    def transposed(self) -> tuple[int, ...]:
        return tuple(self.source[n] for n in self.first)

    @property
    def reshapes(self) -> bool:
        return self.middle != self.transposed

    @property
    def order(self) -> tuple[int, ...]:
        """The whole permutation, where it does not reshape."""
        return tuple(self.first[n] for n in self.second)

    @property
    def copies(self) -> bool:
        """Whether elements change their order in memory."""
        return not (_keeps_order(self.source, self.first) and _keeps_order(self.middle, self.second))

    @property
    def is_identity(self) -> bool:
        return not self.reshapes and _is_sorted(self.order)


def _is_sorted(order: tuple[int, ...]) -> bool:
    return order == tuple(range(len(order)))


def _move_of(operation: ir.Operation) -> _Move | None:
    """What a moving op does; None if that depends on values, or leaves several dimensions open."""
    op = Op.of(operation)
    source = tuple(op.type("input").shape)
    target = tuple(ir.RankedTensorType(operation.results[0].type).shape)
    straight = tuple(range(len(source)))
    if op.name == "tensorrt.transpose":
        order = tuple(ir.AffineDimExpr(result).position for result in op.attr("permutation").results)
        return _Move(source, order, tuple(source[n] for n in order), straight)
    if op.name != "tensorrt.shuffle":
        move = _Move(source, straight, target, tuple(range(len(target))))
        return move if _is_determined(move) else None
    first, second = tuple(op.attr("first_transpose")), tuple(op.attr("second_transpose"))
    move = _Move(source, first, tuple(target[second.index(n)] for n in range(len(target))), second)
    if op.raw("reshape") is None and op.operand("dynamic_reshape") is None:
        return replace(move, middle=move.transposed)
    return move if _is_determined(move) else None


def _is_determined(move: _Move) -> bool:
    """Whether the shapes alone say how it reshapes: no empty tensor, one open dimension before and after."""
    dims = (*move.source, *move.middle)
    return 0 not in dims and all(side.count(shapes.DYNAMIC) < 2 for side in (move.source, move.middle))


def _simplify(operation: ir.Operation) -> None:
    move = _move_of(operation)
    if move is None:
        return
    value, chain, joined = operation.operands[0], [operation], move
    while True:
        before = next((op for name in _MOVING if (op := maker(value, name)) is not None), None)
        earlier = None if before is None else _move_of(before)
        if before is None or earlier is None or _is_shared_copy(before, earlier, joined):
            break
        both = _joined(earlier, joined)
        if both is None:
            break
        value, joined = before.operands[0], both
        chain.insert(0, before)
    joined = _without_unit_moves(joined)
    if joined.is_identity and value.type == operation.results[0].type:
        replace_value(operation, value)
    elif len(chain) > 1 or joined != move:
        _rewrite(operation, value, joined, chain)


def _is_shared_copy(before: ir.Operation, a: _Move, b: _Move) -> bool:
    """Whether joining would copy twice: others read the transpose `before`, and `b` alone copies nothing."""
    return only_user(before.results[0]) is None and a.copies and not b.copies


def _joined(a: _Move, b: _Move) -> _Move | None:
    """One move that does `a`, then `b`."""
    if a.reshapes and b.reshapes:
        # The permutation between the two reshapes must do nothing.
        between = tuple(a.second[n] for n in b.first)
        return replace(a, middle=b.middle, second=b.second) if _is_sorted(between) else None
    if not a.reshapes:
        first = tuple(a.order[n] for n in b.first)
        middle = b.middle if b.reshapes else tuple(a.source[n] for n in first)
        return _Move(a.source, first, middle, b.second)
    return replace(a, second=tuple(a.second[n] for n in b.order))


def _without_unit_moves(move: _Move) -> _Move:
    """The same as a reshape alone, where transposes only move dimensions of length 1."""
    target = tuple(move.middle[n] for n in move.second)
    straight = tuple(range(len(move.source)))
    plain = _Move(move.source, straight, target, tuple(range(len(target))))
    still = not move.reshapes and _is_sorted(move.order)
    return move if still or move.copies or not _is_determined(plain) else plain


def _keeps_order(shape: tuple[int, ...], order: tuple[int, ...]) -> bool:
    """Whether the dimensions that are not 1 stay in their order."""
    long = [n for n in order if shape[n] != 1]
    return long == sorted(long)


def _rewrite(operation: ir.Operation, value: ir.Value, move: _Move, chain: list[ir.Operation]) -> None:
    attributes: dict[str, object] = {"first_transpose": move.first, "second_transpose": move.second}
    if move.reshapes:
        attributes["reshape"] = [-1 if d == shapes.DYNAMIC else d for d in move.middle]
    made = create(
        "tensorrt.shuffle",
        [value],
        {key: list(entry) if isinstance(entry, tuple) else entry for key, entry in attributes.items()},
        [operation.results[0].type],
        loc=fused(*chain) if len(chain) > 1 else operation.location,
        ip=ir.InsertionPoint(operation),
    )
    replace_value(operation, made.results[0])


def _read_through(operation: ir.Operation) -> None:
    """Let a matrix product read what transposes of the last two dimensions read."""
    op = Op.of(operation)
    readings = [op.attr("op0"), op.attr("op1")]
    inputs = list(operation.operands)
    turns = [None if readings[n] == "kVECTOR" else _turn(inputs[n]) for n in (0, 1)]
    if all(turn is None for turn in turns):
        return
    for n, turn in enumerate(turns):
        if turn is not None:
            inputs[n] = turn.operands[0]
            readings[n] = "kNONE" if readings[n] == "kTRANSPOSE" else "kTRANSPOSE"
    made = create(
        "tensorrt.matrix_multiply",
        inputs,
        {"op0": readings[0], "op1": readings[1]},
        [operation.results[0].type],
        loc=fused(*(turn for turn in turns if turn is not None), operation),
        ip=ir.InsertionPoint(operation),
    )
    replace_value(operation, made.results[0])


def _turn(value: ir.Value) -> ir.Operation | None:
    """The op that makes `value` by exchanging the last two dimensions, and does no more."""
    operation = maker(value, "shuffle") or maker(value, "transpose")
    move = None if operation is None else _move_of(operation)
    if move is None or move.reshapes or len(move.source) < 2:
        return None
    outer = len(move.source) - 2
    return operation if move.order == (*range(outer), outer + 1, outer) else None
