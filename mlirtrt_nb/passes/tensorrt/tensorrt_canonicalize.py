"""tensorrt-canonicalize: ops that change nothing go, and pairs that one op can do become that op."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op, create
from ...ir.values import is_read
from ...program import Program
from ..base import Pass, PassContext, register
from .matching import fused, kind_of, maker, only_user, operations, replace, scalar

__all__ = ["FOLDS", "Fold", "TensorrtCanonicalize"]

Weights = MutableMapping[str, np.ndarray]


@dataclass(frozen=True)
class Fold:
    """A rule for the ops of some mnemonics. `apply` gives the value to read instead, or None."""

    name: str
    mnemonics: tuple[str, ...]
    summary: str
    apply: Callable[[ir.Operation, Weights], ir.Value | None]


@register
class TensorrtCanonicalize(Pass):
    """Drop tensorrt ops that nobody reads or that change nothing (casts, moves, slices, x * 1, x + 0, double
    negation), and join pairs: casts that lose nothing, equal activations, max and min with constants."""

    name = "tensorrt-canonicalize"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            # Each round may make ops that fit a rule; each shortens the program, so that this ends.
            while _round(program):
                pass
            _erase_dead(program)


def _round(program: Program) -> bool:
    """Apply each rule once where it fits. Whether one did."""
    changed = False
    for fold in FOLDS:
        for operation in operations(program, *fold.mnemonics):
            value = fold.apply(operation, program.weights)
            if value is not None:
                replace(operation, value, fold.name)
                changed = True
    return changed


def _erase_dead(program: Program) -> None:
    """Erase ops without effects that nobody reads, the last ones first."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("tensorrt.") and not len(operation.regions):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    program.module.operation.walk(visit)
    for operation in reversed(found):
        pure = "pure" in Op.of(operation).definition.traits
        if pure and len(operation.results) and not is_read(operation):
            operation.erase()


def _same_type(operation: ir.Operation, number: int = 0) -> ir.Value | None:
    """Operand `number`, if the result has its type."""
    value = operation.operands[number]
    return value if value.type == operation.results[0].type else None


