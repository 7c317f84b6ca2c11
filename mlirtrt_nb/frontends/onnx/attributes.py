"""AttributeProtos to MLIR attributes, and a Constant node's attributes to its array."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import AttributeProto, NodeProto
from torch_mlir import ir

from ...errors import InvalidModelError
from .nodes import describe
from .types import TypeTable
from .weights import TensorReader

__all__ = ["AttributeMaker", "constant_array", "plain_value"]

_A = AttributeProto
_PLAIN_FIELDS = {
    _A.INT: "i",
    _A.INTS: "ints",
    _A.FLOAT: "f",
    _A.FLOATS: "floats",
    _A.STRING: "s",
    _A.STRINGS: "strings",
}


def plain_value(attribute: AttributeProto) -> Any:
    """The Python value of a number, string (as bytes), or tuple of them; None for any other attribute."""
    field = _PLAIN_FIELDS.get(attribute.type)
    if field is None:
        return None
    value = getattr(attribute, field)
    return tuple(value) if field.endswith("s") and field != "s" else value


class AttributeMaker:
    """Makes attributes in the current context; equal small ones are made once."""

    def __init__(self, types: TypeTable, reader: TensorReader) -> None:
        self._types = types
        self._reader = reader
        self._cache: dict[tuple[int, Any], ir.Attribute] = {}
        self._i64 = ir.IntegerType.get_signless(64)
        self._f32 = ir.F32Type.get()

    def of_value(self, kind: int, value: Any) -> ir.Attribute:
        """The attribute of a Python value of an AttributeProto type (INT, INTS, FLOAT, ...)."""
        # repr tells 0.0 from -0.0 and keeps NaN equal to itself.
        key = (kind, repr(value) if kind in (_A.FLOAT, _A.FLOATS) else value)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._make(kind, value)
        return found

    def _make(self, kind: int, value: Any) -> ir.Attribute:
        if kind == _A.INT:
            return ir.IntegerAttr.get(self._i64, value)
        if kind == _A.INTS:
            return ir.DenseI64ArrayAttr.get(list(value))
        if kind == _A.FLOAT:
            return ir.FloatAttr.get(self._f32, value)
        if kind == _A.FLOATS:
            return ir.DenseF32ArrayAttr.get(list(value))
        if kind == _A.STRING:
            return ir.StringAttr.get(value)
        return ir.ArrayAttr.get([ir.StringAttr.get(item) for item in value])

    def type(self, attribute: AttributeProto) -> ir.Attribute:
        """The TypeAttr of a TYPE_PROTO attribute."""
        return ir.TypeAttr.get(self._types.of(attribute.tp))

    def strings(self, array: np.ndarray) -> ir.Attribute:
        """The value of a constant of strings: an array of its elements in row-major order."""
        items = [s if isinstance(s, bytes) else str(s).encode() for s in array.reshape(-1)]
        return ir.ArrayAttr.get([ir.StringAttr.get(item) for item in items])

    def string_tensor(self, array: np.ndarray) -> ir.Attribute:
        """An attribute that is a tensor of strings: a dictionary of its shape and elements."""
        shape = ir.DenseI64ArrayAttr.get(list(array.shape))
        return ir.DictAttr.get({"shape": shape, "strings": self.strings(array)})


def constant_array(node: NodeProto, reader: TensorReader) -> np.ndarray:
    """The value of a Constant node, whichever attribute holds it."""
    for attribute in node.attribute:
        if attribute.name == "value" and attribute.type == _A.TENSOR:
            return reader.array(attribute.t)
        if attribute.name == "sparse_value" and attribute.type == _A.SPARSE_TENSOR:
            return reader.dense(attribute.sparse_tensor)
        if attribute.name == "value_float":
            return np.array(attribute.f, np.float32)
        if attribute.name == "value_floats":
            return np.array(attribute.floats, np.float32)
        if attribute.name == "value_int":
            return np.array(attribute.i, np.int64)
        if attribute.name == "value_ints":
            return np.array(attribute.ints, np.int64)
        if attribute.name == "value_string":
            return np.array(attribute.s, np.object_)
        if attribute.name == "value_strings":
            return np.array(list(attribute.strings), np.object_)
    raise InvalidModelError("a Constant holds no value", where=describe(node))
