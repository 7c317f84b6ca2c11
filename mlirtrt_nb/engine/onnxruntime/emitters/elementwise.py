"""activation, unary, element_wise, select, parametric_relu, scale, cast and identity."""

from __future__ import annotations

import numpy as np

from ....ir.builder import Op
from ....ir.constants import value_of
from ..scope import Constant, Scope, element_type
from .integer_kernels import is_integer_product, is_rounded_relu
from .linear_algebra import fused_bias
from .registry import emits

__all__: list[str] = []

_PLAIN_ACTIVATIONS = {"kSIGMOID": "Sigmoid", "kTANH": "Tanh", "kSOFTSIGN": "Softsign"}
_UNARY = {
    "kEXP": "Exp",
    "kLOG": "Log",
    "kSQRT": "Sqrt",
    "kRECIP": "Reciprocal",
    "kABS": "Abs",
    "kNEG": "Neg",
    "kSIN": "Sin",
    "kCOS": "Cos",
    "kTAN": "Tan",
    "kSINH": "Sinh",
    "kCOSH": "Cosh",
    "kASIN": "Asin",
    "kACOS": "Acos",
    "kATAN": "Atan",
    "kASINH": "Asinh",
    "kACOSH": "Acosh",
    "kATANH": "Atanh",
    "kCEIL": "Ceil",
    "kFLOOR": "Floor",
    "kERF": "Erf",
    "kNOT": "Not",
    "kSIGN": "Sign",
    "kROUND": "Round",
    "kISINF": "IsInf",
    "kISNAN": "IsNaN",
}
_BINARY = {
    "kSUM": "Add",
    "kPROD": "Mul",
    "kMAX": "Max",
    "kMIN": "Min",
    "kSUB": "Sub",
    "kDIV": "Div",
    "kPOW": "Pow",
    "kAND": "And",
    "kOR": "Or",
    "kXOR": "Xor",
}
_COMPARISONS = {"kEQUAL": "Equal", "kGREATER": "Greater", "kLESS": "Less"}
_INTEGERS = {"i8", "ui8", "i32", "i64"}


@emits("activation")
def activation(op: Op, scope: Scope) -> None:
    if is_rounded_relu(op.operation):
        return  # the rounding that follows does it
    kind = op.attr("activationType")
    x = scope.tensor(op.operand("input"))
    alpha, beta = op.attr("alpha"), op.attr("beta")
    if kind == "kRELU" and is_integer_product(op.operand("input")):
        # ONNX Runtime looks through a Relu for the rounding of a product, and not finding it behind one, would
        # make the weights real numbers in each run.
        scope.set(op.operation.results[0], scope.op("Max", [x, scope.like(0, x)]))
        return
    scope.set(op.operation.results[0], _activate(scope, kind, x, alpha, beta))


def _activate(scope: Scope, kind: str, x: str, alpha: float | None, beta: float | None) -> str:
    if kind == "kRELU":
        integer = scope.dtype(x) in _INTEGERS
        return scope.op("Max", [x, scope.like(0, x)]) if integer else scope.op("Relu", [x])
    if kind in _PLAIN_ACTIVATIONS:
        return scope.op(_PLAIN_ACTIVATIONS[kind], [x])
    if kind == "kCLIP":
        return scope.op("Clip", [x, scope.like(alpha or 0.0, x), scope.like(beta or 0.0, x)])
    if kind == "kSOFTPLUS":
        return _times(scope, scope.op("Softplus", [_times(scope, x, beta)]), alpha)
    if kind == "kSCALED_TANH":
        return _times(scope, scope.op("Tanh", [_times(scope, x, beta)]), alpha)
    if kind == "kSELU":
        return scope.op("Selu", [x], alpha=alpha, gamma=beta)
    if kind == "kHARD_SIGMOID":
        return scope.op("HardSigmoid", [x], alpha=alpha, beta=beta)
    if kind in ("kGELU_ERF", "kGELU_TANH"):
        return scope.op("Gelu", [x], approximate="tanh" if kind == "kGELU_TANH" else "none")
    names = {"kLEAKY_RELU": "LeakyRelu", "kELU": "Elu", "kTHRESHOLDED_RELU": "ThresholdedRelu"}
    return scope.op(names[kind], [x], alpha=alpha)


