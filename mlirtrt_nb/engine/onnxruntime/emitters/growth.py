"""By how much a slice is longer than its input, where that is a number though both lengths vary."""

from __future__ import annotations

from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Scope
from .dims import dims_of

__all__ = ["growths"]


def growths(op: Op, scope: Scope) -> list[int | None]:
    """What each axis of a `slice` gains, negative where it loses; None where that is not known."""
    value, result = op.operand("input"), op.operation.results[0]
    assert value is not None
    lengths = zip(dims_of(value), dims_of(result), _sizes(op.operand("size"), len(dims_of(value))), strict=True)
    return [
        has - had if -1 not in (had, has) else _more(size, value, axis, scope)
        for axis, (had, has, size) in enumerate(lengths)
    ]


def _sizes(vector: ir.Value | None, rank: int) -> list[ir.Value | None]:
    """The value that gives each entry of a vector, where it is one of its own."""
    maker = _maker(vector)
    if maker is None or maker.name != "tensorrt.concatenation":
        return [None] * rank
    entries: list[ir.Value | None] = []
    for part in maker.operands:
        (length,) = dims_of(part)
        entries += [part] if length == 1 else [None] * max(length, 0)
    return entries if len(entries) == rank else [None] * rank


def _more(size: ir.Value | None, value: ir.Value, axis: int, scope: Scope) -> int | None:
    """How much larger the number `size` is than the length of an axis of `value`."""
    maker = _maker(size)
    if maker is None:
        return None
    if maker.name == "tensorrt.slice":
        shape = _maker(maker.operands[0])
        own = shape is not None and shape.name == "tensorrt.shape" and shape.operands[0] == value
        return 0 if own and list(Op.of(maker).attr("static_start") or []) == [axis] else None
    if maker.name == "tensorrt.element_wise" and str(Op.of(maker).attr("elementwiseOperation")) == "kSUM":
        for one, other in (maker.operands, reversed(list(maker.operands))):
            number, more = scope.constant(other), _more(one, value, axis, scope)
            if number is not None and more is not None:
                return more + int(number.array.reshape(-1)[0])
    return None


def _maker(value: ir.Value | None) -> ir.Operation | None:
    """The op that a value is a result of."""
    if value is None or isinstance(value.owner, ir.Block):
        return None
    return value.owner.operation
