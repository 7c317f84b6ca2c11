"""What a module takes, gives and holds: the inputs and outputs of its entry function, and a count of ops."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from torch_mlir import ir

from .context import shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["UNRANKED", "entry_function", "op_table", "signature"]

# The one entry of the shape of a tensor whose rank is not known.
UNRANKED = "..."
_DIMS = "tensorrt.dimension_names"


def entry_function(module: ir.Operation) -> ir.Operation | None:
    """The module's `func.func @main`, else its first public function with a body, else None."""
    first = None
    for op in module.regions[0].blocks[0].operations:
        operation = op.operation
        if operation.name != "func.func" or not operation.regions[0].blocks:
            continue
        attributes = operation.attributes
        if ir.StringAttr(attributes["sym_name"]).value == "main":
            return operation
        if first is None and "sym_visibility" not in attributes:
            first = operation
    return first


def signature(module: ir.Operation) -> tuple[list[tuple[str, tuple[Any, ...], str]], ...]:
    """(name, shape, element type) of each input, then of each output, of the entry function.

    A dimension is an int, its name, or None; the shape of an unranked tensor is `(UNRANKED,)`.
    """
    function = entry_function(module)
    if function is None:
        return [], []
    with function.context:
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        return (
            _side(function, "arg_attrs", "arg", list(kind.inputs)),
            _side(function, "res_attrs", "result", list(kind.results)),
        )


def _side(
    function: ir.Operation, key: str, prefix: str, types: list[ir.Type]
) -> list[tuple[str, tuple[Any, ...], str]]:
    listed: list[Any] = [{}] * len(types)
    if key in function.attributes:
        listed = [_entries(ir.DictAttr(entry)) for entry in ir.ArrayAttr(function.attributes[key])]
    made = []
    for index, (kind, attributes) in enumerate(zip(types, listed, strict=True)):
        name = attributes["plan.name"].value if "plan.name" in attributes else f"{prefix}{index}"
        names = _entries(attributes[_DIMS]) if _DIMS in attributes else {}
        made.append((name, *_describe(kind, names)))
    return made


def _entries(attribute: ir.DictAttr) -> dict[str, Any]:
    return {entry.name: entry.attr for entry in attribute}


def _describe(kind: ir.Type, names: Any) -> tuple[tuple[Any, ...], str]:
    if isinstance(kind, ir.UnrankedTensorType):
        return (UNRANKED,), str(ir.UnrankedTensorType(kind).element_type)
    if not isinstance(kind, ir.ShapedType):
        return (), str(kind)
    shaped = ir.ShapedType(kind)
    dims: list[Any] = []
    for axis in range(shaped.rank):
        if not shaped.is_dynamic_dim(axis):
            dims.append(shaped.get_dim_size(axis))
        else:
            dims.append(names[str(axis)].value if str(axis) in names else None)
    return tuple(dims), str(shaped.element_type)


def op_table(module: ir.Operation) -> pd.DataFrame:
    """One row per kind of op, most frequent first: op, dialect, count."""
    import pandas as pd

    counts: Counter[str] = Counter()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        counts[operation.name] += 1
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    rows = []
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        rows.append((shown_name(name), name.partition(".")[0], count))
    return pd.DataFrame(rows, columns=["op", "dialect", "count"])
