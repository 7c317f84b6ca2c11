"""Constants, fills, and one_hot."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from ...ir.verifier import reject
from .common import ALL_TYPES, INS, TENSOR, check_rank, check_shape_tensor, elements_type, example, result_type

__all__ = ["OPS"]


def _infer_constant(op: Op) -> list[ir.Type]:
    kind = elements_type(op, "weights")
    return [kind] if kind is not None else reject(op, "needs the attribute weights (elements)")


def _verify_fill(op: Op, first: str, second: str) -> ir.RankedTensorType:
    """What linspace and the random ops share: two parameters of one form, and a shape where it is needed."""
    kind = result_type(op)
    check_shape_tensor(op, "shape", kind.rank)
    if not shapes.is_static(kind.shape) and op.operand("shape") is None:
        reject(op, f"result is {kind}; a dynamic result needs the operand shape")
    dynamic = [op.operand(name) is not None for name in (first, second)]
    if dynamic[0] != dynamic[1]:
        reject(op, f"{first} and {second} must both be operands, or neither")
    for name in (first, second):
        if dynamic[0] and op.raw(f"static_{name}") is not None:
            reject(op, f"{name} is given both as an operand and as static_{name}")
        if dynamic[0] and not shapes.same_element(op.type(name), kind):
            reject(op, f"{name} is {op.type(name)}; its element type must be that of the result, {kind}")
    check_rank(op, first, 0)
    return kind


def _verify_linspace(op: Op) -> None:
    kind = _verify_fill(op, "start", "step")
    if op.operand("start") is None:
        for name in ("static_start", "static_step"):
            if op.raw(name) is None:
                reject(op, f"needs {name}, or both operands start and step")
        if kind.rank > 1:
            reject(op, f"result is {kind}; a rank above 1 needs the operand step, with a value per dimension")
        return
    step = op.type("step")
    if step.rank > 1 or (step.rank == 1 and step.shape[0] not in (kind.rank, shapes.DYNAMIC)):
        reject(op, f"step is {step}; it must hold one value per dimension of the result, {kind}")
    if kind.rank > 1 and step.rank == 0:
        reject(op, f"step is {step}; the result, {kind}, needs one value per dimension")


def _infer_one_hot(op: Op) -> list[ir.Type]:
    shape, axis = op.type("indices").shape, op.attr("axis")
    place = shapes.axis_of(axis, len(shape) + 1)
    if place is None:
        reject(
            op, f"axis = {axis} is not from {-len(shape) - 1} to {len(shape)}, for indices {op.type('indices')}"
        )
    shape.insert(place, shapes.DYNAMIC)
    return [shapes.tensor(shape, op.type("values").element_type)]


def _verify_one_hot(op: Op) -> None:
    check_rank(op, "depth", 0)
    if not shapes.compatible(op.type("values").shape, [2]):
        reject(op, f"values is {op.type('values')}; it must hold two values, off and on")


_LINSPACE = (
    "attr-dict `[` ($start^ `:` type($start)) : ($static_start)? `]` "
    "`[` ($shape^ `:` type($shape)) : (`static`)? `]` "
    "`[` ($step^ `:` type($step)) : ($static_step)? `]` `:` type($result)"
)


def _random(mnemonic: str, first: str, second: str, summary: str, defaults: tuple[float, float]) -> OpDef:
    """random_uniform and random_normal differ only in the names of their two parameters."""

    def verify(op: Op) -> None:
        _verify_fill(op, first, second)
        check_rank(op, second, 0)

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
        verify=verify,
        layer="addFill",
        example=example(
            "",
            f"%0 = tensorrt.{mnemonic} {{static_{first} = 0.0 : f64, static_{second} = 1.0 : f64}} -> "
            f"tensor<2x3xf32>",
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
        infer=_infer_constant,
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
        verify=_verify_linspace,
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
        infer=_infer_one_hot,
        verify=_verify_one_hot,
        layer="addOneHot",
        example=example(
            "%i: tensor<4xi32>, %v: tensor<2xf32>, %d: tensor<i32>",
            "%0 = tensorrt.one_hot {axis = -1 : si64} ins(%i, %v, %d : tensor<4xi32>, tensor<2xf32>, "
            "tensor<i32>) "
            "-> tensor<4x?xf32>",
            "%0 : tensor<4x?xf32>",
        ),
    ),
)
