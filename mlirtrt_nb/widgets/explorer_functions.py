"""The functions of a snapshot, by the symbol paths that the explorer offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..passes.snapshot import Snapshot

if TYPE_CHECKING:
    from ..ir.assembly.printer import Locations

__all__ = ["function_text", "functions_of"]


def functions_of(snapshot: Snapshot) -> list[str]:
    """The symbol paths of all functions."""
    return [path for path, _ in _walk(snapshot.module.operation, ())]


def _walk(module: Any, path: tuple[str, ...]) -> list[tuple[str, Any]]:
    from torch_mlir import ir

    found: list[tuple[str, Any]] = []
    for op in module.regions[0].blocks[0].operations:
        operation = op.operation
        if "sym_name" not in operation.attributes:
            continue
        names = (*path, f"@{ir.StringAttr(operation.attributes['sym_name']).value}")
        if operation.name == "builtin.module":
            found += _walk(operation, names)
        elif operation.name == "func.func":
            found.append(("::".join(names), operation))
    return found


def function_text(snapshot: Snapshot, function: str, locations: Locations) -> str:
    """The text of one function by its path; "" if there is none."""
    from ..ir.assembly import print_module

    for path, operation in _walk(snapshot.module.operation, ()):
        if path == function:
            named = snapshot.text_source is not None
            return print_module(operation, locations=locations, limit=10**9, names=named)
    return ""
