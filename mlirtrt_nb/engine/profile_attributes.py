"""Shape profiles as attributes of functions: on arguments for the builder, on results for the schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .base import Shapes

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["FunctionProfiles", "annotate_arguments", "annotate_results"]

# profiles[k][i]: (min, opt, max) of argument i in the k-th profile, None where its shape is static.
FunctionProfiles = tuple[tuple[Shapes | None, ...], ...]


def annotate_arguments(function: ir.OpView, profiles: FunctionProfiles) -> None:
    """Put the ranges on the function's arguments, where both readers and the TensorRT builder find them."""
    columns = [[profile[n] for profile in profiles] for n in range(len(profiles[0]))]
    _set_profiles(function, "arg_attrs", columns)


def annotate_results(function: ir.OpView, count: int, known: Mapping[int, list[Shapes]]) -> None:
    """Put the ranges on the function's results, from which the schedule knows how much memory they take."""
    _set_profiles(function, "res_attrs", [known.get(n, []) for n in range(count)])


def _set_profiles(function: ir.OpView, key: str, columns: Sequence[Sequence[Shapes | None]]) -> None:
    """`columns[i]` has the ranges of argument or result i, one per profile."""
    from torch_mlir import ir

    from ..dialects.tensorrt.profiles import shape_profile

    given = list(function.attributes[key]) if key in function.attributes else []
    entries = []
    for n, ranges in enumerate(columns):
        known = {entry.name: entry.attr for entry in given[n]} if given else {}
        known.pop("tensorrt.shape_profile", None)
        made = [shape_profile(*sides) for sides in ranges if sides is not None]
        if made:
            known["tensorrt.shape_profile"] = made[0] if len(made) == 1 else ir.ArrayAttr.get(made)
        entries.append(ir.DictAttr.get(known))
    function.attributes[key] = ir.ArrayAttr.get(entries)
