"""Ops for which a tensor has too few dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from ....ir import shapes
from ....ir.builder import Op
from ..conversions.emitter import Emitter
from .spelling import Workaround, again, declared

__all__ = ["WORKAROUNDS"]


def _vector_as_row(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """A vector is the one row of a matrix."""
    return _grown(op, emit, 0, {"axis": 1}) if op.type("input").rank == 1 else None


def _line_as_image(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """Channels over one spatial dimension are channels over two."""
    return _grown(op, emit, 3, {}) if op.type("input").rank == 3 else None


def _grown(op: Op, emit: Emitter, place: int, attributes: dict[str, int]) -> list[ir.Value]:
    """The op with a unit dimension at `place` of its input and results, which goes again."""
    kinds = [result.type for result in op.operation.results]
    larger = emit.unsqueeze(op.operation.operands[0], [place])
    results = again(op, emit, {"input": larger}, attributes, [_with_unit(kind, place) for kind in kinds])
    return [
        declared(emit, emit.squeeze(value, [place]), kind) for value, kind in zip(results, kinds, strict=True)
    ]


def _with_unit(kind: ir.Type, place: int) -> ir.Type:
    source = ir.RankedTensorType(kind)
    shape = source.shape
    return shapes.tensor([*shape[:place], 1, *shape[place:]], source.element_type)


WORKAROUNDS = (
    Workaround(
        "vector-as-row",
        ("softmax", "top_k", "argmin", "argmax"),
        "A vector is the one row of a matrix.",
        _vector_as_row,
    ),
    Workaround(
        "line-as-image", ("lrn",), "Channels over one spatial dimension are channels over two.", _line_as_image
    ),
)
