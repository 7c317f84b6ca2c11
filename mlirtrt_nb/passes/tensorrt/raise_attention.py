"""raise-attention: products and a softmax that are attention become that one layer."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op, create
from ...ir.values import rank_of
from ...program import Program
from ..base import Pass, PassContext, register
from .matching import binary, fused, is_taken, maker, only_user, operations, replace, scalar

__all__ = ["RaiseAttention"]


@register
class RaiseAttention(Pass):
    """Replace softmax(query @ key^T * scale + mask) @ value, per head, by one `tensorrt.attention` that the
    builder may decompose. Scale and mask may be missing, the scale be a factor or a divisor. A chain whose
    inner values are read elsewhere, or whose shapes do not fit, stays; so does one whose heads are part of the
    batch, which the builder fuses better by itself. The builder makes of the layer one fused kernel in f16 and
    bf16, and fewer layers in f32; the CPU runs it as the chain was."""

    name = "raise-attention"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            # Listed before the first rewrite, which erases ops of the same name.
            for softmax in operations(program, "softmax"):
                found = _match(program, softmax)
                if found is not None:
                    _rewrite(found)


@dataclass
class _Match:
    """What a chain computes, and its ops, the last of which has the result."""

    query: ir.Value
    key: ir.Value
    key_is_turned: bool
    value: ir.Value
    mask: ir.Value | None
    scale: tuple[ir.Value, str] | None  # the number, and the op that applies it
    chain: list[ir.Operation]


def _match(program: Program, softmax: ir.Operation) -> _Match | None:
    """The attention whose softmax it is; all inner values are read once."""
    mixed = only_user(softmax.results[0])
    rank = rank_of(softmax.results[0])
    if mixed is None or mixed.name != "tensorrt.matrix_multiply" or rank != 4:
        return None
    if Op.of(softmax).attr("axis") != rank - 1 or mixed.operands[0] != softmax.results[0]:
        return None
    if _readings(mixed) != ("kNONE", "kNONE"):
        return None
    scores, mask, added = _without_mask(program, softmax.operands[0])
    scores, scale, scaled = _without_scale(program, scores)
    product = maker(scores, "matrix_multiply")
    if product is None or only_user(scores) is None:
        return None
    first, second = _readings(product)
    if first != "kNONE" or second == "kVECTOR":
        return None
    chain = [product, *scaled, *added, softmax, mixed]
    query, key = product.operands
    if not _same_groups(query, key):
        return None
    return _Match(query, key, second == "kTRANSPOSE", mixed.operands[1], mask, scale, chain)


def _readings(operation: ir.Operation) -> tuple[str, str]:
    op = Op.of(operation)
    return op.attr("op0"), op.attr("op1")


def _same_groups(query: ir.Value, key: ir.Value) -> bool:
    """Whether no batch, and no unknown number of heads, is broadcast: the layer does not do that."""
    (batch, heads), (other_batch, other_heads) = (ir.RankedTensorType(v.type).shape[:2] for v in (query, key))
    return batch == other_batch and (heads == other_heads or shapes.DYNAMIC not in (heads, other_heads))


def _without_mask(program: Program, value: ir.Value) -> tuple[ir.Value, ir.Value | None, list[ir.Operation]]:
    """The scores and the mask of their sum, and the sum; just the value where it is no such sum."""
    terms = binary(value, "kSUM")
    owner = value.owner
    if terms is None or isinstance(owner, ir.Block) or only_user(value) is None:
        return value, None, []
    for scores, mask in (terms, terms[::-1]):
        if scores.type == value.type and _is_scores(program, scores):
            return scores, mask, [owner.operation]
    return value, None, []


def _is_scores(program: Program, value: ir.Value) -> bool:
    return maker(_without_scale(program, value)[0], "matrix_multiply") is not None


def _without_scale(
    program: Program, value: ir.Value
) -> tuple[ir.Value, tuple[ir.Value, str] | None, list[ir.Operation]]:
    """The product and the number that it is multiplied with or divided by, and the op that does so."""
    owner = value.owner
    for kind in ("kPROD", "kDIV"):
        terms = binary(value, kind)
        if terms is None or isinstance(owner, ir.Block) or only_user(value) is None:
            continue
        for inner, number in (terms, terms[::-1]) if kind == "kPROD" else (terms,):
            if inner.type == value.type and scalar(number, program.weights) is not None:
                return inner, (number, kind), [owner.operation]
    return value, None, []


def _rewrite(found: _Match) -> None:
    root = found.chain[-1]
    with fused(*found.chain), ir.InsertionPoint(root):
        made = _made(found, root.results[0].type)
    if all(is_taken(operation) for operation in made):
        replace(root, made[-1].results[0])
        return
    for operation in reversed(made):
        operation.erase()


def _made(found: _Match, kind: ir.Type) -> list[ir.Operation]:
    """The layer, after what scales the query and turns the key, at the current insertion point."""
    query, key, made = found.query, found.key, []

    def make(
        name: str, operands: list[ir.Value | None], attributes: dict[str, object], result: ir.Type
    ) -> ir.Value:
        made.append(create(f"tensorrt.{name}", operands, attributes, [result]))
        return made[-1].results[0]

    if found.scale is not None:
        number, operation = found.scale
        query = make("element_wise", [query, number], {"elementwiseOperation": operation}, query.type)
    if not found.key_is_turned:
        key = make("transpose", [key], *_turned(key))
    operands = [query, key, found.value, found.mask]
    make("attention", operands, {"decomposable": True}, kind)
    return made


def _turned(key: ir.Value) -> tuple[dict[str, object], ir.Type]:
    """The attributes and the result of the transpose that exchanges the last two dimensions."""
    source = ir.RankedTensorType(key.type)
    *outer, rows, columns = range(source.rank)
    order = [*outer, columns, rows]
    attribute = ir.AffineMapAttr.get(ir.AffineMap.get_permutation(order))
    return {"permutation": attribute}, shapes.tensor([source.shape[n] for n in order], source.element_type)
