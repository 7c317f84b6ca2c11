"""Ops that work element by element: activation, unary, element_wise, select, parametric_relu, scale, casts."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from ...ir.verifier import reject
from .common import FLOATS, INS, SAME, TENSOR, check_same_element, elements_type, example, result_type, same_as

__all__ = ["OPS"]

_WITHOUT_PARAMETERS = frozenset(["kRELU", "kSIGMOID", "kTANH", "kSOFTSIGN", "kGELU_ERF", "kGELU_TANH"])
_ALPHA_ONLY = frozenset(["kELU", "kLEAKY_RELU", "kTHRESHOLDED_RELU"])

# What TensorRT 11 builds, which is more than MLIR-TensorRT's tables for TensorRT 9 and 10 allow: bf16 in
# trigonometry, kEQUAL of i1, kPOW of i32 and i64, select of i8.
_SIGNED = frozenset(["i8", "i32", "i64", "f16", "bf16", "f32"])
_UNARY_TYPES = {
    **dict.fromkeys(["kABS", "kNEG", "kSIGN"], _SIGNED),
    "kNOT": frozenset(["i1"]),
}
_FLOATING = frozenset(FLOATS.split())
_LOGICAL = frozenset(["kAND", "kOR", "kXOR"])
_COMPARISONS = frozenset(["kEQUAL", "kGREATER", "kLESS"])


def _verify_activation(op: Op) -> None:
    kind = op.attr("activationType")
    needs = {
        "alpha": kind not in _WITHOUT_PARAMETERS,
        "beta": kind not in _WITHOUT_PARAMETERS | _ALPHA_ONLY,
    }
    for name, needed in needs.items():
        if needed != (op.raw(name) is not None):
            reject(op, f"activationType {kind} {'needs' if needed else 'takes no'} {name}")
    element = shapes.element_name(op.type("input").element_type)
    if element in ("i32", "i64") and kind != "kRELU":
        reject(op, f"activationType {kind} does not take {op.type('input')}; only kRELU takes {element}")


def _infer_unary(op: Op) -> list[ir.Type]:
    kind = op.type("input")
    if op.attr("unaryOperation") in ("kISINF", "kISNAN"):
        return [shapes.tensor(kind.shape, ir.IntegerType.get_signless(1, kind.context))]
    return [kind]


def _verify_unary(op: Op) -> None:
    operation = op.attr("unaryOperation")
    accepted = _UNARY_TYPES.get(operation, _FLOATING)
    if shapes.element_name(op.type("input").element_type) not in accepted:
        wanted = ", ".join(sorted(accepted))
        reject(op, f"unaryOperation {operation} does not take {op.type('input')}; it takes {wanted}")


def _broadcast(op: Op, *names: str) -> list[int]:
    kinds = [op.type(name) for name in names]
    shape = shapes.broadcast(*(kind.shape for kind in kinds))
    if shape is None:
        listed = " and ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
        reject(op, f"{listed} do not broadcast; ranks must be equal and dimensions equal or 1")
    return shape


def _infer_element_wise(op: Op) -> list[ir.Type]:
    first = op.type("input1")
    shape = _broadcast(op, "input1", "input2")
    if op.attr("elementwiseOperation") in _COMPARISONS:
        return [shapes.tensor(shape, ir.IntegerType.get_signless(1, first.context))]
    return [shapes.tensor(shape, first.element_type)]


def _verify_element_wise(op: Op) -> None:
    check_same_element(op, "input1", "input2")
    operation, kind = op.attr("elementwiseOperation"), op.type("input1")
    element = shapes.element_name(kind.element_type)
    if operation != "kEQUAL" and (operation in _LOGICAL) != (element == "i1"):
        wanted = "takes i1 only" if operation in _LOGICAL else "does not take i1"
        reject(op, f"elementwiseOperation {operation} {wanted}; input1 is {kind}")
    if operation == "kPOW" and element == "i8":
        reject(op, f"elementwiseOperation kPOW does not take {kind}")


def _infer_select(op: Op) -> list[ir.Type]:
    shape = _broadcast(op, "condition", "thenInput", "elseInput")
    return [shapes.tensor(shape, op.type("thenInput").element_type)]


def _verify_select(op: Op) -> None:
    check_same_element(op, "thenInput", "elseInput")


def _verify_parametric_relu(op: Op) -> None:
    check_same_element(op, "input", "slope")
    data, slope = op.type("input"), op.type("slope")
    fits = data.rank == slope.rank and all(
        s in (1, shapes.DYNAMIC, d) or d == shapes.DYNAMIC for d, s in zip(data.shape, slope.shape, strict=True)
    )
    if not fits:
        reject(op, f"slope is {slope}; each dimension must be 1 or that of the input, {data}")


def _verify_scale(op: Op) -> None:
    kind, mode, axis = op.type("input"), op.attr("mode"), op.attr("channelAxis")
    if kind.rank < 3:
        reject(op, f"input is {kind}; it must have rank 3 or more")
    if not 0 <= axis < kind.rank:
        reject(op, f"channelAxis = {axis} is not a dimension of {kind}")
    expected = {"kUNIFORM": 1, "kCHANNEL": kind.shape[axis], "kELEMENTWISE": shapes.volume(kind.shape)}[mode]
    for name in ("shift", "scale", "power"):
        weights = elements_type(op, name)
        if weights is None or expected in (None, shapes.DYNAMIC):
            continue
        if shapes.volume(weights.shape) != expected:
            reject(op, f"{name} is {weights}; mode {mode} needs {expected} values for {kind}")


def _verify_cast(op: Op) -> None:
    source, target = op.type("input"), result_type(op)
    if not shapes.compatible(source.shape, target.shape):
        reject(op, f"result is {target}; it must have the shape of input, {source}")


_CAST = "attr-dict $input `:` type($input) `to` type($result)"

OPS = (
    OpDef(
        "tensorrt.activation",
        "An activation function.",
        operands=(Operand("input", "i8 i32 i64 f16 bf16 f32"),),
        attrs=(
            Attr("activationType", "enum:activation_type", doc="The function."),
            Attr("alpha", "f32", optional=True, doc="First parameter, for the functions that have one."),
            Attr("beta", "f32", optional=True, doc="Second parameter, for the functions that have one."),
        ),
        assembly=SAME,
        infer=same_as("input"),
        verify=_verify_activation,
        layer="addActivation",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.activation {activationType = #tensorrt.activation_type<kLEAKY_RELU>, alpha = "
            "0.01 : f32} "
            "%x : tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.unary",
        "A function of one tensor. kISINF and kISNAN give i1.",
        operands=(Operand("input", TENSOR),),
        attrs=(Attr("unaryOperation", "enum:unary_operation", doc="The function."),),
        assembly=SAME,
        infer=_infer_unary,
        verify=_verify_unary,
        layer="addUnary",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kSQRT>} %x : tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.element_wise",
        "A function of two tensors of one rank, with broadcasting of unit dimensions.",
        operands=(Operand("input1", TENSOR), Operand("input2", TENSOR)),
        attrs=(Attr("elementwiseOperation", "enum:element_wise_operation", doc="The function."),),
        assembly="attr-dict $elementwiseOperation `(` operands `:` type(operands) `)` `->` type(results)",
        infer=_infer_element_wise,
        verify=_verify_element_wise,
        layer="addElementWise",
        example=example(
            "%x: tensor<2x3xf32>, %y: tensor<1x3xf32>",
            "%0 = tensorrt.element_wise <kSUM>(%x, %y : tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.select",
        "Takes each element from one of two tensors.",
        operands=(
            Operand("condition", "i1"),
            Operand("thenInput", TENSOR),
            Operand("elseInput", TENSOR),
        ),
        assembly=INS,
        infer=_infer_select,
        verify=_verify_select,
        layer="addSelect",
        example=example(
            "%c: tensor<2x3xi1>, %x: tensor<2x3xf32>, %y: tensor<1x1xf32>",
            "%0 = tensorrt.select ins(%c, %x, %y : tensor<2x3xi1>, tensor<2x3xf32>, tensor<1x1xf32>) "
            "-> tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.parametric_relu",
        "Multiplies negative elements by a slope.",
        operands=(
            Operand("input", "i8 f16 bf16 f32"),
            Operand("slope", "i8 f16 bf16 f32", doc="Broadcast to the input."),
        ),
        assembly=INS,
        infer=same_as("input"),
        verify=_verify_parametric_relu,
        layer="addParametricReLU",
        example=example(
            "%x: tensor<2x3xf32>, %s: tensor<1x3xf32>",
            "%0 = tensorrt.parametric_relu ins(%x, %s : tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.scale",
        "(input * scale + shift) ^ power, with constant coefficients.",
        operands=(Operand("input", FLOATS, doc="Rank 3 or more."),),
        attrs=(
            Attr("mode", "enum:scale_mode", doc="One coefficient in all, one per channel, or one per element."),
            Attr("channelAxis", "i64", default=1, doc="The channel dimension."),
            Attr("shift", "elements", optional=True, doc="0 where absent."),
            Attr("scale", "elements", optional=True, doc="1 where absent."),
            Attr("power", "elements", optional=True, doc="1 where absent."),
        ),
        assembly=SAME,
        infer=same_as("input"),
        verify=_verify_scale,
        layer="addScaleNd",
        example=example(
            "%x: tensor<1x3x4x4xf32>",
            "%0 = tensorrt.scale {mode = #tensorrt.scale_mode<kCHANNEL>, scale = dense<[1.0, 2.0, 3.0]> : "
            "tensor<3xf32>} %x : tensor<1x3x4x4xf32>",
            "%0 : tensor<1x3x4x4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.cast",
        "Converts to another element type.",
        operands=(Operand("input", f"{TENSOR} ui8"),),
        results=(ResultDef("result", f"{TENSOR} ui8"),),
        assembly=_CAST,
        verify=_verify_cast,
        layer="addCast",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.cast %x : tensor<2x3xf32> to tensor<2x3xi32>",
            "%0 : tensor<2x3xi32>",
        ),
    ),
    OpDef(
        "tensorrt.identity",
        "A copy, possibly to another element type.",
        operands=(Operand("input", "i1 ui8 i8 i32 f16 bf16 f32"),),
        results=(ResultDef("result", "i1 ui8 i8 i32 f16 bf16 f32"),),
        assembly=_CAST,
        verify=_verify_cast,
        layer="addIdentity",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.identity %x : tensor<2x3xf32> to tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
)