def _identity(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    return _same_type(operation)


def _still_move(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    value, op = _same_type(operation), Op.of(operation)
    if value is None:
        return None
    shape = ir.RankedTensorType(value.type).shape
    if op.name == "tensorrt.transpose":
        order = [ir.AffineDimExpr(result).position for result in op.attr("permutation").results]
        return value if order == sorted(order) else None
    if op.name == "tensorrt.shuffle":
        orders = (op.attr("first_transpose"), op.attr("second_transpose"))
        if any(order != sorted(order) for order in orders):
            return None
    if op.name == "tensorrt.broadcast":
        order = op.attr("broadcast_dims")
        return value if order == sorted(order) and shapes.is_static(shape) else None
    # With two open dimensions, the same type is not yet the same shape.
    return value if shape.count(shapes.DYNAMIC) < 2 and 0 not in shape else None


def _whole_slice(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    op, value = Op.of(operation), _same_type(operation)
    shape = op.type("input").shape
    whole = op.attr("static_start") == [0] * len(shape) and op.attr("static_size") == shape
    return value if whole and op.attr("static_stride") == [1] * len(shape) else None


def _single(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    return _same_type(operation) if len(operation.operands) == 1 else None


# Casts that keep every value, from the first to each of the second.
_LOSSLESS = {
    "i1": {"i8", "i32", "i64", "f16", "bf16", "f32"},
    "i8": {"i32", "i64", "f16", "bf16", "f32"},
    "ui8": {"i32", "i64", "f16", "bf16", "f32"},
    "i32": {"i64"},
    "f16": {"f32"},
    "bf16": {"f32"},
}


def _element(value: ir.Value) -> str:
    return str(ir.RankedTensorType(value.type).element_type)


def _two_casts(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    inner = maker(operation.operands[0], "cast")
    if inner is None or _element(inner.results[0]) not in _LOSSLESS.get(_element(inner.operands[0]), ()):
        return None
    source, target = inner.operands[0], operation.results[0].type
    if source.type == target:
        return source
    location, point = fused(inner, operation), ir.InsertionPoint(operation)
    return create("tensorrt.cast", [source], {}, [target], loc=location, ip=point).results[0]


_INVOLUTIONS = ("kNEG", "kNOT")
_IDEMPOTENT = ("kABS", "kFLOOR", "kCEIL", "kROUND", "kSIGN")


def _double_negation(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    kind = kind_of(operation)
    inner = maker(operation.operands[0], "unary", kind) if kind in _INVOLUTIONS else None
    return None if inner is None else inner.operands[0]


def _repeated(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    """Also the activations that do nothing to their own results."""
    mnemonic, kind = operation.name.removeprefix("tensorrt."), kind_of(operation)
    if kind not in (*_IDEMPOTENT, "kRELU", "kCLIP"):
        return None
    inner = maker(operation.operands[0], mnemonic, kind)
    return inner.results[0] if inner is not None and _attributes(inner) == _attributes(operation) else None


def _attributes(operation: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: operation.attributes[name] for name in operation.attributes}


# The constant with which an op gives back an operand, and the operands that may be the constant.
_NEUTRAL = {
    "kSUM": (0.0, (0, 1)),
    "kSUB": (0.0, (1,)),
    "kPROD": (1.0, (0, 1)),
    "kDIV": (1.0, (1,)),
    "kPOW": (1.0, (1,)),
}


def _neutral(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    number, places = _NEUTRAL.get(kind_of(operation), (0.0, ()))
    for place in places:
        if scalar(operation.operands[place], weights) == number:
            return _same_type(operation, 1 - place)
    return None


def _same_branches(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    _, one, other = operation.operands
    return _same_type(operation, 1) if one == other else None


_FLOATS = ("f32", "f16", "bf16")


def _bound(value: ir.Value, kind: str, weights: Weights) -> tuple[ir.Value, float] | None:
    """x and c, where `value` is the kMAX or kMIN of x and one number c, and has x's type."""
    operation = maker(value, "element_wise", kind)
    if operation is None:
        return None
    for place in (0, 1):
        number, other = scalar(operation.operands[place], weights), operation.operands[1 - place]
        if number is not None and other.type == value.type:
            return other, number
    return None


def _clip(operation: ir.Operation, weights: Weights) -> ir.Value | None:
    kind, result = kind_of(operation), operation.results[0]
    if kind not in ("kMAX", "kMIN") or _element(result) not in _FLOATS:
        return None
    outer = _bound(result, kind, weights)
    inner = None if outer is None else _bound(outer[0], "kMIN" if kind == "kMAX" else "kMAX", weights)
    if outer is None or inner is None or only_user(outer[0]) is None:
        return None
    low, high = (outer[1], inner[1]) if kind == "kMAX" else (inner[1], outer[1])
    if not -np.inf < low <= high < np.inf:
        return None
    first = outer[0].owner
    assert not isinstance(first, ir.Block)
    return create(
        "tensorrt.activation",
        [inner[0]],
        {"activationType": "kCLIP", "alpha": low, "beta": high},
        loc=fused(first.operation, operation),
        ip=ir.InsertionPoint(operation),
    ).results[0]


_MOVES = ("shuffle", "transpose", "reshape", "expand_rank", "collapse_rank", "broadcast")

FOLDS = (
    Fold("identity", ("identity", "cast"), "An identity, or a cast to the same type, is its input.", _identity),
    Fold("still-move", _MOVES, "A move that leaves every element in its place is its input.", _still_move),
    Fold("whole-slice", ("slice",), "A slice of everything, in steps of 1, is its input.", _whole_slice),
    Fold("single-concatenation", ("concatenation",), "A concatenation of one tensor is that tensor.", _single),
    Fold("two-casts", ("cast",), "A cast of a cast that lost nothing is one cast, or none.", _two_casts),
    Fold("double-negation", ("unary",), "kNEG of kNEG and kNOT of kNOT are their input.", _double_negation),
    Fold(
        "repeated",
        ("unary", "activation"),
        "kABS, kSIGN, kFLOOR, kCEIL, kROUND, kRELU and an equal kCLIP of themselves are done once.",
        _repeated,
    ),
    Fold(
        "neutral-operand",
        ("element_wise",),
        "x + 0, x - 0, x * 1, x / 1 and x to the power 1 are x, where it has the result's shape.",
        _neutral,
    ),
    Fold("same-branches", ("select",), "A select between a value and itself is that value.", _same_branches),
    Fold(
        "max-min-to-clip",
        ("element_wise",),
        "kMAX with one number and kMIN with a larger one, in either order, are one kCLIP.",
        _clip,
    ),
)
