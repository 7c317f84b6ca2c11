"""Making and reading ops of the onnx dialect: padding with absent values, opset versions, constants."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from torch_mlir import ir

from ...ir.builder import create
from ...ir.constants import attribute_of, value_of
from ...ir.context import definition
from .schemas import op_name

__all__ = [
    "absent",
    "constant",
    "constant_value",
    "is_absent",
    "is_constant",
    "make",
    "opset",
]


def is_absent(value: ir.Value) -> bool:
    """Whether `value` stands for an optional input or output that is not there."""
    return isinstance(value.type, ir.NoneType)


def absent(*, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None) -> ir.Value:
    """A new `onnx.novalue` at the insertion point."""
    return ir.Operation.create("onnx.novalue", [_none()], loc=loc, ip=ip).result


def _none() -> ir.Type:
    return ir.NoneType.get()


def make(
    op_type: str,
    operands: Sequence[ir.Value | Sequence[ir.Value] | None],
    attributes: Mapping[str, Any] | None = None,
    results: Sequence[ir.Type] = (),
    *,
    domain: str = "",
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """Create the op of ONNX's `op_type` ("Conv"), padding absent operands and results.

    `operands` has an entry per operand of the schema, None or missing where absent, and a sequence for a
    variadic last one. `results` may leave out absent trailing results. Raises KeyError if there is no such op.
    """
    name = op_name(domain, op_type)
    declared = definition(name) if name else None
    if name is None or declared is None:
        raise KeyError(f"{domain or 'ai.onnx'}.{op_type} is not an op of the onnx dialect")
    padded: list[Any] = list(operands)
    padded += [None] * (len(declared.operands) - len(padded))
    for index, entry in enumerate(declared.operands):
        if padded[index] is None:
            padded[index] = [] if entry.variadic else absent(loc=loc, ip=ip)
    types = list(results)
    if not any(result.variadic for result in declared.results):
        types += [_none()] * (len(declared.results) - len(types))
    return create(name, padded, attributes, types, loc=loc, ip=ip)


def opset(operation: ir.Operation | ir.OpView, domain: str = "") -> int:
    """The opset version that gives `operation` its meaning: its function's `onnx.opset_import`.

    A function without one (text written by hand) means the newest opset that the onnx package knows.
    """
    found: Any = operation.operation
    while found is not None:
        if "onnx.opset_import" in found.attributes:
            table = ir.DictAttr(found.attributes["onnx.opset_import"])
            # MLIR has no empty attribute names, so ONNX's own domain goes by its long name.
            if (domain or "ai.onnx") in table:
                return int(ir.IntegerAttr(table[domain or "ai.onnx"]).value)
        parent = found.parent
        found = parent.operation if parent is not None else None
    return _newest(domain)


@cache
def _newest(domain: str) -> int:
    from onnx import defs

    if not domain:
        return int(defs.onnx_opset_version())
    return max(
        (schema.since_version for schema in defs.get_all_schemas() if schema.domain == domain), default=1
    )


def constant(
    array: np.ndarray,
    weights: MutableMapping[str, np.ndarray],
    name: str = "constant",
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Value:
    """An `onnx.constant` of `array`; a large one goes to `weights` under `name`, made unique."""
    from ...ir.constants import array_type

    attribute = attribute_of(array, weights, name)
    made = ir.Operation.create("onnx.constant", [array_type(array)], [], {"value": attribute}, loc=loc, ip=ip)
    return made.result


def is_constant(value: ir.Value) -> bool:
    """Whether `value` is the result of an `onnx.constant` that holds numbers."""
    if not isinstance(value, ir.OpResult):
        return False
    owner = ir.OpResult(value).owner
    return owner.name == "onnx.constant" and not isinstance(owner.attributes["value"], ir.ArrayAttr)


def constant_value(value: ir.Value, weights: MutableMapping[str, np.ndarray]) -> np.ndarray | None:
    """The array of a constant, None for any other value. A weight is the table's own array, uncopied."""
    if not is_constant(value):
        return None
    return value_of(ir.OpResult(value).owner.attributes["value"], weights)
