"""Names of tensors that stay the same from one compilation of a model to the next.

A range that was found for a tensor once is found again by these names: the source nodes of the op that makes
it, or the name of the input that it is.
"""

from __future__ import annotations

from collections import Counter

from torch_mlir import ir

from ...ir.context import shown_name
from ...ir.locations import sources_of
from ..plan.signature import dictionaries, name_of

__all__ = ["source_of", "tensor_names"]


def tensor_names(function: ir.OpView | ir.Operation) -> dict[ir.Value, str]:
    """A name for each argument and op result of the function's own block.

    Results of ops that came from the same nodes are numbered from the second on: "conv1", "conv1 #2".
    """
    block = function.regions[0].blocks[0]
    attributes = dictionaries(function, "arg_attrs")
    names = {argument: name_of(attributes, n, "arg") for n, argument in enumerate(block.arguments)}
    counts = Counter(names.values())
    for op in block.operations:
        operation = op.operation
        if operation.name.endswith(".constant") or operation.name.endswith(".novalue"):
            continue
        base = source_of(operation)
        for result in operation.results:
            counts[base] += 1
            names[result] = base if counts[base] == 1 else f"{base} #{counts[base]}"
    return names


def source_of(operation: ir.Operation) -> str:
    """The source nodes of an op in words; its own name if it has none."""
    return " + ".join(sources_of(operation.location)) or shown_name(operation.name)
