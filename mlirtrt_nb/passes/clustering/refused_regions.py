"""A `tensorrt.if`, `for` or `while` that the builder refused becomes the Plan's, with engines inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch_mlir import ir

from ...dialects.plan.control_flow import end_region
from ...ir.builder import Op, create
from ...ir.constants import attribute_of, value_of
from ...ir.shapes import DYNAMIC
from ...ir.values import terminator
from .values import CONTROL_FLOW, nested
from .worth import is_worth_splitting

__all__ = ["open_refused"]

_FALLBACK = "plan.fallback"
_LOOPS = frozenset({"tensorrt.for", "tensorrt.while"})


def open_refused(block: ir.Block, *, worth: bool) -> None:
    """Open what is refused in a block and in the Plan's regions in it, where that is worth it; nothing, unless
    `worth`.

    What stays closed is marked `plan.fallback` itself if something in it is, so that no engine takes it.
    """
    for operation in [op.operation for op in block.operations]:
        opened: ir.Operation | None = operation if operation.name in CONTROL_FLOW else None
        if operation.name in _OPENERS:
            opened = _open(operation, worth)
        if opened is not None:
            for region in opened.regions:
                open_refused(region.blocks[0], worth=worth)


def _open(operation: ir.Operation, worth: bool) -> ir.Operation | None:
    reason = next((op.attributes[_FALLBACK] for op in nested(operation) if _FALLBACK in op.attributes), None)
    if reason is None:
        return None
    operation.attributes[_FALLBACK] = reason
    if not worth or not is_worth_splitting(operation) or "kREVERSE" in _collected(operation):
        return None
    with operation.location:
        opened = _OPENERS[operation.name](operation)
    opened.attributes[_FALLBACK] = reason
    return opened


def _collected(operation: ir.Operation) -> list[str]:
    return list(Op.of(operation).attr("collected") or []) if operation.name in _LOOPS else []


def _open_if(operation: ir.Operation) -> ir.Operation:
    kinds = [result.type for result in operation.results]
    made = create("plan.if", [operation.operands[0]], None, kinds, ip=ir.InsertionPoint(operation))
    for source, target in zip(operation.regions, made.regions, strict=True):
        block = source.blocks[0]
        block.append_to(target)
        end_region(block, list(terminator(block).operands))
    _replace(operation, list(made.results))
    return made


def _open_for(operation: ir.Operation) -> ir.Operation:
    view = Op.of(operation)
    lower, upper, step = (_value(view, name) for name in ("lowerBound", "upperBound", "step"))
    from_zero = (_number(lower), _number(step)) == (0, 1)
    with ir.InsertionPoint(operation):
        trips = upper
        if not from_zero:  # ceil((upper - lower) / step)
            downwards = _binary("kFLOOR_DIV", _binary("kSUB", lower, upper), step)
            trips = _binary("kSUB", _constant(0, lower.type), downwards)
        trips = _cast(trips, "i64")
    _leave_to_host(operation, trips)
    block = operation.regions[0].blocks[0]
    made, body = _loop(operation, [trips, None, view.group("init")], list(block.arguments)[1:], block)
    kind = str(ir.RankedTensorType(lower.type).element_type)
    with ir.InsertionPoint.at_block_begin(body):
        number = _cast(body.arguments[0], kind)
        if not from_zero:
            number = _binary("kSUM", lower, _binary("kPROD", number, step))
    block.arguments[0].replace_all_uses_with(number)
    end = terminator(body)
    with ir.InsertionPoint(end):
        goes_on = _constant(True, _scalar("i1"))
    end_region(body, [goes_on, *end.operands])
    _replace(operation, _arranged(operation, made))
    return made


def _open_while(operation: ir.Operation) -> ir.Operation:
    view = Op.of(operation)
    with ir.InsertionPoint(operation):
        first = operation.clone()
        going, *init = _inlined(first.regions[0].blocks[0], view.group("operands"), first)
        limit = view.operand("maxIterations")
        trips = None if limit is None else _cast(limit, "i64")
    first.erase()
    if trips is not None:
        _leave_to_host(operation, trips)
    test, block = (region.blocks[0] for region in operation.regions)
    made, body = _loop(operation, [trips, going, init], list(block.arguments), block)
    end = terminator(body)
    given = list(end.operands)
    again = _inlined(test, given[: len(init)], end)
    end_region(body, [*again, *given[len(init) :]])
    _replace(operation, _arranged(operation, made))
    return made


_OPENERS = {"tensorrt.if": _open_if, "tensorrt.for": _open_for, "tensorrt.while": _open_while}


def _loop(
    operation: ir.Operation,
    operands: Sequence[ir.Value | Sequence[ir.Value] | None],
    carried: Sequence[ir.Value],
    block: ir.Block,
) -> tuple[ir.Operation, ir.Block]:
    """A `plan.loop` before the op, and its body: the ops of `block`, with the body's arguments for `carried`.
    Slices of the turn are read by the turn's number."""
    kinds = [value.type for value in carried]
    collected = [value.type for value in list(terminator(block).operands)[len(carried) :]]
    results = [*kinds, *(_stacked(kind) for kind in collected)]
    made = create("plan.loop", operands, None, results, ip=ir.InsertionPoint(operation))
    types = [_scalar("i64"), *kinds]
    body = made.regions[0].blocks.append(*types, arg_locs=[operation.location] * len(types))
    for before, after in zip(carried, list(body.arguments)[1:], strict=True):
        before.replace_all_uses_with(after)
    for inner in [op.operation for op in block.operations]:
        body.append(inner)
    for iterator in list(_iterators(body)):
        _read_slice(iterator, body.arguments[0])
    return made, body


