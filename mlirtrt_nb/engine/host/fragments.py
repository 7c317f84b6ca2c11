"""Ops written as text, put into a module."""

from __future__ import annotations

from collections.abc import Collection

from torch_mlir import ir

__all__ = ["append_text"]


def append_text(root: ir.Operation, text: str, leave_out: Collection[str] = ()) -> None:
    """Append the symbols of `text` to the module op `root`, but for those named in `leave_out`."""
    body = root.regions[0].blocks[0]
    made = ir.Module.parse(text)
    for op in made.body.operations:
        if ir.StringAttr(op.operation.attributes["sym_name"]).value not in leave_out:
            # Copied: an op that is moved would be freed with the module it was parsed in.
            body.append(op.operation.clone())
