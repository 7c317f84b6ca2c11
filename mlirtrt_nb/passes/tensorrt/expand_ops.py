"""expand-ops: ops without a TensorRT layer of their own become the layers that do their work."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op, create
from ...program import Program
from ..base import Pass, PassContext, register
from .matching import operations, replace_all

__all__ = ["ExpandOps"]


@register
class ExpandOps(Pass):
    """Spell transpose, reshape, expand_rank and collapse_rank as shuffle (or squeeze and unsqueeze, where
    several dimensions are dynamic), broadcast as slice, argmin and argmax as top_k. A broadcast of a
    dimension that may or may not be 1 stays."""

    name = "expand-ops"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            for operation in operations(program, *_RULES):
                op = Op.of(operation)
                with ir.InsertionPoint(operation), operation.location:
                    values = _RULES[op.definition.mnemonic](op, [r.type for r in operation.results])
                if values is not None:
                    replace_all(operation, values)


def _shuffle(op: Op, kind: ir.Type, **attributes: object) -> list[ir.Value]:
    """A shuffle of the op's input; a transpose that is not given leaves the order as it is."""
    rank = ir.RankedTensorType(kind).rank
    given = {
        "first_transpose": list(range(op.type("input").rank)),
        "second_transpose": list(range(rank)),
        **attributes,
    }
    dynamic = [op.operand("shape")] if "dynamic" in given and given.pop("dynamic") else []
    return list(create("tensorrt.shuffle", [op.operand("input"), *dynamic], given, [kind]).results)


def _transpose(op: Op, kinds: list[ir.Type]) -> list[ir.Value]:
    order = [ir.AffineDimExpr(result).position for result in op.attr("permutation").results]
    return _shuffle(op, kinds[0], first_transpose=order)


def _static(shape: list[int]) -> dict[str, object]:
    """The attributes of a reshape to `shape`, at most one dimension of which is dynamic."""
    dims = [-1 if d == shapes.DYNAMIC else d for d in shape]
    return {"reshape": dims, "zero_is_placeholder": 0 not in dims}


def _reshape(op: Op, kinds: list[ir.Type]) -> list[ir.Value] | None:
    shape = ir.RankedTensorType(kinds[0]).shape
    open_dims = shape.count(shapes.DYNAMIC)
    if open_dims and op.operand("shape") is not None:
        return _shuffle(op, kinds[0], dynamic=True, zero_is_placeholder=False)
    return _shuffle(op, kinds[0], **_static(shape)) if open_dims < 2 else None


def _regroup(op: Op, kinds: list[ir.Type]) -> list[ir.Value]:
    """expand_rank and collapse_rank."""
    shape = ir.RankedTensorType(kinds[0]).shape
    if shape.count(shapes.DYNAMIC) < 2 and 0 not in shape:
        return _shuffle(op, kinds[0], **_static(shape))
    growing = op.name == "tensorrt.expand_rank"
    large, small = (shape, op.type("input").shape) if growing else (op.type("input").shape, shape)
    axes = shapes.unit_axes(small, large)
    name = "tensorrt.unsqueeze" if growing else "tensorrt.squeeze"
    return list(create(name, [op.operand("input")], {"axes": axes}, kinds).results)


def _broadcast(op: Op, kinds: list[ir.Type]) -> list[ir.Value] | None:
    """The input in the result's rank, then a slice whose stride is 0 along what is repeated."""
    source, target = op.type("input"), ir.RankedTensorType(kinds[0])
    places, shape = op.attr("broadcast_dims"), source.shape
    if any(d == shapes.DYNAMIC for d in shape):
        return None
    dims, stride = [1] * target.rank, [0] * target.rank
    for dim, place in zip(shape, places, strict=True):
        dims[place], stride[place] = dim, int(dim != 1)
    grown = _grown(op, dims)
    static = shapes.is_static(target.shape)
    attributes = {
        "static_start": [0] * target.rank,
        "static_size": target.shape if static else None,
        "static_stride": stride,
    }
    size = None if static else op.operand("shape")
    return list(create("tensorrt.slice", [grown, None, None, size], attributes, kinds).results)


def _grown(op: Op, dims: list[int]) -> ir.Value:
    """The input with its dimensions in the result's order, and unit dimensions in between."""
    source, places = op.type("input"), op.attr("broadcast_dims")
    value = op.operand("input")
    assert value is not None
    order = sorted(range(len(places)), key=places.__getitem__)
    kind = shapes.tensor(dims, source.element_type)
    if kind == source and order == list(range(len(order))):
        return value
    return _shuffle(op, kind, first_transpose=order, **_static(dims))[0]


def _arg(op: Op, kinds: list[ir.Type]) -> list[ir.Value]:
    which = "kMIN" if op.name == "tensorrt.argmin" else "kMAX"
    axis = shapes.axis_of(op.attr("axis"), op.type("input").rank)
    attributes = {"axis": axis, "k": 1, "topkOperation": which}
    return list(create("tensorrt.top_k", [op.operand("input")], attributes, kinds).results)


_RULES = {
    "transpose": _transpose,
    "reshape": _reshape,
    "expand_rank": _regroup,
    "collapse_rank": _regroup,
    "broadcast": _broadcast,
    "argmin": _arg,
    "argmax": _arg,
}
