"""Functions put into a module: written as text, or made of a region."""

from __future__ import annotations

from collections.abc import Collection

from torch_mlir import ir
from torch_mlir.dialects import func

__all__ = ["append_text", "region_to_function"]


def append_text(root: ir.Operation, text: str, leave_out: Collection[str] = ()) -> None:
    """Append the symbols of `text` to the module op `root`, but for those named in `leave_out`."""
    body = root.regions[0].blocks[0]
    made = ir.Module.parse(text)
    for op in made.body.operations:
        if ir.StringAttr(op.operation.attributes["sym_name"]).value not in leave_out:
            # Copied: an op that is moved would be freed with the module it was parsed in.
            body.append(op.operation.clone())


def region_to_function(root: ir.Operation, region: ir.Region, name: str) -> None:
    """Move the one block of `region` into a private function `@name` of the module op `root`.

    What ends the block becomes the function's return.
    """
    end = list(region.blocks[0].operations)[-1].operation
    kinds = [argument.type for argument in region.blocks[0].arguments], [value.type for value in end.operands]
    with end.location, ir.InsertionPoint(root.regions[0].blocks[0]):
        made = func.FuncOp(name, kinds, visibility="private")
    region.blocks[0].append_to(made.regions[0])
    with end.location, ir.InsertionPoint(end):
        func.ReturnOp(list(end.operands))
    end.erase()
