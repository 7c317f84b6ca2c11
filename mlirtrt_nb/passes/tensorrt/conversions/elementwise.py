"""Arithmetic, element by element."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of

__all__: list[str] = []

_UNARY = {
    "Abs": "kABS",
    "Acos": "kACOS",
    "Acosh": "kACOSH",
    "Asin": "kASIN",
    "Asinh": "kASINH",
    "Atan": "kATAN",
    "Atanh": "kATANH",
    "Ceil": "kCEIL",
    "Cos": "kCOS",
    "Cosh": "kCOSH",
    "Erf": "kERF",
    "Exp": "kEXP",
    "Floor": "kFLOOR",
    "IsNaN": "kISNAN",
    "Log": "kLOG",
    "Neg": "kNEG",
    "Not": "kNOT",
    "Reciprocal": "kRECIP",
    "Round": "kROUND",
    "Sign": "kSIGN",
    "Sin": "kSIN",
    "Sinh": "kSINH",
    "Sqrt": "kSQRT",
    "Tan": "kTAN",
}
_BINARY = {
    "Add": "kSUM",
    "Sub": "kSUB",
    "Mul": "kPROD",
    "Div": "kDIV",
    "And": "kAND",
    "Or": "kOR",
    "Xor": "kXOR",
}
_CHAINED = {"Sum": "kSUM", "Max": "kMAX", "Min": "kMIN", "Mean": "kSUM"}


@converter(*_UNARY)
def _unary(node: Node, emit: Emitter) -> ir.Value:
    return emit.unary(_UNARY[node.name], node[0])


@converter(*_BINARY)
def _binary(node: Node, emit: Emitter) -> ir.Value:
    if node.attr("broadcast") or node.attr("axis") is not None:
        raise Refused("broadcasting by the attribute axis, of opset 6 and older")
    return emit.binary(_BINARY[node.name], node[0], node[1])


@converter(*_CHAINED)
def _chained(node: Node, emit: Emitter) -> ir.Value:
    values = [value for value in node.inputs if value is not None]
    total = values[0]
    for value in values[1:]:
        total = emit.binary(_CHAINED[node.name], total, value)
    return emit.with_number("kDIV", total, len(values)) if node.name == "Mean" else total


@converter("Pow")
def _pow(node: Node, emit: Emitter) -> ir.Value:
    base, exponent = node[0], node[1]
    kind = element(base)
    if element(exponent) != kind:
        array = node.array(1)
        if array is not None and array.size == 1 and float(array.reshape(-1)[0]).is_integer():
            return emit.with_number("kPOW", base, float(array.reshape(-1)[0]))
        if kind in ("i32", "i64") and element(exponent) in ("f32", "f16", "bf16"):
            raise Refused(f"base {kind} with exponent {element(exponent)}")
        exponent = emit.cast(exponent, kind)
    return emit.binary("kPOW", base, exponent)


@converter("Mod")
def _mod(node: Node, emit: Emitter) -> ir.Value:
    """fmod=0 takes the divisor's sign, fmod=1 the dividend's."""
    a, b = emit.aligned(node[0], node[1])
    if element(a) in ("f32", "f16", "bf16"):
        return _float_mod(emit, a, b, by_divisor=not node.attr("fmod"))
    whole = emit.binary("kDIV" if node.attr("fmod") else "kFLOOR_DIV", a, b)
    return emit.binary("kSUB", a, emit.binary("kPROD", whole, b))


def _float_mod(emit: Emitter, a: ir.Value, b: ir.Value, *, by_divisor: bool) -> ir.Value:
    """What is left of `a`, with its sign, or with that of `b` if `by_divisor`."""
    whole = truncated(emit, emit.binary("kDIV", a, b))
    zero = emit.filled(0, element(a), (1,) * rank_of(a))
    none = emit.with_number("kEQUAL", whole, 0)
    taken = emit.select(none, zero, emit.binary("kPROD", whole, b))  # 0 times infinity is not a number
    rest = emit.binary("kSUB", a, taken)
    if not by_divisor:
        return rest
    opposite = emit.binary("kXOR", emit.with_number("kLESS", rest, 0), emit.with_number("kLESS", b, 0))
    empty = emit.with_number("kEQUAL", rest, 0)
    wrong = emit.binary("kAND", opposite, emit.unary("kNOT", empty))
    return emit.select(wrong, emit.binary("kSUM", rest, b), rest)


def truncated(emit: Emitter, x: ir.Value) -> ir.Value:
    """Rounded towards zero."""
    return emit.binary("kPROD", emit.unary("kSIGN", x), emit.unary("kFLOOR", emit.unary("kABS", x)))


@converter("IsInf")
def _is_inf(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    positive, negative = node.attr("detect_positive"), node.attr("detect_negative")
    found = emit.unary("kISINF", x)
    if positive and negative:
        return found
    if not positive and not negative:
        return emit.binary("kAND", found, emit.filled(False, "i1", (1,) * rank_of(x)))
    return emit.binary("kAND", found, emit.with_number("kGREATER" if positive else "kLESS", x, 0.0))


@converter("CumSum")
def _cumsum(node: Node, emit: Emitter) -> ir.Value:
    axis = node.ints(1, "axis")
    if axis is None or len(axis) != 1:
        raise Refused("axis is not one number")
    attributes = {
        "cumulativeOperation": "kSUM",
        "axis": node.axis(axis[0]),
        "exclusive": bool(node.attr("exclusive")),
        "reverse": bool(node.attr("reverse")),
    }
    return emit.op("cumulative", [node[0]], attributes, node[0].type)


@converter("Cast", "CastLike")
def _cast(node: Node, emit: Emitter) -> ir.Value:
    kind = element(node.result)
    if kind not in _CASTS or element(node[0]) not in _CASTS:
        raise Refused(f"a cast from {element(node[0])} to {kind}")
    if kind == "ui8" and not node.is_only_returned():
        raise Refused("a cast to ui8 inside an engine; TensorRT has ui8 only at its inputs and outputs")
    return emit.cast(node[0], kind)


_CASTS = frozenset(["f32", "f16", "bf16", "i64", "i32", "i8", "i1", "ui8"])


@converter("Identity")
def _identity(node: Node, emit: Emitter) -> ir.Value:
    return node[0]


@converter("Dropout")
def _dropout(node: Node, emit: Emitter) -> list[ir.Value | None]:
    training = node.array(2)
    if node.input(2) is not None and (training is None or bool(np.any(training))):
        raise Refused("training mode")
    if not node.is_read(1):
        return [node[0], None]
    kept = emit.binary("kEQUAL", node[0], node[0])  # true everywhere but for NaN, which nothing keeps either
    return [node[0], kept]


@converter("Clip")
def _clip(node: Node, emit: Emitter) -> ir.Value:
    """A constant range is one layer; run-time or integer bounds are a maximum and a minimum."""
    x = node[0]
    if node.opset < 11:
        low, high = node.attr("min"), node.attr("max")
        return _clip_numbers(emit, x, low, high)
    arrays = [node.array(1), node.array(2)]
    given = [node.input(1), node.input(2)]
    if all((value is None) == (array is None) for value, array in zip(given, arrays, strict=True)):
        low, high = (None if array is None else array.reshape(-1)[0].item() for array in arrays)
        return _clip_numbers(emit, x, low, high)
    for kind, bound in zip(("kMAX", "kMIN"), given, strict=True):
        if bound is not None:
            x = emit.binary(kind, x, bound)
    return x


def _clip_numbers(emit: Emitter, x: ir.Value, low: float | None, high: float | None) -> ir.Value:
    if low is not None and high is not None and element(x) in ("f32", "f16", "bf16") and low <= high:
        return emit.activation("kCLIP", x, low, high)
    if low is not None:
        x = emit.with_number("kMAX", x, low)
    return x if high is None else emit.with_number("kMIN", x, high)
