"""Attributes to and from plain Python values, by the kind an `Attr` declares."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from torch_mlir import ir

from ..errors import OptionError
from .context import definitions
from .opdef import Attr

__all__ = ["from_python", "to_python"]

_INTEGERS = {"i32", "i64", "si64", "ui32"}


def from_python(dialect: str, attr: Attr, value: Any) -> ir.Attribute:
    """The MLIR attribute for `value` in the current context. An `ir.Attribute` passes through.

    Raises OptionError for a value that an enum does not have; TypeError, ValueError or KeyError for another of
    the wrong type, or a kind that has no Python form.
    """
    if isinstance(value, ir.Attribute):
        return value
    kind = attr.kind
    if kind.startswith("enum:"):
        _check_enum(dialect, kind[5:], value)
        return ir.DynamicAttr.get(f"{dialect}.{kind[5:]}", [ir.StringAttr.get(value)])
    if kind in _INTEGERS:
        return ir.IntegerAttr.get(ir.Type.parse(kind), int(value))
    return _PYTHON_TO_MLIR[kind](value)


def _check_enum(dialect: str, mnemonic: str, value: Any) -> None:
    values = definitions()[dialect].enums[mnemonic].values
    if value not in values:
        close = get_close_matches(str(value), values, n=2)
        hint = f"did you mean {' or '.join(close)}?" if close else f"it is one of {', '.join(values)}"
        raise OptionError(f"{value!r} is no {mnemonic}", hint=hint)


def _float(spelling: str) -> Any:
    return lambda value: ir.FloatAttr.get(ir.Type.parse(spelling), float(value))


_PYTHON_TO_MLIR: dict[str, Any] = {
    "i1": lambda v: ir.BoolAttr.get(bool(v)),
    "f32": _float("f32"),
    "f64": _float("f64"),
    "str": lambda v: ir.StringAttr.get(v),
    "unit": lambda v: ir.UnitAttr.get(),
    "array<i32>": lambda v: ir.DenseI32ArrayAttr.get([int(x) for x in v]),
    "array<i64>": lambda v: ir.DenseI64ArrayAttr.get([int(x) for x in v]),
    "array<f32>": lambda v: ir.DenseF32ArrayAttr.get([float(x) for x in v]),
    "affine_map": lambda v: ir.AffineMapAttr.get(v),
    "symbol": lambda v: _symbol(v),
    "type": lambda v: ir.TypeAttr.get(v),
    "dict": lambda v: ir.DictAttr.get(v),
    "array": lambda v: ir.ArrayAttr.get(list(v)),
}


def _symbol(path: str | list[str]) -> ir.Attribute:
    """`"engines::main_0"` or a list of names as a flat or nested symbol reference."""
    names = path.split("::") if isinstance(path, str) else list(path)
    return ir.SymbolRefAttr.get([name.lstrip("@") for name in names])


def to_python(attribute: ir.Attribute) -> Any:
    """A plain value where there is one: int, float, bool, str, list, enum spelling; else the attribute."""
    read = _MLIR_TO_PYTHON.get(type(attribute))
    return attribute if read is None else read(attribute)


def _value(attribute: Any) -> Any:
    return attribute.value


def _enum_value(attribute: ir.Attribute) -> Any:
    """The spelling in `#dialect.enum<"kVALUE">`; the attribute itself where it is something else."""
    try:
        (value,) = ir.DynamicAttr(attribute).params
        return ir.StringAttr(value).value
    except ValueError:
        return attribute


# By exact class, since inference reads attributes for every op that is built.
_MLIR_TO_PYTHON: dict[type, Any] = {
    **dict.fromkeys((ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr), _value),
    **dict.fromkeys((ir.FlatSymbolRefAttr, ir.TypeAttr, ir.AffineMapAttr), _value),
    **dict.fromkeys((ir.DenseI32ArrayAttr, ir.DenseI64ArrayAttr, ir.DenseF32ArrayAttr), list),
    ir.SymbolRefAttr: lambda attribute: "::".join(attribute.value),
    # A dynamic attribute read from an op comes as the base class.
    **dict.fromkeys((ir.Attribute, ir.DynamicAttr), _enum_value),
    ir.UnitAttr: lambda attribute: True,
    ir.ArrayAttr: lambda attribute: [to_python(item) for item in attribute],
}
