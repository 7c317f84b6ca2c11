"""Rules for the attributes that the dialect puts on function arguments."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from ...ir import shapes
from .profiles import Range, ranges_of

__all__ = ["ARGUMENTS"]


def _ranges(attribute: ir.Attribute) -> tuple[Range, ...] | str:
    """The (min, opt, max) of each profile, or what is wrong with them."""
    try:
        found = ranges_of(attribute)
    except (TypeError, ValueError):
        return f"= {attribute} is not a shape profile"
    for low, opt, high in found:
        if not len(low) == len(opt) == len(high):
            return f"has {len(low)} values in min, {len(opt)} in opt and {len(high)} in max"
        for axis, values in enumerate(zip(low, opt, high, strict=True)):
            if not values[0] <= values[1] <= values[2]:
                return f"has min, opt and max {', '.join(map(str, values))} at {axis}; they must not decrease"
    return found


def _shape_profile(attribute: ir.Attribute, kind: ir.Type) -> str | None:
    found = _ranges(attribute)
    if isinstance(found, str) or not isinstance(kind, ir.ShapedType):
        return found if isinstance(found, str) else "belongs to a tensor"
    for low, opt, high in found:
        for side in (low, opt, high):
            if not shapes.compatible(side, kind.shape):
                return f"has {shapes.text(side)}, which is no shape of {kind}"
            if any(d < 0 for d in side):
                return f"has {shapes.text(side)}; a dimension cannot be negative"
    return None


def _value_bounds(attribute: ir.Attribute, kind: ir.Type) -> str | None:
    found = _ranges(attribute)
    if isinstance(found, str) or not isinstance(kind, ir.ShapedType):
        return found if isinstance(found, str) else "belongs to a tensor"
    count = shapes.volume(kind.shape)
    lengths = {len(low) for low, _, _ in found}
    return (
        None if count is None or lengths <= {count} else f"has {max(lengths)} values for the {count} of {kind}"
    )


def _dimension_names(attribute: ir.Attribute, kind: ir.Type) -> str | None:
    if not isinstance(attribute, ir.DictAttr):
        return f'= {attribute} is not a dictionary such as {{"0" = "batch"}}'
    rank = kind.rank if isinstance(kind, ir.ShapedType) and kind.has_rank else None
    for named in attribute:
        if not named.name.isdecimal() or (rank is not None and int(named.name) >= rank):
            return f'names "{named.name}", which is no dimension of {kind}'
        if not isinstance(named.attr, ir.StringAttr):
            return f"gives dimension {named.name} the name {named.attr}, which is no string"
    return None


def _host_tensor(attribute: ir.Attribute, kind: ir.Type) -> str | None:
    return None if isinstance(attribute, ir.UnitAttr) else f"= {attribute} must be a unit attribute"


ARGUMENTS: dict[str, Callable[[ir.Attribute, ir.Type], str | None]] = {
    "tensorrt.shape_profile": _shape_profile,
    "tensorrt.value_bounds": _value_bounds,
    "tensorrt.dimension_names": _dimension_names,
    "tensorrt.host_tensor": _host_tensor,
}
