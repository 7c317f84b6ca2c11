"""What MLIR's own conversion of StableHLO to linalg leaves alone: control flow, and ops that compute nothing.

Run after that conversion, when the regions hold linalg and tensor ops already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir
from torch_mlir.dialects import arith, tensor

from ...ir.walking import ops_where

__all__ = ["convert_rest"]


def convert_rest(module: ir.Operation) -> None:
    """Turn every `stablehlo.if`, `case` and `while` into `scf.if`, `index_switch` and `while`, the size of a
    dimension into `tensor.dim`, and a barrier to optimisations into what it stands before."""
    for operation in ops_where(module, lambda op: op.name in _CONVERSIONS):
        with ir.InsertionPoint(operation), operation.location:
            values = _CONVERSIONS[operation.name](operation)
        for old, new in zip(operation.results, values, strict=True):
            old.replace_all_uses_with(new)
        operation.erase()


def _barrier(operation: ir.Operation) -> Sequence[ir.Value]:
    return list(operation.operands)


def _dimension_size(operation: ir.Operation) -> Sequence[ir.Value]:
    kind = ir.RankedTensorType(operation.results[0].type)
    axis = arith.ConstantOp(ir.IndexType.get(), ir.IntegerAttr(operation.attributes["dimension"]).value).result
    size = arith.IndexCastOp(kind.element_type, tensor.DimOp(operation.operands[0], axis).result).result
    return [tensor.FromElementsOp(kind, [size]).result]


def _if(operation: ir.Operation) -> Sequence[ir.Value]:
    made = _create("scf.if", operation, [_scalar(operation.operands[0])], regions=2)
    for region, target in zip(operation.regions, made.regions, strict=True):
        _move(region, target, "scf.yield")
    return list(made.results)


def _case(operation: ir.Operation) -> Sequence[ir.Value]:
    """Any index without a branch of its own takes the last one."""
    count = len(operation.regions)
    index = arith.IndexCastOp(ir.IndexType.get(), _scalar(operation.operands[0])).result
    cases = ir.DenseI64ArrayAttr.get(list(range(count - 1)))
    made = _create("scf.index_switch", operation, [index], regions=count, attributes={"cases": cases})
    default, *others = made.regions
    for region, target in zip(operation.regions, [*others, default], strict=True):
        _move(region, target, "scf.yield")
    return list(made.results)


def _while(operation: ir.Operation) -> Sequence[ir.Value]:
    made = _create("scf.while", operation, list(operation.operands), regions=2)
    condition, body = operation.regions
    _move(condition, made.regions[0], "scf.condition", _with_arguments)
    _move(body, made.regions[1], "scf.yield")
    return list(made.results)


_CONVERSIONS: dict[str, Callable[[ir.Operation], Sequence[ir.Value]]] = {
    "stablehlo.get_dimension_size": _dimension_size,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.if": _if,
    "stablehlo.case": _case,
    "stablehlo.while": _while,
}


def _create(
    name: str,
    old: ir.Operation,
    operands: Sequence[ir.Value],
    *,
    regions: int,
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Operation:
    return ir.Operation.create(
        name,
        results=[result.type for result in old.results],
        operands=operands,
        attributes=attributes or {},
        regions=regions,
    )


def _scalar(value: ir.Value) -> ir.Value:
    """The one element of a tensor of rank 0."""
    return tensor.ExtractOp(value, []).result


def _with_arguments(end: ir.Operation) -> list[ir.Value]:
    """What `scf.condition` takes: whether to go on, and what the body is given."""
    return [_scalar(end.operands[0]), *end.block.arguments]


def _move(
    region: ir.Region,
    target: ir.Region,
    terminator: str,
    operands: Callable[[ir.Operation], Sequence[ir.Value]] = lambda end: list(end.operands),
) -> None:
    """Move the region's block to `target`, with another op at its end."""
    region.blocks[0].append_to(target)
    end = list(target.blocks[0].operations)[-1].operation
    with ir.InsertionPoint(end), end.location:
        ir.Operation.create(terminator, operands=operands(end))
    end.erase()
