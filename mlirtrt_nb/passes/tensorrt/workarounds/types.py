"""Ops whose element type the builder does not take: computed in another one that holds every value of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from ....ir import shapes
from ....ir.builder import Op
from ....ir.constants import value_of
from ..conversions.emitter import Emitter
from ..conversions.node import element
from .spelling import Workaround, again, with_element

__all__ = ["WORKAROUNDS"]

# By op and element type, the type to compute in.
_WIDER = {
    ("activation", "i8"): "f32",
    ("deconvolution", "bf16"): "f32",
    ("deconvolution", "i8"): "f32",
    ("pooling", "i8"): "f32",
    ("reduce", "i8"): "i32",
}
# Fills by their own element type: what is drawn or counted is rounded to it afterwards.
_FILLS = {"random_uniform": "bf16", "random_normal": "bf16", "linspace": "f16"}
# Constants of these types exist for the builder in quantization only.
_SMALL = frozenset(["i8", "ui8"])


def _through_wider_type(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """The op of casts, cast back."""
    own = shapes.element_name(op.type("input").element_type)
    wider = _WIDER.get((op.definition.mnemonic, own))
    if wider is None:
        return None
    operands = {}
    for entry in op.definition.operands:
        value = op.operand(entry.name)
        value = _static_weights(op, emit, entry.name) if value is None else value
        if value is not None:
            operands[entry.name] = emit.cast(value, wider)
    statics = {f"{name}Static": None for name in operands if op.raw(f"{name}Static") is not None}
    kinds = [with_element(result.type, ir.Type.parse(wider)) for result in op.operation.results]
    return [emit.cast(value, own) for value in again(op, emit, operands, statics, kinds)]


def _static_weights(op: Op, emit: Emitter, name: str) -> ir.Value | None:
    """Weights that are an attribute, as a constant that can be cast."""
    attribute = op.raw(f"{name}Static")
    if attribute is None:
        return None
    return emit.op("constant", [], {"weights": attribute}, attribute.type)  # type: ignore[attr-defined]


def _fill_in_f32(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """The fill in f32, rounded."""
    kind = ir.RankedTensorType(op.operation.results[0].type)
    own = shapes.element_name(kind.element_type)
    if own != _FILLS[op.definition.mnemonic]:
        return None
    (wide,) = again(op, emit, {}, kinds=[with_element(kind, ir.F32Type.get())])
    return [emit.cast(wide, own)]


def _small_constants(op: Op, emit: Emitter) -> Sequence[ir.Value] | None:
    """Constants of 8 bits come as i32 that is cast."""
    operands: dict[str, Sequence[ir.Value]] = {}
    for entry in op.definition.operands:
        values = op.group(entry.name)
        changed = [_small_constant(value, emit) for value in values]
        if any(value is not None for value in changed):
            operands[entry.name] = [b or a for a, b in zip(values, changed, strict=True)]
    return again(op, emit, operands) if operands else None


def _small_constant(value: ir.Value, emit: Emitter) -> ir.Value | None:
    """A constant of 8 bits from a cast; None for any other value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "tensorrt.constant" or element(value) not in _SMALL:
        return None
    array = value_of(owner.attributes["weights"], emit.weights)
    return emit.cast(emit.constant(array.astype(np.int32)), element(value))


WORKAROUNDS = (
    Workaround(
        "through-wider-type",
        tuple(dict.fromkeys(name for name, _ in _WIDER)),
        "i8 and bf16 are computed in f32 or i32 where the op does not take them.",
        _through_wider_type,
    ),
    Workaround("fill-in-f32", tuple(_FILLS), "Fills of bf16 and f16 are made in f32 and cast.", _fill_in_f32),
    Workaround("small-constants", (), "Constants of i8 and ui8 are those of i32, cast.", _small_constants),
)