def _times(scope: Scope, x: str, factor: float | None) -> str:
    return x if factor in (None, 1.0) else scope.op("Mul", [x, scope.like(factor, x)])


@emits("unary")
def unary(op: Op, scope: Scope) -> None:
    kind = _UNARY[op.attr("unaryOperation")]
    x = scope.tensor(op.operand("input"))
    scope.set(op.operation.results[0], scope.op(kind, [x]))


@emits("element_wise")
def element_wise(op: Op, scope: Scope) -> None:
    kind = op.attr("elementwiseOperation")
    if kind == "kSUM" and fused_bias(op, scope):
        return
    first, second = op.operand("input1"), op.operand("input2")
    # One side keeps its rank, so that the result has it.
    one = scope.tensor(first) if scope.constant(second) else scope.trailing(first)
    two = scope.trailing(second)
    result = op.operation.results[0]
    if kind in _COMPARISONS:
        scope.set(result, scope.op(_COMPARISONS[kind], [one, two]))
    elif kind == "kFLOOR_DIV":
        scope.set(result, _floor_div(scope, one, two))
    else:
        scope.set(result, scope.op(_BINARY[kind], [one, two]))


def _floor_div(scope: Scope, one: str, two: str) -> str:
    """Rounds towards minus infinity. Integers: one less than Div, which truncates, where signs differ."""
    quotient = scope.op("Div", [one, two])
    if scope.dtype(one) not in _INTEGERS:
        return scope.op("Floor", [quotient])
    zero = scope.like(0, one)
    rest = scope.op("Not", [scope.op("Equal", [scope.op("Mod", [one, two]), zero])])
    signs = [scope.op("Less", [side, zero]) for side in (one, two)]
    below = scope.op("And", [rest, scope.op("Xor", signs)])
    return scope.op("Sub", [quotient, scope.cast(below, scope.dtype(one))])


@emits("select")
def select(op: Op, scope: Scope) -> None:
    operands = [op.operand(name) for name in ("condition", "thenInput", "elseInput")]
    free = [value for value in operands if scope.constant(value) is None]
    keep = free[0] if free else operands[0]
    names = [scope.tensor(v) if v == keep else scope.trailing(v) for v in operands]
    scope.set(op.operation.results[0], scope.op("Where", names))


@emits("parametric_relu")
def parametric_relu(op: Op, scope: Scope) -> None:
    x, slope = scope.tensor(op.operand("input")), scope.trailing(op.operand("slope"))
    scope.set(op.operation.results[0], scope.op("PRelu", [x, slope]))


@emits("scale")
def scale(op: Op, scope: Scope) -> None:
    x = scope.tensor(op.operand("input"))
    rank, axis = op.type("input").rank, op.attr("channelAxis")
    for name, node in (("scale", "Mul"), ("shift", "Add"), ("power", "Pow")):
        attribute = op.raw(name)
        if attribute is None:
            continue
        array = value_of(attribute, scope.writer.weights)  # type: ignore[arg-type]
        if name == "power" and np.all(array == 1):
            continue
        shape = _coefficient_shape(op.attr("mode"), array, rank, axis, op)
        x = scope.op(node, [x, scope.initializer(Constant(array.reshape(shape)))])
    scope.set(op.operation.results[0], x)


def _coefficient_shape(mode: str, array: np.ndarray, rank: int, axis: int, op: Op) -> tuple[int, ...]:
    if mode == "kUNIFORM":
        return ()
    if mode == "kCHANNEL":
        return (-1, *[1] * (rank - axis - 1))
    return tuple(op.type("input").get_dim_size(n) for n in range(axis, rank))


@emits("cast", "identity")
def cast(op: Op, scope: Scope) -> None:
    result = op.operation.results[0]
    scope.set(result, scope.cast(scope.tensor(op.operand("input")), element_type(result)))
