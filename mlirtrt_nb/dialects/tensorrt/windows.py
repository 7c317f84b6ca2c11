"""What ops with sliding windows share."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.verifier import reject

__all__ = ["DEFAULT_PADDING", "placed", "spatial_lists"]

DEFAULT_PADDING = "kEXPLICIT_ROUND_DOWN"


def spatial_lists(op: Op, spatial: int, *names: str) -> tuple[list[int], ...]:
    """The named attributes, each with one value per spatial dimension; an absent one is all 1."""
    found = tuple(op.attr(name) or [1] * spatial for name in names)
    for name, values in zip(names, found, strict=True):
        if len(values) != spatial:
            reject(
                op,
                f"{name} = {values} must have {spatial} values, one per spatial dimension of "
                f"{op.type('input')}",
            )
    return found


def placed(op: Op, outer: list[int], spatial: list[int], *, least: int = 1) -> ir.Type:
    """The result type, once it is clear that every spatial dimension has room."""
    data = op.type("input")
    if any(d < least and d != shapes.DYNAMIC for d in spatial):
        shown = shapes.text([*outer, *spatial])
        reject(op, f"the window does not fit: the result would have shape {shown}, from input {data}")
    return shapes.tensor([*outer, *spatial], data.element_type)
