"""ONNX's types to MLIR's: builtin tensors, and the onnx dialect's types for strings and sequences."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorProto, TypeProto
from torch_mlir import ir

from ...ir import dtypes

__all__ = ["TypeTable"]


class TypeTable:
    """Makes types in the current context, each once."""

    def __init__(self) -> None:
        self._protos: dict[bytes, ir.Type] = {}
        self._elements: dict[int, ir.Type] = {}
        self._tensors: dict[tuple[int, tuple[int, ...] | None], ir.Type] = {}
        self._dynamic = ir.ShapedType.get_dynamic_size()
        self._unknown = ir.Location.unknown()
        self.none = ir.NoneType.get()
        self.any = ir.UnrankedTensorType.get(ir.Type.parse("!onnx.any"))

    def of(self, proto: TypeProto | None) -> ir.Type:
        """The MLIR type; `tensor<*x!onnx.any>` where `proto` says nothing."""
        if proto is None:
            return self.any
        key = proto.SerializeToString()  # cheaper than reading the dimensions
        found = self._protos.get(key)
        if found is None:
            found = self._protos[key] = self._make(proto)
        return found

    def _make(self, proto: TypeProto) -> ir.Type:
        kind = proto.WhichOneof("value")
        if kind == "tensor_type":
            return self._of_tensor(proto.tensor_type)
        if kind == "sequence_type":
            return ir.Type.parse(f"!onnx.seq<{self.of(proto.sequence_type.elem_type)}>")
        if kind == "optional_type":
            return ir.Type.parse(f"!onnx.opt<{self.of(proto.optional_type.elem_type)}>")
        if kind == "map_type":
            key = self.element(proto.map_type.key_type)
            return ir.Type.parse(f"!onnx.map<{key}, {self.of(proto.map_type.value_type)}>")
        return self.any

    def _of_tensor(self, proto: TypeProto.Tensor) -> ir.Type:
        if not proto.HasField("shape"):
            return self.tensor(proto.elem_type, None)
        return self.tensor(
            proto.elem_type,
            [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else -1 for d in proto.shape.dim],
        )

    def tensor(self, element: int, shape: Sequence[int] | None) -> ir.Type:
        """The tensor of an ONNX element type number; a dimension of -1 is dynamic, shape None unranked."""
        key = (element, None if shape is None else tuple(shape))
        found = self._tensors.get(key)
        if found is None:
            kind = self.element(element)
            if shape is None:
                found = ir.UnrankedTensorType.get(kind)
            else:
                dims = [self._dynamic if d < 0 else d for d in shape]
                found = ir.RankedTensorType.get(dims, kind, loc=self._unknown)
            self._tensors[key] = found
        return found

    def element(self, number: int) -> ir.Type:
        """The element type of an ONNX number; `!onnx.any` for one that is undefined or unknown."""
        found = self._elements.get(number)
        if found is None:
            if number == TensorProto.STRING:
                found = ir.Type.parse("!onnx.string")
            else:
                try:
                    found = ir.Type.parse(dtypes.by_onnx(number).mlir)
                except KeyError:
                    found = ir.Type.parse("!onnx.any")
            self._elements[number] = found
        return found
