"""What the rules share: the op once more with something changed, and results of the declared types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from ....ir import shapes
from ....ir.builder import Op
from ..conversions.emitter import Emitter

__all__ = ["Workaround", "again", "declared", "with_element"]


@dataclass(frozen=True)
class Workaround:
    """A way round a refusal. `mnemonics` are the ops that it is for, none standing for any; `rule` gives the
    values for an op's results, or None where it does not apply."""

    name: str
    mnemonics: tuple[str, ...]
    summary: str
    rule: Callable[[Op, Emitter], Sequence[ir.Value] | None]


def again(
    op: Op,
    emit: Emitter,
    operands: Mapping[str, ir.Value | Sequence[ir.Value]],
    attributes: Mapping[str, Any] | None = None,
    kinds: Sequence[ir.Type] | None = None,
) -> list[ir.Value]:
    """The op once more, with other operands, and other attributes or result types where they are given."""
    values = [operands.get(entry.name, op.group(entry.name)) for entry in op.definition.operands]
    kept = {entry.name: op.raw(entry.name) for entry in op.definition.attrs}
    results = [result.type for result in op.operation.results] if kinds is None else kinds
    return emit.ops(op.definition.mnemonic, values, {**kept, **(attributes or {})}, results)


def declared(emit: Emitter, value: ir.Value, kind: ir.Type) -> ir.Value:
    """`value`, which the emitter made, with the type that the result of the op has."""
    assert any(value.owner == operation for operation in emit.created)
    if value.type != kind:
        value.set_type(kind)
    return value


def with_element(kind: ir.Type, element: ir.Type) -> ir.RankedTensorType:
    """A tensor type with another element type."""
    return shapes.tensor(ir.RankedTensorType(kind).shape, element)
