"""What the importer needs to know of an op, worked out once per op type and version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from onnx import defs

from ...dialects.onnx.schemas import attribute_defaults, op_name
from ...ir.context import definition

__all__ = ["OpForm", "form_of"]


@dataclass(frozen=True)
class OpForm:
    """How an op's node maps to the dialect's op. Operands and results are padded to the fixed counts."""

    name: str
    fixed_operands: int
    variadic_operands: bool
    fixed_results: int
    variadic_results: bool
    regions: dict[str, int]
    defaults: dict[str, Any]  # attributes whose default depends on the version
    implied: dict[str, Any]  # defaults that the dialect declares, as `attributes.plain_value` gives them


@cache
def form_of(domain: str, op_type: str, version: int) -> OpForm:
    """The form of an ONNX op in one opset version; of `onnx.custom` for an op without a schema."""
    name = op_name(domain, op_type) or "onnx.custom"
    op = definition(name)
    assert op is not None
    defaults: dict[str, Any] = {}
    if name != "onnx.custom":
        defaults = attribute_defaults(defs.get_schema(op_type, version, domain))
    return OpForm(
        name,
        sum(not o.variadic for o in op.operands),
        any(o.variadic for o in op.operands),
        sum(not r.variadic for r in op.results),
        any(r.variadic for r in op.results),
        {region.name: index for index, region in enumerate(op.regions)},
        defaults,
        {a.name: _as_proto_value(a.default) for a in op.attrs if a.default is not None},
    )


def _as_proto_value(default: Any) -> Any:
    if isinstance(default, str):
        return default.encode()
    return tuple(default) if isinstance(default, list) else default
