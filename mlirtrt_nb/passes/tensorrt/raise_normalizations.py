"""raise-normalizations: chains of elementary ops that normalize become one normalization layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from ...ir import dtypes
from ...ir.builder import create
from ...ir.constants import attribute_of
from ...program import Program
from ..base import Pass, PassContext, register
from .matching import (
    binary,
    fused,
    is_taken,
    kind_of,
    maker,
    only_user,
    operations,
    other_operand,
    replace,
    scalar,
)

__all__ = ["RaiseNormalizations"]


@register
class RaiseNormalizations(Pass):
    """Replace (x - mean) / sqrt(variance + eps) * scale + bias, spelled with reductions and element-wise ops,
    by one `tensorrt.normalization`: layer norm over the last axes, instance norm over the spatial ones.
    A chain without a scale, or one that the layer does not take, stays."""

    name = "raise-normalizations"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            # Listed before the first rewrite, which erases ops of the same name.
            for root in [op for op in operations(program, "unary") if kind_of(op) == "kSQRT"]:
                found = _match(program, root)
                if found is not None:
                    _rewrite(program, found)


@dataclass
class _Match:
    """What a chain computes, and its ops, the last of which has the result."""

    x: ir.Value
    axes: list[int]
    eps: float
    scale: ir.Value
    bias: ir.Value | None
    chain: list[ir.Operation]


def _match(program: Program, root: ir.Operation) -> _Match | None:
    """The normalization whose square root is `root`."""
    variance = _variance(program, root.operands[0])
    if variance is None:
        return None
    centred, axes, eps, inner = variance
    difference = binary(centred, "kSUB")
    if difference is None:
        return None
    x, mean = difference
    averaged = maker(mean, "reduce", "kAVG")
    if averaged is None or averaged.operands[0] != x or _axes(averaged) != axes:
        return None
    quotient = _quotient(root, x, mean)
    if quotient is None:
        return None
    chain = [averaged, *inner, root, *quotient]
    return _affine(x, axes, eps, chain)


def _axes(reduction: ir.Operation) -> list[int] | None:
    """The reduced axes, if they stay with length 1."""
    attributes = reduction.attributes
    kept = "keepDimensions" in attributes and ir.BoolAttr(attributes["keepDimensions"]).value
    return list(ir.DenseI64ArrayAttr(attributes["reduceAxes"])) if kept else None


def _variance(
    program: Program, value: ir.Value
) -> tuple[ir.Value, list[int], float, list[ir.Operation]] | None:
    """`value` as mean(d * d) + eps: d, the axes, eps, and the ops in between."""
    terms = binary(value, "kSUM")
    for squares, added in (terms, terms[::-1]) if terms else ():
        eps = scalar(added, program.weights)
        averaged = maker(squares, "reduce", "kAVG")
        axes = None if averaged is None else _axes(averaged)
        if eps is None or averaged is None or axes is None:
            continue
        centred = _root_of_square(program, averaged.operands[0])
        if centred is not None:
            square = averaged.operands[0].owner
            assert not isinstance(square, ir.Block) and not isinstance(value.owner, ir.Block)
            return centred, axes, eps, [square.operation, averaged, value.owner.operation]
    return None


def _root_of_square(program: Program, value: ir.Value) -> ir.Value | None:
    """d, where `value` is d * d or d ** 2."""
    power, product = binary(value, "kPOW"), binary(value, "kPROD")
    if power is not None and scalar(power[1], program.weights) == 2:
        return power[0]
    return product[0] if product is not None and product[0] == product[1] else None


def _quotient(root: ir.Operation, x: ir.Value, mean: ir.Value) -> list[ir.Operation] | None:
    """The ops from the square root to (x - mean) / root: a quotient, or a product with the reciprocal."""
    user = only_user(root.results[0])
    if user is None:
        return None
    if kind_of(user) == "kDIV" and user.operands[1] == root.results[0]:
        return [user] if binary(user.operands[0], "kSUB") == (x, mean) else None
    inverse = user.results[0]
    product = only_user(inverse)
    is_inverse = kind_of(user) == "kRECIP"
    if not is_inverse or product is None or kind_of(product) != "kPROD":
        return None
    return [user, product] if binary(other_operand(product, inverse), "kSUB") == (x, mean) else None


def _affine(x: ir.Value, axes: list[int], eps: float, chain: list[ir.Operation]) -> _Match | None:
    """Take in the product with a scale and, if there is one, the sum with a bias."""
    normalized = chain[-1].results[0]
    scaled = only_user(normalized)
    if scaled is None or kind_of(scaled) != "kPROD":
        return None
    scale = other_operand(scaled, normalized)
    if scale == normalized or scaled.results[0].type != x.type or not _is_usual(scale, axes):
        return None
    shifted = only_user(scaled.results[0])
    if shifted is not None and kind_of(shifted) == "kSUM" and shifted.results[0].type == x.type:
        added = other_operand(shifted, scaled.results[0])
        if added.type == scale.type:
            return _Match(x, axes, eps, scale, added, [*chain, scaled, shifted])
    return _Match(x, axes, eps, scale, None, [*chain, scaled])


def _is_usual(scale: ir.Value, axes: list[int]) -> bool:
    """Whether it is layer norm, over the last axes and scaled along them, or instance norm, by channel."""
    shape = ir.RankedTensorType(scale.type).shape
    outer = [d for n, d in enumerate(shape) if n not in axes]
    trailing = axes == list(range(len(shape) - len(axes), len(shape)))
    spatial = axes == list(range(2, len(shape))) and all(d == 1 for n, d in enumerate(shape) if n != 1)
    return (trailing and all(d == 1 for d in outer)) or spatial


def _rewrite(program: Program, found: _Match) -> None:
    root = found.chain[-1]
    location, point = fused(*found.chain), ir.InsertionPoint(root)
    bias = _zeros(program, found.scale, location, point) if found.bias is None else found.bias
    made = create(
        "tensorrt.normalization",
        [found.x, found.scale, bias],
        {"axis": found.axes, "eps": found.eps},
        [found.x.type],
        loc=location,
        ip=point,
    )
    if is_taken(made):
        replace(root, made.results[0])
    else:
        made.erase()


def _zeros(program: Program, scale: ir.Value, location: ir.Location, point: ir.InsertionPoint) -> ir.Value:
    kind = ir.RankedTensorType(scale.type)
    array = np.zeros(kind.shape, dtypes.by_mlir(kind.element_type).np)
    weights = attribute_of(array, program.weights, "normalization.bias")
    return create("tensorrt.constant", [], {"weights": weights}, loc=location, ip=point).results[0]
