"""Constants, fills, and one_hot."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from .common import ALL_TYPES, INS, TENSOR, example

__all__ = ["OPS"]

_LINSPACE = (
    "attr-dict `[` ($start^ `:` type($start)) : ($static_start)? `]` "
    "`[` ($shape^ `:` type($shape)) : (`static`)? `]` "
    "`[` ($step^ `:` type($step)) : ($static_step)? `]` `:` type($result)"
)


def _random(mnemonic: str, first: str, second: str, summary: str, defaults: tuple[float, float]) -> OpDef:
    """random_uniform and random_normal differ only in the names of their two parameters."""

    def group(name: str) -> str:
        return f"(`{name}` `(` ${name}^ `:` type(${name}) `)`)?"

    return OpDef(
        f"tensorrt.{mnemonic}",
        summary,
        operands=(
            Operand("shape", "i32 i64", optional=True, doc="The result's shape, where it is dynamic."),
            Operand(first, "f16 f32", optional=True, doc="Rank 0."),
            Operand(second, "f16 f32", optional=True, doc="Rank 0."),
        ),
        attrs=(
            Attr(f"static_{first}", "f64", optional=True, doc=f"{defaults[0]} where neither form is given."),
            Attr(f"static_{second}", "f64", optional=True, doc=f"{defaults[1]} where neither form is given."),
        ),
        results=(ResultDef("result", "f16 bf16 f32"),),
        assembly=f"attr-dict {group(first)} {group(second)} {group('shape')} `->` type($result)",
        # Not pure: two draws must not be merged into one.
        traits=frozenset(),
        layer="addFill",
        example=example(
            "",
            f"%0 = tensorrt.{mnemonic} {{static_{first} = 0.0 : f64, static_{second} = 1.0 : f64}} -> tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    )


OPS = (
    OpDef(
        "tensorrt.constant",
        "A constant tensor.",
        attrs=(Attr("weights", "elements", doc="The value; its type is the result's."),),
        results=(ResultDef("result", f"{ALL_TYPES} f4E2M1FN f8E8M0FNU ui8"),),
        assembly="attr-dict $weights",
        layer="addConstant",
        example=example(
            "",
            "%0 = tensorrt.constant dense<[1.0, 2.0]> : tensor<2xf32>",
            "%0 : tensor<2xf32>",
        ),
    ),
    OpDef(
        "tensorrt.linspace",
        "Evenly spaced values: start + index * step along each dimension.",
        operands=(
            Operand("shape", "i32 i64", optional=True, doc="The result's shape, where it is dynamic."),
            Operand("start", "i32 i64 f32", optional=True, doc="Rank 0."),
            Operand("step", "i32 i64 f32", optional=True, doc="One value per dimension of the result."),
        ),
        attrs=(
            Attr("static_start", "f64", optional=True, doc="In place of start."),
            Attr("static_step", "f64", optional=True, doc="In place of step; the result then has rank 1."),
        ),
        results=(ResultDef("result", "f16 f32 i32 i64"),),
        assembly=_LINSPACE,
        layer="addFill",
        example=example(
            "",
            "%0 = tensorrt.linspace [0.0] [static] [1.0] : tensor<8xf32>",
            "%0 : tensor<8xf32>",
        ),
    ),
    _random("random_uniform", "low", "high", "Random values, evenly distributed from low to high.", (0.0, 1.0)),
    _random("random_normal", "mean", "std", "Random values of a normal distribution.", (0.0, 1.0)),
    OpDef(
        "tensorrt.one_hot",
        "Inserts a dimension of length depth: on where the position equals the index, else off.",
        operands=(
            Operand("indices", "i32"),
            Operand("values", TENSOR, doc="The off and the on value."),
            Operand("depth", "i32", doc="Rank 0."),
        ),
        attrs=(Attr("axis", "si64", doc="Where the dimension goes; negative counts from the end."),),
        results=(ResultDef("result", TENSOR),),
        assembly=INS,
        layer="addOneHot",
        example=example(
            "%i: tensor<4xi32>, %v: tensor<2xf32>, %d: tensor<i32>",
            "%0 = tensorrt.one_hot {axis = -1 : si64} ins(%i, %v, %d : tensor<4xi32>, tensor<2xf32>, tensor<i32>) "
            "-> tensor<4x?xf32>",
            "%0 : tensor<4x?xf32>",
        ),
    ),
)
