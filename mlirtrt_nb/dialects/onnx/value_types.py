"""MLIR types as ONNX TypeProtos, and a function's arguments and results as ONNX inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onnx import TensorProto, TypeProto, ValueInfoProto
from torch_mlir import ir

from ...ir import dtypes

__all__ = ["Port", "element_number", "ports", "type_proto", "value_info"]


@dataclass(frozen=True)
class Port:
    """One argument or result of a function: its name, its MLIR type, and names of dynamic dimensions."""

    name: str
    type: ir.Type
    dimension_names: Mapping[int, str] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """One entry per dimension, -1 where it varies. Raises ValueError for what is not a ranked tensor."""
        ranked = ir.RankedTensorType(self.type)
        return tuple(-1 if ranked.is_dynamic_dim(n) else ranked.get_dim_size(n) for n in range(ranked.rank))

    @property
    def dtype(self) -> str:
        """The MLIR spelling of the element type. Raises ValueError for what is not a tensor."""
        return str(ir.ShapedType(self.type).element_type)


def ports(function: ir.Operation) -> tuple[list[Port], list[Port]]:
    """Arguments and results of a func.func, named by `plan.name` or else arg0.., result0.."""
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return (
        _side(function, "arg_attrs", "arg", list(kind.inputs)),
        _side(function, "res_attrs", "result", list(kind.results)),
    )


def _side(function: ir.Operation, key: str, prefix: str, types: list[ir.Type]) -> list[Port]:
    listed = list(ir.ArrayAttr(function.attributes[key])) if key in function.attributes else [None] * len(types)
    made = []
    for n, (kind, attributes) in enumerate(zip(types, listed, strict=True)):
        name, dims = f"{prefix}{n}", {}
        if attributes is not None:
            given = ir.DictAttr(attributes)
            if "plan.name" in given:
                name = ir.StringAttr(given["plan.name"]).value
            if "tensorrt.dimension_names" in given:
                names = ir.DictAttr(given["tensorrt.dimension_names"])
                dims = {int(entry.name): ir.StringAttr(entry.attr).value for entry in names}
        made.append(Port(name, kind, dims))
    return made


def value_info(
    name: str, kind: ir.Type, dims: Mapping[int, str] | None = None, *, shape: bool = True
) -> ValueInfoProto:
    """A ValueInfoProto; without `shape` it says the element type alone."""
    return ValueInfoProto(name=name, type=type_proto(kind, dims or {}, shape=shape))


def type_proto(kind: ir.Type, dims: Mapping[int, str] | None = None, *, shape: bool = True) -> TypeProto:
    """The TypeProto of a tensor, sequence, optional or map type. Raises KeyError for any other."""
    proto = TypeProto()
    if isinstance(kind, ir.RankedTensorType | ir.UnrankedTensorType):
        proto.tensor_type.elem_type = element_number(kind.element_type)
        if shape and isinstance(kind, ir.RankedTensorType):
            _fill_shape(proto, kind, dims or {})
        return proto
    name, params = _dynamic(kind)
    if name == "onnx.seq":
        proto.sequence_type.elem_type.CopyFrom(type_proto(params[0], shape=shape))
    elif name == "onnx.opt":
        proto.optional_type.elem_type.CopyFrom(type_proto(params[0], shape=shape))
    elif name == "onnx.map":
        proto.map_type.key_type = element_number(params[0])
        proto.map_type.value_type.CopyFrom(type_proto(params[1], shape=shape))
    else:
        raise KeyError(f"{kind} has no ONNX type")
    return proto


def element_number(element: ir.Type) -> int:
    """The TensorProto.DataType of an element type."""
    spelling = str(element)
    return TensorProto.STRING if spelling == "!onnx.string" else dtypes.by_mlir(spelling).onnx


def _fill_shape(proto: TypeProto, kind: ir.RankedTensorType, dims: Mapping[int, str]) -> None:
    proto.tensor_type.shape.SetInParent()
    for n in range(kind.rank):
        dim = proto.tensor_type.shape.dim.add()
        if not kind.is_dynamic_dim(n):
            dim.dim_value = kind.get_dim_size(n)
        elif n in dims:
            dim.dim_param = dims[n]


def _dynamic(kind: ir.Type) -> tuple[str, list[ir.Type]]:
    if not isinstance(kind, ir.DynamicType):
        try:
            kind = ir.DynamicType(kind)
        except ValueError:
            return "", []
    return kind.type_name, [ir.TypeAttr(p).value for p in kind.params]
