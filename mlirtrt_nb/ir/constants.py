"""Constants and weights: between NumPy arrays and MLIR attributes, without copying or printing weights.

Small arrays become `dense<...>`. A larger one becomes a bare handle, `dense_resource<name>`, and its array
stays in the program's weight table under that name: MLIR never holds, copies or prints the bytes.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

import numpy as np
from torch_mlir import ir

from . import dtypes

__all__ = [
    "INLINE_ELEMENTS",
    "array_type",
    "attribute_of",
    "escaped",
    "forget_unnamed",
    "handle_name",
    "handles_in",
    "strings_of",
    "unescaped",
    "value_of",
]

# At most this many elements stand in the IR itself; NVIDIA's own dumps elide at a similar size.
INLINE_ELEMENTS = 16

_HANDLE = re.compile(r'dense_resource<(?:"((?:[^"\\]|\\.)*)"|([^>"]+))>')


def array_type(array: np.ndarray) -> ir.RankedTensorType:
    """The tensor type of `array`, in the current context."""
    element = ir.Type.parse(dtypes.by_numpy(array.dtype).mlir)
    return ir.RankedTensorType.get(list(array.shape), element, loc=ir.Location.unknown())


def attribute_of(
    array: np.ndarray,
    weights: MutableMapping[str, np.ndarray],
    name: str = "w",
    *,
    inline: int = INLINE_ELEMENTS,
) -> ir.Attribute:
    """An ElementsAttr for `array`. A large array is put in `weights` under `name`, made unique."""
    kind = array_type(array)
    if array.size <= inline and array.dtype.kind in "fiub":
        return _dense(array, kind)
    # Parsed, not built from a buffer: a handle alone costs nothing and has nothing to keep alive.
    attribute = ir.Attribute.parse(f'dense_resource<"{escaped(_unique(name, weights))}"> : {kind}')
    # MLIR renames a handle whose name its context has seen before, as in another clone of the program.
    weights[handle_name(attribute) or name] = array
    return attribute


def _unique(name: str, weights: MutableMapping[str, np.ndarray]) -> str:
    if name not in weights:
        return name
    n = 1
    while f"{name}_{n}" in weights:
        n += 1
    return f"{name}_{n}"


def _dense(array: np.ndarray, kind: ir.RankedTensorType) -> ir.Attribute:
    # A C-ordered copy of at most INLINE_ELEMENTS values; booleans pack differently in MLIR's buffer form.
    if array.dtype == np.bool_:
        values = [ir.BoolAttr.get(bool(v)) for v in array.reshape(-1)]
        return ir.DenseElementsAttr.get(values, kind) if values else ir.Attribute.parse(f"dense<> : {kind}")
    flat = np.ascontiguousarray(array)
    return ir.DenseElementsAttr.get(flat, type=kind.element_type, shape=list(array.shape))


def handle_name(attribute: ir.Attribute) -> str | None:
    """The weight name of a `dense_resource` attribute; None for any other."""
    if isinstance(attribute, ir.DenseElementsAttr):
        return None
    match = _HANDLE.match(str(attribute))
    if match is None:
        return None
    quoted, bare = match.groups()
    return bare if quoted is None else unescaped(quoted)


def escaped(text: str) -> str:
    """`text` as MLIR prints it between quotes: backslashes, quotes and control characters as hexadecimal."""
    return re.sub(r'[\\"\x00-\x1f\x7f]', lambda match: f"\\{ord(match.group()):02X}", text)


def unescaped(text: str) -> str:
    """The string that MLIR prints as `text`: a backslash, or any byte as two hexadecimal digits, is escaped."""
    raw = re.sub(rb"\\([0-9A-Fa-f]{2}|.)", _byte, text.encode())
    return raw.decode("utf-8", "surrogateescape")


def _byte(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    return bytes.fromhex(code.decode()) if len(code) == 2 else code


def handles_in(operation: ir.Operation) -> set[str]:
    """The weight names that `operation` and the ops nested in it mention."""
    names: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        for key in op.attributes:
            attribute = op.attributes[key]
            if type(attribute) is ir.Attribute:  # the bindings give handles no class of their own
                name = handle_name(attribute)
                if name is not None:
                    names.add(name)
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return names


def forget_unnamed(module: ir.Operation, weights: MutableMapping[str, np.ndarray]) -> None:
    """Drop the weights that no op of `module` names any more, such as those that others were made from."""
    named = handles_in(module)
    for name in [name for name in weights if name not in named]:
        del weights[name]


def value_of(attribute: ir.Attribute, weights: MutableMapping[str, np.ndarray]) -> np.ndarray:
    """The array of an ElementsAttr; a handle gives the table's own array, uncopied.

    Raises KeyError if a handle's name is not in `weights`.
    """
    name = handle_name(attribute)
    if name is not None:
        return weights[name]
    shaped = ir.RankedTensorType(attribute.type)  # type: ignore[attr-defined]
    kind = dtypes.by_mlir(shaped.element_type)
    if kind.np.kind in "fiub":
        return np.array(attribute)
    return _exotic(attribute, shaped, kind.np)


def strings_of(attribute: ir.ArrayAttr, kind: ir.Type) -> np.ndarray:
    """The array of a constant of strings, which is an array of string attributes; `kind` has its shape."""
    texts = np.array([ir.StringAttr(item).value for item in attribute], dtype=object)
    return texts.reshape(ir.RankedTensorType(kind).shape)


def _exotic(attribute: ir.Attribute, shaped: ir.RankedTensorType, dtype: np.dtype) -> np.ndarray:
    """Types that MLIR's bindings have no buffer or number for (bf16, f8, i4): read from the text."""
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        text = str(attribute.get_splat_value()).partition(" : ")[0]
        return np.full(shaped.shape, _number(text, dtype), dtype)
    text = str(attribute)
    body = text[text.index("<") + 1 : text.rindex("> :")]
    if body.startswith('"0x'):  # how MLIR prints longer ones: the bytes themselves
        return np.frombuffer(bytes.fromhex(body[3:-1]), dtype).reshape(shaped.shape)
    values = [_number(token, dtype) for token in re.findall(r"[-+.\w]+", body)]
    return np.array(values, dtype).reshape(shaped.shape)


def _number(token: str, dtype: np.dtype) -> Any:
    """A number as MLIR prints it; `0x` gives a float's bits (infinities and NaN)."""
    if token.startswith("0x"):
        return np.array(int(token, 16), f"u{dtype.itemsize}").view(dtype)[()]
    return np.array(float(token)).astype(dtype)[()]