def _inlined(block: ir.Block, values: Sequence[ir.Value], before: ir.Operation) -> list[ir.Value]:
    """Move the ops of a while's condition before an op, on other values; the flag and what it passes on."""
    for argument, value in zip(block.arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    *operations, end = [op.operation for op in block.operations]
    for operation in operations:
        operation.move_before(before)
    return list(end.operands)


def _iterators(block: ir.Block) -> Iterator[ir.Operation]:
    """The iterators of this loop, not those of loops in it."""
    for view in block.operations:
        operation = view.operation
        if operation.name == "tensorrt.iterator":
            yield operation
        elif operation.name not in _LOOPS:
            for region in operation.regions:
                yield from _iterators(region.blocks[0])


def _read_slice(iterator: ir.Operation, number: ir.Value) -> None:
    """Read the slice at the number of the turn, from the end if so asked."""
    view = Op.of(iterator)
    source, axis, index = _value(view, "input"), view.attr("axis"), number
    with ir.InsertionPoint(iterator), iterator.location:
        if view.attr("reverse"):
            index = _binary("kSUB", _last_index(source, axis), number)
        kinds = [result.type for result in iterator.results]
        read = create("tensorrt.gather", [source, index], {"axis": axis}, kinds)
        if _FALLBACK in iterator.attributes:
            read.attributes[_FALLBACK] = iterator.attributes[_FALLBACK]
    _replace(iterator, list(read.results))


def _last_index(source: ir.Value, axis: int) -> ir.Value:
    kind = ir.RankedTensorType(source.type)
    if not kind.is_dynamic_dim(axis):
        return _constant(kind.get_dim_size(axis) - 1, _scalar("i64"))
    one = ir.RankedTensorType.get([1], ir.IntegerType.get_signless(64))
    dims = create("tensorrt.shape", [source], None, [ir.RankedTensorType.get([kind.rank], one.element_type)])
    index = _constant(axis, _scalar("i64"))
    size = create("tensorrt.gather", [dims.results[0], index], {"axis": 0}, [_scalar("i64")]).results[0]
    return _binary("kSUB", size, _constant(1, _scalar("i64")))


def _arranged(operation: ir.Operation, made: ir.Operation) -> list[ir.Value]:
    """What the loop gives, with the new axis of collected values where the op has it."""
    axes = Op.of(operation).attr("collect_axes") or []
    results = list(made.results)
    first = len(results) - len(axes)
    with ir.InsertionPoint(operation):
        for n, axis in enumerate(axes, first):
            if axis:
                rank = ir.RankedTensorType(results[n].type).rank
                order = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
                attributes = {"first_transpose": order, "second_transpose": list(range(rank))}
                kind = operation.results[n].type
                results[n] = create("tensorrt.shuffle", [results[n]], attributes, [kind]).results[0]
                _leave_to_host(operation, results[n])
    return results


def _leave_to_host(operation: ir.Operation, value: ir.Value) -> None:
    """Mark ops that were made around a loop, from the one that gives `value` backwards: they are no work for an
    engine, and a builder that refused one could not be told from one that refuses the loop."""
    owner = value.owner
    if not isinstance(owner, ir.OpView | ir.Operation) or str(owner.location) != str(operation.location):
        return
    if owner.name.startswith("tensorrt.") and owner.name != "tensorrt.constant":
        owner.attributes[_FALLBACK] = operation.attributes[_FALLBACK]
        for operand in owner.operands:
            _leave_to_host(operation, operand)


def _value(view: Op, name: str) -> ir.Value:
    value = view.operand(name)
    assert value is not None
    return value


def _number(value: ir.Value) -> int | None:
    """The number that a constant holds; None for other values."""
    owner = value.owner
    if not isinstance(owner, ir.OpView | ir.Operation) or owner.name != "tensorrt.constant":
        return None
    return int(value_of(owner.attributes["weights"], {}).item())


def _scalar(element: str) -> ir.RankedTensorType:
    return ir.RankedTensorType.get([], ir.Type.parse(element))


def _constant(number: int, kind: ir.Type) -> ir.Value:
    from ...ir import dtypes

    array = np.array(number, dtypes.by_mlir(ir.RankedTensorType(kind).element_type).np)
    return create("tensorrt.constant", [], {"weights": attribute_of(array, {}, "number")}, [kind]).results[0]


def _binary(kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
    return create("tensorrt.element_wise", [a, b], {"elementwiseOperation": kind}, [a.type]).results[0]


def _cast(value: ir.Value, element: str) -> ir.Value:
    if str(ir.RankedTensorType(value.type).element_type) == element:
        return value
    return create("tensorrt.cast", [value], None, [_scalar(element)]).results[0]


def _stacked(kind: ir.Type) -> ir.Type:
    ranked = ir.RankedTensorType(kind)
    return ir.RankedTensorType.get([DYNAMIC, *ranked.shape], ranked.element_type)


def _replace(operation: ir.Operation, values: Sequence[ir.Value]) -> None:
    for result, value in zip(operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()
