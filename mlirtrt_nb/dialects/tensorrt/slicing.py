"""Slices, broadcasts, concatenation and reversal."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand
from ...ir.verifier import reject
from .common import (
    INS,
    MOVED,
    TENSOR,
    check_rank,
    check_same_element,
    check_shape_tensor,
    example,
    result_type,
    same_as,
)

__all__ = ["OPS"]

_PARTS = ("start", "size", "stride")


def _infer_slice(op: Op) -> list[ir.Type]:
    kind = op.type("input")
    size = op.attr("static_size") or ([shapes.DYNAMIC] * kind.rank)
    return [shapes.tensor(size, kind.element_type)]


def _verify_slice(op: Op) -> None:
    kind, mode = op.type("input"), op.attr("mode")
    for name in _PARTS:
        static = op.attr(f"static_{name}")
        if (static is None) == (op.operand(name) is None):
            reject(op, f"exactly one of {name} and static_{name} must be given")
        if static is not None and len(static) != kind.rank:
            reject(op, f"static_{name} = {static} must have {kind.rank} values, one per dimension of {kind}")
        check_shape_tensor(op, name, kind.rank)
    if any(d < 0 for d in op.attr("static_size") or ()):
        reject(op, f"static_size = {op.attr('static_size')} must not be negative")
    if mode == "kDEFAULT":
        _verify_bounds(op, kind)
    if op.operand("fill") is not None and mode != "kFILL":
        reject(op, f"fill belongs to mode kFILL; mode is {mode}")
    check_rank(op, "fill", 0)
    check_same_element(op, "input", "fill")


def _verify_bounds(op: Op, kind: ir.RankedTensorType) -> None:
    """What is taken must lie inside the input, as far as the numbers are known."""
    parts = [op.attr(f"static_{name}") or [None] * kind.rank for name in _PARTS]
    for axis, (length, start, size, stride) in enumerate(zip(kind.shape, *parts, strict=True)):
        if size == 0 or start is None:
            continue
        known = size is not None and stride is not None
        for place in (start, start + (size - 1) * stride) if known else (start,):
            # A slice of unknown size may be empty, and then begin at the end.
            if place < 0 or (length != shapes.DYNAMIC and place >= length + (size is None)):
                reject(
                    op,
                    f"reads element {place} of dimension {axis}, which is outside of {kind}; only the modes "
                    "kWRAP, kCLAMP, kFILL and kREFLECT do that",
                )


def _infer_broadcast(op: Op) -> list[ir.Type] | None:
    if op.operand("shape") is None:
        return None
    rank = op.type("shape").shape[0]
    return [shapes.tensor([shapes.DYNAMIC] * rank, op.type("input").element_type)]


def _verify_broadcast(op: Op) -> None:
    source, places = op.type("input"), op.attr("broadcast_dims")
    target = result_type(op)
    if not shapes.same_element(source, target):
        reject(op, f"input is {source} and result is {target}; element types must be equal")
    if (
        len(places) != source.rank
        or len(set(places)) != len(places)
        or any(not 0 <= p < target.rank for p in places)
    ):
        reject(
            op,
            f"broadcast_dims = {places} must hold a different dimension of the result, {target}, for each "
            f"dimension of the input, {source}",
        )
    for dim, place in zip(source.shape, places, strict=True):
        if dim != 1 and not shapes.compatible([dim], [target.shape[place]]):
            reject(op, f"broadcast_dims = {places}: dimension {place} of {target} cannot come from {source}")
    check_shape_tensor(op, "shape", target.rank)
    if op.operand("shape") is None and not shapes.is_static(target.shape):
        reject(op, f"result is {target}; a dynamic result needs the operand shape")


def _infer_concatenation(op: Op) -> list[ir.Type]:
    kinds = [ir.RankedTensorType(value.type) for value in op.group("inputs")]
    if not kinds:
        reject(op, "needs at least one input")
    axis, rank = op.attr("axis"), kinds[0].rank
    if not 0 <= axis < rank:
        reject(op, f"axis = {axis} is not a dimension of {kinds[0]}")
    joined, total = kinds[0].shape, 0
    for kind in kinds:
        shape = kind.shape
        length = shape[axis : axis + 1]
        merged = shapes.broadcast(joined[:axis] + joined[axis + 1 :], shape[:axis] + shape[axis + 1 :])
        if kind.rank != rank or merged is None or not _equal_but(axis, joined, shape):
            reject(op, f"inputs {kinds[0]} and {kind} may differ only along axis {axis}")
        joined = [*merged[:axis], 0, *merged[axis:]]
        total = shapes.DYNAMIC if shapes.DYNAMIC in (total, *length) else total + length[0]
    joined[axis] = total
    return [shapes.tensor(joined, kinds[0].element_type)]


def _equal_but(axis: int, a: list[int], b: list[int]) -> bool:
    return all(i == axis or shapes.compatible([x], [y]) for i, (x, y) in enumerate(zip(a, b, strict=True)))


def _verify_concatenation(op: Op) -> None:
    elements = {ir.RankedTensorType(value.type).element_type for value in op.group("inputs")}
    if len(elements) > 1:
        reject(
            op, f"inputs are {', '.join(str(v.type) for v in op.group('inputs'))}; element types must be equal"
        )


def _verify_reverse_sequence(op: Op) -> None:
    kind, lengths = op.type("input"), op.type("sequenceLens")
    batch, sequence = op.attr("batchAxis"), op.attr("sequenceAxis")
    for name, axis in (("batchAxis", batch), ("sequenceAxis", sequence)):
        if not 0 <= axis < kind.rank:
            reject(op, f"{name} = {axis} is not a dimension of {kind}")
    if batch == sequence:
        reject(op, f"batchAxis and sequenceAxis are both {batch}; they must differ")
    if not shapes.compatible(lengths.shape, [kind.shape[batch]]):
        reject(op, f"sequenceLens is {lengths}; it must hold a length for each of dimension {batch} of {kind}")


def _index_list(name: str) -> str:
    """Between brackets: a tensor, or the numbers themselves."""
    return f"`[` (${name}^ `` `:` type(${name})) : (`` custom<StaticIndexI32Array>($static_{name}))? `]`"


OPS = (
    OpDef(
        "tensorrt.slice",
        "A strided part of a tensor; a start, a size and a stride per dimension.",
        operands=(
            Operand("input", MOVED),
            Operand("fill", TENSOR, optional=True, doc="Rank 0; what kFILL puts outside the input."),
            Operand("start", "i32 i64", optional=True, doc="One value per dimension."),
            Operand("size", "i32 i64", optional=True, doc="One value per dimension."),
            Operand("stride", "i32 i64", optional=True, doc="One value per dimension."),
        ),
        attrs=(
            Attr("static_start", "array<i32>", optional=True, doc="In place of start."),
            Attr("static_size", "array<i32>", optional=True, doc="In place of size."),
            Attr("static_stride", "array<i32>", optional=True, doc="In place of stride."),
            Attr("mode", "enum:slice_mode", default="kDEFAULT", doc="What stands outside the input."),
        ),
        assembly=f"$input {_index_list('start')} `` {_index_list('size')} `` {_index_list('stride')} "
        "(`fill` `(` $fill^ `:` type($fill) `)`)? attr-dict `:` type($input) `to` type($result)",
        infer=_infer_slice,
        verify=_verify_slice,
        layer="addSlice",
        example=example(
            "%x: tensor<?x8xf32>",
            "%0 = tensorrt.slice %x[0, 0][2, 4][1, 2] : tensor<?x8xf32> to tensor<2x4xf32>",
            "%0 : tensor<2x4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.broadcast",
        "Repeats unit dimensions and adds dimensions.",
        operands=(
            Operand("input", f"{TENSOR} ui8"),
            Operand("shape", "i32 i64", optional=True, doc="The result's shape, where it is dynamic."),
        ),
        attrs=(Attr("broadcast_dims", "array<i64>", doc="The result dimension of each input dimension."),),
        assembly="$input `broadcast_dims` `<` custom<StaticIndexI64Array>($broadcast_dims) `>` "
        "(`shape` `(` $shape^ `:` type($shape) `)`)? attr-dict `:` type($input) `to` type($result)",
        infer=_infer_broadcast,
        verify=_verify_broadcast,
        example=example(
            "%x: tensor<8xf32>",
            "%0 = tensorrt.broadcast %x broadcast_dims<1> : tensor<8xf32> to tensor<4x8xf32>",
            "%0 : tensor<4x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.concatenation",
        "Joins tensors along an axis.",
        operands=(Operand("inputs", MOVED, variadic=True, doc="Of one element type."),),
        attrs=(Attr("axis", "i32", doc="The axis."),),
        assembly=INS,
        infer=_infer_concatenation,
        verify=_verify_concatenation,
        layer="addConcatenation",
        example=example(
            "%x: tensor<2x3xf32>, %y: tensor<2x5xf32>",
            "%0 = tensorrt.concatenation {axis = 1 : i32} ins(%x, %y : tensor<2x3xf32>, tensor<2x5xf32>) "
            "-> tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.reverse_sequence",
        "Reverses the beginning of each sequence of a batch.",
        operands=(
            Operand("input", TENSOR),
            Operand("sequenceLens", "i32 i64", doc="How many elements of each sequence are reversed."),
        ),
        attrs=(
            Attr("batchAxis", "i64", default=1, doc="The batch dimension."),
            Attr("sequenceAxis", "i64", default=0, doc="The dimension that is reversed."),
        ),
        assembly=INS,
        infer=same_as("input"),
        verify=_verify_reverse_sequence,
        layer="addReverseSequence",
        example=example(
            "%x: tensor<4x2xf32>, %l: tensor<2xi64>",
            "%0 = tensorrt.reverse_sequence ins(%x, %l : tensor<4x2xf32>, tensor<2xi64>) -> tensor<4x2xf32>",
            "%0 : tensor<4x2xf32>",
        ),
    ),
)
