"""What `@main` says of its arguments and results: names, dimension names, profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_mlir import ir

    from .bounds import Profiles

__all__ = ["dictionaries", "name_of", "signature"]


def dictionaries(function: ir.OpView | ir.Operation, attribute: str) -> list[ir.DictAttr] | None:
    """`arg_attrs` or `res_attrs` of a function or program; None where it has none."""
    return list(function.attributes[attribute]) if attribute in function.attributes else None


def name_of(attributes: list[ir.DictAttr] | None, n: int, default: str) -> str:
    """The name of argument or result `n`: its `plan.name`, else `default` and its number."""
    if attributes is not None and "plan.name" in attributes[n]:
        return str(attributes[n]["plan.name"].value)
    return f"{default}{n}"


def signature(function: ir.OpView, attribute: str, count: int, profiles: Profiles) -> list[ir.Attribute]:
    """One dictionary per argument or result: what `function` says of it, its name, and its profiles."""
    from torch_mlir import ir

    from ...dialects.tensorrt.profiles import shape_profile

    given = dictionaries(function, attribute)
    entries = []
    for n in range(count):
        entry = {key.name: key.attr for key in given[n]} if given is not None else {}
        name = name_of(given, n, "arg" if attribute == "arg_attrs" else "result")
        entry["plan.name"] = ir.StringAttr.get(name)
        ranges = [shape_profile(*profile[name]) for profile in profiles if name in profile]
        if ranges:
            entry["tensorrt.shape_profile"] = ranges[0] if len(ranges) == 1 else ir.ArrayAttr.get(ranges)
        entries.append(ir.DictAttr.get(entry))
    return entries
