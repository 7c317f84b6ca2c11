"""raise-softmax: exponentials divided by their sum become one softmax layer."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from ...ir.builder import Op, create
from ...program import Program
from ..base import Pass, PassContext, register
from .matching import binary, fused, is_taken, kind_of, maker, only_user, operations, replace

__all__ = ["RaiseSoftmax"]


@register
class RaiseSoftmax(Pass):
    """Replace exp(x - max(x)) / sum(exp(x - max(x))) along one axis, as JAX and others spell it, by one
    `tensorrt.softmax`. Exponentials without the maximum taken off stay, since large ones overflow where the
    layer does not; so does a chain whose inner values are read elsewhere."""

    name = "raise-softmax"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            # Listed before the first rewrite, which erases ops of the same name.
            for operation in [op for op in operations(program, "unary") if kind_of(op) == "kEXP"]:
                _raise(operation)


def _raise(exponential: ir.Operation) -> None:
    difference = binary(exponential.operands[0], "kSUB")
    if difference is None:
        return
    x, subtracted = difference
    largest, summed = _reduced(subtracted, "kMAX"), _sum(exponential)
    if largest is None or summed is None or largest.value != x or largest.axis != summed.axis:
        return
    root = _quotient(exponential.results[0], summed)
    if root is None or root.results[0].type != x.type or exponential.results[0].type != x.type:
        return
    location, point = fused(*largest.chain, exponential, *summed.chain, root), ir.InsertionPoint(root)
    made = create("tensorrt.softmax", [x], {"axis": largest.axis}, [x.type], loc=location, ip=point)
    if is_taken(made):
        replace(root, made.results[0])
    else:
        made.erase()


@dataclass
class _Reduced:
    """A reduction of `value` along one axis, which is there with length 1 after the chain of ops."""

    value: ir.Value
    axis: int
    chain: list[ir.Operation]

    @property
    def result(self) -> ir.Value:
        return self.chain[-1].results[0]


def _reduced(value: ir.Value, kind: str) -> _Reduced | None:
    """`value` as a reduction that keeps its axis, or as one whose axis is put back."""
    grown = maker(value, "expand_rank") or maker(value, "reshape")
    reduction = maker(grown.operands[0] if grown else value, "reduce", kind)
    if reduction is None:
        return None
    op, source = Op.of(reduction), reduction.operands[0]
    axes, shape = op.attr("reduceAxes"), ir.RankedTensorType(source.type).shape
    if len(axes) != 1 or op.attr("keepDimensions") == (grown is not None):
        return None
    shape[axes[0]] = 1
    if ir.RankedTensorType(value.type).shape != shape:
        return None
    return _Reduced(source, axes[0], [reduction, grown] if grown else [reduction])


def _sum(exponential: ir.Operation) -> _Reduced | None:
    """The sum of the exponentials, if it and what divides by it are all that read them."""
    users = [use.owner.operation for use in exponential.results[0].uses]
    sums = [user for user in users if user.name == "tensorrt.reduce" and kind_of(user) == "kSUM"]
    if len(users) != 2 or len(sums) != 1:
        return None
    value, chain = sums[0].results[0], only_user(sums[0].results[0])
    if chain is not None and chain.name in ("tensorrt.expand_rank", "tensorrt.reshape"):
        value = chain.results[0]
    return _reduced(value, "kSUM")


def _quotient(exponentials: ir.Value, total: _Reduced) -> ir.Operation | None:
    """The op that divides by the sum, or multiplies with what is one over it."""
    user = only_user(total.result)
    if user is None:
        return None
    if binary(user.results[0], "kDIV") == (exponentials, total.result):
        return user
    inverse = user.results[0] if kind_of(user) == "kRECIP" else None
    product = only_user(inverse) if inverse is not None else None
    if product is None or kind_of(product) != "kPROD":
        return None
    terms = tuple(product.operands)
    return product if terms in ((exponentials, inverse), (inverse, exponentials)) else None
