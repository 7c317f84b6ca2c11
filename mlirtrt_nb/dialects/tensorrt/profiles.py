"""`#tensorrt.shape_profile` to and from (min, opt, max)."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from ...ir.attributes import to_python

__all__ = ["Range", "ranges_of", "shape_profile"]

Range = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def shape_profile(low: Sequence[int], opt: Sequence[int], high: Sequence[int]) -> ir.Attribute:
    """The attribute for one (min, opt, max) in the current context."""
    sides = [ir.DenseI64ArrayAttr.get([int(dim) for dim in side]) for side in (low, opt, high)]
    return ir.DynamicAttr.get("tensorrt.shape_profile", sides)


def ranges_of(attribute: ir.Attribute) -> tuple[Range, ...]:
    """The (min, opt, max) of a profile, or of each profile of an array of them."""
    if isinstance(attribute, ir.ArrayAttr):
        return tuple(found for entry in attribute for found in ranges_of(entry))
    low, opt, high = (tuple(to_python(side.maybe_downcast())) for side in ir.DynamicAttr(attribute).params)
    return ((low, opt, high),)
