"""Reductions, sorting and scans along an axis."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from ...ir.verifier import reject
from .common import INS_ONE, TENSOR, check_axes, check_rank, example, front_axis, same_as

__all__ = ["OPS"]

_LARGEST_K = 3840


def _infer_reduce(op: Op) -> list[ir.Type]:
    kind = op.type("input")
    axes = set(op.attr("reduceAxes"))
    if op.attr("keepDimensions"):
        shape = [1 if i in axes else d for i, d in enumerate(kind.shape)]
    else:
        shape = [d for i, d in enumerate(kind.shape) if i not in axes]
    return [shapes.tensor(shape, kind.element_type)]


def _verify_reduce(op: Op) -> None:
    if op.attr("reduceAxes"):
        check_axes(op, "reduceAxes", op.type("input").rank)


def _pair(op: Op, length: int) -> list[ir.Type]:
    """Values and indices, with `length` along the axis."""
    kind = op.type("input")
    shape = kind.shape
    shape[front_axis(op, kind.rank)] = length
    index = ir.IntegerType.get_signless(32, kind.context)
    return [shapes.tensor(shape, kind.element_type), shapes.tensor(shape, index)]


def _infer_top_k(op: Op) -> list[ir.Type]:
    k = op.attr("k")
    return _pair(op, shapes.DYNAMIC if k is None else k)


def _verify_top_k(op: Op) -> None:
    k, kind = op.attr("k"), op.type("input")
    if (k is None) == (op.operand("dynamicK") is None):
        reject(op, "exactly one of the attribute k and the operand dynamicK must be given")
    check_rank(op, "dynamicK", 0)
    axis = front_axis(op, kind.rank)
    if k is None:
        return
    length = kind.shape[axis]
    if not 0 < k <= _LARGEST_K:
        reject(op, f"k = {k} must be from 1 to {_LARGEST_K}")
    if length != shapes.DYNAMIC and k > length:
        reject(op, f"k = {k} is more than the {length} elements along axis {axis} of {kind}")


def _infer_arg(op: Op) -> list[ir.Type]:
    return _pair(op, 1)


def _infer_non_zero(op: Op) -> list[ir.Type]:
    kind = op.type("input")
    return [shapes.tensor([kind.rank, shapes.DYNAMIC], ir.IntegerType.get_signless(32, kind.context))]


def _verify_axis(op: Op) -> None:
    front_axis(op, op.type("input").rank)


_SORTABLE = "i32 i64 f16 bf16 f32"
_PAIR = (ResultDef("values", _SORTABLE), ResultDef("indices", "i32 i64"))


def _arg(which: str, word: str) -> OpDef:
    return OpDef(
        f"tensorrt.arg{which}",
        f"The {word} value along an axis and where it is; the axis stays, with length 1.",
        operands=(Operand("input", _SORTABLE),),
        attrs=(Attr("axis", "i64", doc="The axis."),),
        results=_PAIR,
        assembly=INS_ONE,
        infer=_infer_arg,
        verify=_verify_axis,
        example=example(
            "%x: tensor<2x8xf32>",
            f"%v, %i = tensorrt.arg{which} {{axis = 1 : i64}} %x : tensor<2x8xf32> -> tensor<2x1xf32>, "
            f"tensor<2x1xi32>",
            "%v, %i : tensor<2x1xf32>, tensor<2x1xi32>",
        ),
    )


OPS = (
    OpDef(
        "tensorrt.reduce",
        "Reduces over some axes.",
        operands=(Operand("input", "i8 i32 i64 f16 bf16 f32"),),
        attrs=(
            Attr(
                "reduceAxes",
                "array<i64>",
                doc="Strictly increasing, not negative; over none, each element stays.",
            ),
            Attr("keepDimensions", "i1", default=False, doc="Whether reduced axes stay, with length 1."),
            Attr("reduceOperation", "enum:reduce_operation", doc="How."),
        ),
        assembly="$reduceOperation $input attr-dict `:` type($input) `->` type($result)",
        infer=_infer_reduce,
        verify=_verify_reduce,
        layer="addReduce",
        example=example(
            "%x: tensor<2x8xf32>",
            "%0 = tensorrt.reduce <kSUM> %x {keepDimensions = true, reduceAxes = array<i64: 1>} : "
            "tensor<2x8xf32> "
            "-> tensor<2x1xf32>",
            "%0 : tensor<2x1xf32>",
        ),
    ),
    OpDef(
        "tensorrt.top_k",
        "The k largest or smallest values along an axis, sorted, and where they are.",
        operands=(
            Operand("input", _SORTABLE),
            Operand("dynamicK", "i32 i64", optional=True, doc="Rank 0; in place of the attribute k."),
        ),
        attrs=(
            Attr("k", "i64", optional=True, doc="How many; at most 3840."),
            Attr("axis", "i64", doc="The axis; one of the last four."),
            Attr("topkOperation", "enum:top_k_operation", doc="Which end."),
        ),
        results=_PAIR,
        assembly="$topkOperation attr-dict $input (`k` `(` $dynamicK^ `:` type($dynamicK) `)`)? "
        "`:` type($input) `->` type(results)",
        infer=_infer_top_k,
        verify=_verify_top_k,
        layer="addTopK",
        example=example(
            "%x: tensor<2x8xf32>",
            "%v, %i = tensorrt.top_k <kMAX> {axis = 1 : i64, k = 3 : i64} %x : tensor<2x8xf32> "
            "-> tensor<2x3xf32>, tensor<2x3xi32>",
            "%v, %i : tensor<2x3xf32>, tensor<2x3xi32>",
        ),
    ),
    _arg("min", "smallest"),
    _arg("max", "largest"),
    OpDef(
        "tensorrt.non_zero",
        "Where the elements are that are not zero: one row per dimension, one column per element.",
        operands=(Operand("input", TENSOR),),
        results=(ResultDef("result", "i32 i64"),),
        assembly="attr-dict $input `:` type($input) `->` type($result)",
        infer=_infer_non_zero,
        layer="addNonZero",
        example=example(
            "%x: tensor<2x8xf32>",
            "%0 = tensorrt.non_zero %x : tensor<2x8xf32> -> tensor<2x?xi32>",
            "%0 : tensor<2x?xi32>",
        ),
    ),
    OpDef(
        "tensorrt.cumulative",
        "Running sums along an axis.",
        operands=(Operand("input", _SORTABLE),),
        attrs=(
            Attr("cumulativeOperation", "enum:cumulative_operation", doc="How."),
            Attr("axis", "i64", doc="The axis."),
            Attr("exclusive", "i1", default=False, doc="Whether an element's own value is left out."),
            Attr("reverse", "i1", default=False, doc="Whether it runs from the end."),
        ),
        assembly="$cumulativeOperation $input attr-dict `:` type($input)",
        infer=same_as("input"),
        verify=_verify_axis,
        layer="addCumulative",
        example=example(
            "%x: tensor<2x8xf32>",
            "%0 = tensorrt.cumulative <kSUM> %x {axis = 1 : i64} : tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
)
