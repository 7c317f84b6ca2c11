"""Attributes in slots and in dictionaries: what each kind looks like, and its form in MLIR."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..context import definitions
from ..hints import nearest
from ..opdef import Attr, OpDef
from .attributes import Problem, clean, enum_value, split_dict, to_generic
from .tokens import BLANK, NUMBER, STRING, SYMBOL, TYPE, unquote

__all__ = [
    "SEGMENTS",
    "default_text",
    "normalise",
    "slot_in_words",
    "slot_pattern",
    "slot_to_generic",
    "slot_to_text",
]

SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")

_TYPED_NUMBERS = ("i32", "i64", "si64", "ui32", "f32", "f64")
_ARRAYS = {"array<i32>": "i32", "array<i64>": "i64", "array<f32>": "f32"}
_NUMBER = re.compile(NUMBER)
_SYMBOL_NAME = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)


def slot_pattern(attr: Attr) -> str | None:
    """A regular expression for the attribute in a slot, without groups; None if it takes a scan."""
    if attr.name == "sym_name":
        return SYMBOL
    if attr.kind.startswith("enum:"):
        return rf"<{BLANK}[\w\"]++{BLANK}>"
    if attr.kind in _TYPED_NUMBERS:
        return NUMBER
    if attr.kind in _ARRAYS:
        return r"(?:\[[^\[\]/]*+\]|array<[^<>/]*+>)"
    if attr.kind == "elements":
        return rf"(?:dense|dense_resource)<(?:{STRING}|[^<>\"/]++)>{BLANK}:{BLANK}{TYPE}"
    return {"i1": r"(?:true|false)\b", "str": STRING, "symbol": SYMBOL, "unit": ""}.get(attr.kind)


def slot_in_words(op: OpDef, attr: Attr) -> str:
    """What stands in the slot, for messages."""
    if attr.kind.startswith("enum:"):
        values = definitions()[op.dialect].enums[attr.kind[5:]].values
        return f"{attr.name}, as in <{values[0]}>"
    if attr.kind in _TYPED_NUMBERS:
        return f"{attr.name}, {'a number' if attr.kind[0] == 'f' else 'an integer'}"
    examples = {
        "elements": "dense<1.0> : tensor<4xf32>",
        "symbol": "@name",
        "str": "@name" if attr.name == "sym_name" else '"text"',
        "i1": "true",
        "array<i32>": "[1, 2]",
        "array<i64>": "[1, 2]",
        "array<f32>": "[1.0, 2.0]",
        "affine_map": "affine_map<(d0, d1) -> (d1, d0)>",
        "array": "[...]",
        "dict": "{...}",
    }
    return f"{attr.name}, as in {examples[attr.kind]}" if attr.kind in examples else attr.name


def slot_to_generic(op: OpDef, attr: Attr, text: str, position: int) -> str | None:
    """What stands in a slot, in MLIR's form; None for unit."""
    if attr.name == "sym_name":
        return text[1:] if text[1] == '"' else f'"{text[1:]}"'
    if attr.kind.startswith("enum:"):
        return _enum(op, attr, text[1:-1].strip(), position)
    if attr.kind in _TYPED_NUMBERS:
        return f"{_float(text) if attr.kind[0] == 'f' else text} : {attr.kind}"
    if attr.kind in _ARRAYS and text[0] == "[":
        inside = text[1:-1].strip()
        return f"array<{_ARRAYS[attr.kind]}: {inside}>" if inside else f"array<{_ARRAYS[attr.kind]}>"
    return None if attr.kind == "unit" else to_generic(clean(text), position)


def _float(text: str) -> str:
    """MLIR wants a point in a decimal float; people leave it out."""
    return text if "." in text or "x" in text else f"{text}.0"


def _enum(op: OpDef, attr: Attr, value: str, position: int) -> str:
    mnemonic = attr.kind[5:]
    enum = definitions()[op.dialect].enums[mnemonic]
    name = f"{op.dialect}.{mnemonic}"
    return f'#{name}<"{enum_value(name, enum, value, position)}">'


def slot_to_text(attr: Attr, value: str) -> str:
    """An attribute as MLIR prints it, in the form of its slot. `value` has the package's spelling."""
    if attr.name == "sym_name":
        name = unquote(value)
        return f"@{name}" if _SYMBOL_NAME.fullmatch(name) else f"@{value}"
    if attr.kind.startswith("enum:"):
        return value[value.find("<") :]
    if attr.kind in _TYPED_NUMBERS:
        return value.partition(" : ")[0]
    if attr.kind in _ARRAYS:
        return f"[{value.partition(': ')[2][:-1]}]"
    return value


def default_text(dialect: str, attr: Attr) -> str | None:
    """The attribute's default as MLIR prints it; None if it has none."""
    if attr.default is None:
        return None
    return _literal(dialect, attr.kind, attr.default)


def _literal(dialect: str, kind: str, value: Any) -> str | None:
    if kind.startswith("enum:"):
        return f'#{dialect}.{kind[5:]}<"{value}">'
    if kind == "i1":
        return "true" if value else "false"
    if kind in ("f32", "f64"):
        from torch_mlir import ir

        with ir.Context(), ir.Location.unknown():
            return str(ir.FloatAttr.get(ir.F32Type.get() if kind == "f32" else ir.F64Type.get(), value))
    if kind in _TYPED_NUMBERS:
        return f"{value} : {kind}"
    if kind in _ARRAYS and kind != "array<f32>":
        inside = ", ".join(str(v) for v in value)
        return f"array<{_ARRAYS[kind]}{': ' if inside else ''}{inside}>"
    if kind == "str":
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return None


def normalise(
    op: OpDef, attrs: Mapping[str, Attr], defaults: Mapping[str, str], text: str, position: int
) -> dict[str, str | None]:
    """A dictionary's entries in MLIR's form: declared widths added, defaults and segment sizes left out.

    `attrs` are the op's attributes by name, `defaults` their defaults as MLIR prints them. Raises Problem for
    a name that the op does not have; names with a dot belong to other dialects.
    """
    found: dict[str, str | None] = {}
    for key, value, offset in split_dict(clean(text), position):
        name = key if key[0] != '"' else unquote(key)
        if name in SEGMENTS:
            continue
        if name in found:
            raise Problem(f"attribute {name} is given twice", position + offset, length=len(key))
        attr = attrs.get(name)
        if attr is None:
            _check_unknown(op, name, key, position + offset)
            found[key] = value if value is None else to_generic(value, position + offset)
            continue
        generic = _entry(op, attr, value, position + offset)
        if generic is None or generic != defaults.get(name):
            found[name] = generic
    return found


def _entry(op: OpDef, attr: Attr, value: str | None, position: int) -> str | None:
    if value is None:
        return None
    if attr.kind in _TYPED_NUMBERS and _NUMBER.fullmatch(value):
        return slot_to_generic(op, attr, value, position)
    if attr.kind.startswith("enum:") and value[0] == "<":
        return _enum(op, attr, value[1:-1].strip(), position)
    return to_generic(value, position)


def _check_unknown(op: OpDef, name: str, key: str, position: int) -> None:
    if "." in name or not op.attrs:
        return
    hint = nearest(name, [attr.name for attr in op.attrs])
    # ONNX ops keep attributes that their schema does not name, unless it looks like a slip.
    if op.dialect != "onnx" or (hint and hint.startswith("did you mean")):
        shown = op.display_name or op.name
        raise Problem(f"{shown} has no attribute {name}", position, hint, len(key))
