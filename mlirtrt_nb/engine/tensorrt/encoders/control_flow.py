"""Branches, loops and assertions.

A region is encoded by the network's own walk, which the scope carries: so the two need not import each other.
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from ....errors import EngineBuildError
from ....ir.builder import Op
from ....ir.constants import value_of
from ....ir.values import has_uses
from ..scope import Scope
from .registry import encodes, member


@encodes("if")
def if_(s: Scope, op: Op) -> list[Any]:
    assert op.operation is not None
    conditional = s.made(s.net.add_if_conditional())
    s.made(conditional.set_condition(s.input(op, "condition")))
    branches = []
    for region in op.operation.regions:
        block = region.blocks[0]
        inner = s.child(enter=lambda tensor: s.out(conditional.add_input(tensor)))
        yielded = Op.of(inner.encode_block(block)).group("results")
        branches.append([inner.settled(value) for value in yielded])
    pairs = zip(*branches, strict=True)
    return [s.out(conditional.add_output(first, second)) for first, second in pairs]


@encodes("while")
def while_(s: Scope, op: Op) -> list[Any]:
    assert op.operation is not None
    condition_block, body_block = (region.blocks[0] for region in op.operation.regions)
    loop = s.made(s.net.add_loop())
    inner = s.child(loop=loop)
    carried = _recurrences(s, inner, loop, op.group("operands"), list(condition_block.arguments))
    condition = Op.of(inner.encode_block(condition_block))
    _check_forwarded(condition.group("args"), list(condition_block.arguments), op)
    s.made(loop.add_trip_limit(inner.tensor(condition.group("condition")[0]), s.trt.TripLimit.WHILE))
    for argument, recurrence in zip(body_block.arguments, carried, strict=True):
        inner.bind(argument, recurrence.get_output(0))
    yielded = Op.of(inner.encode_block(body_block)).group("results")
    limit = s.input(op, "maxIterations")
    return _outputs(s, inner, op, loop, carried, yielded, limit)


def _check_forwarded(args: list[ir.Value], carried: list[ir.Value], op: Op) -> None:
    """TensorRT's loop gives the carried values themselves to the body and as results."""
    if list(args) != carried:
        raise EngineBuildError(
            "TensorRT loops cannot forward other values than the carried ones from a while's condition",
            hint="compute them in the body and carry them",
        )


@encodes("for")
def for_(s: Scope, op: Op) -> list[Any]:
    assert op.operation is not None
    block = op.operation.regions[0].blocks[0]
    count = _trip_count(s, op)
    loop = s.made(s.net.add_loop())
    s.made(loop.add_trip_limit(count, s.trt.TripLimit.COUNT))
    inner = s.child(loop=loop)
    if has_uses(block.arguments[0]):
        number = s.made(loop.add_recurrence(s.input(op, "lowerBound")))
        following = s.net.add_elementwise(
            number.get_output(0), s.input(op, "step"), s.trt.ElementWiseOperation.SUM
        )
        number.set_input(1, s.out(following))
        inner.bind(block.arguments[0], number.get_output(0))
    carried = _recurrences(s, inner, loop, op.group("init"), list(block.arguments)[1:])
    yielded = Op.of(inner.encode_block(block)).group("results")
    return _outputs(s, inner, op, loop, carried, yielded, count)


def _trip_count(s: Scope, op: Op) -> Any:
    """ceil((upper - lower) / step), which is -floor((lower - upper) / step); just upper from 0 by 1."""
    upper = s.input(op, "upperBound")
    if (_number(s, op, "lowerBound"), _number(s, op, "step")) == (0, 1):
        return upper
    operations = s.trt.ElementWiseOperation
    span = s.out(s.net.add_elementwise(s.input(op, "lowerBound"), upper, operations.SUB))
    floored = s.out(s.net.add_elementwise(span, s.input(op, "step"), operations.FLOOR_DIV))
    zero = s.constant_tensor([], s.bank.integers([0], str(op.type("upperBound").element_type)))
    return s.out(s.net.add_elementwise(zero, floored, operations.SUB))


def _number(s: Scope, op: Op, name: str) -> int | None:
    """The operand's value where it is a constant."""
    attribute = s.constant(op.operand(name))
    return None if attribute is None else int(value_of(attribute, {}).item())


def _recurrences(
    s: Scope, inner: Scope, loop: Any, initial: list[ir.Value], arguments: list[ir.Value]
) -> list[Any]:
    layers = [s.made(loop.add_recurrence(s.tensor(value))) for value in initial]
    for argument, layer in zip(arguments, layers, strict=True):
        inner.bind(argument, layer.get_output(0))
    return layers


def _outputs(
    s: Scope, inner: Scope, op: Op, loop: Any, carried: list[Any], yielded: list[ir.Value], length: Any
) -> list[Any]:
    """Close the recurrences; give the last carried values, then what is collected over the iterations."""
    for recurrence, value in zip(carried, yielded, strict=False):
        collected = value in yielded[len(carried) :]
        recurrence.set_input(1, inner.settled(value) if collected else _closing(inner, value))
    assert op.operation is not None
    results = [
        _last(s, loop, layer) if has_uses(result) else None
        for layer, result in zip(carried, op.operation.results, strict=False)
    ]
    kinds, axes = op.attr("collected") or [], op.attr("collect_axes") or []
    for value, kind, axis in zip(yielded[len(carried) :], kinds, axes, strict=True):
        layer = s.made(loop.add_loop_output(inner.tensor(value), member(s.trt.LoopOutput, kind), axis))
        if length is None:
            raise EngineBuildError(
                "a while that collects values needs their greatest number", hint="give maxIterations"
            )
        layer.set_input(1, length)
        results.append(layer.get_output(0))
    return results


def _last(s: Scope, loop: Any, recurrence: Any) -> Any:
    """A carried value after the loop. Not to be made where nothing reads it: no branch builds around one."""
    return s.out(loop.add_loop_output(recurrence.get_output(0), s.trt.LoopOutput.LAST_VALUE))


def _closing(inner: Scope, value: ir.Value) -> Any:
    """The tensor that a loop carries on and does not collect. The builder finds no type for one that comes
    from most kinds of layers; it does for an identity of it."""
    tensor, owner = inner.settled(value), value.owner
    if isinstance(owner, ir.Block) or owner.name in _TYPED:
        return tensor
    return inner.out(inner.net.add_identity(tensor))


_TYPED = frozenset(
    f"tensorrt.{name}"
    for name in (
        "cast",
        "collapse_rank",
        "concatenation",
        "element_wise",
        "expand_rank",
        "gather",
        "identity",
        "reshape",
        "select",
        "shuffle",
        "slice",
        "transpose",
    )
)


@encodes("iterator")
def iterator(s: Scope, op: Op) -> Any:
    if s.loop is None:
        raise EngineBuildError("tensorrt.iterator stands outside a loop's body")
    return s.out(s.loop.add_iterator(s.input(op, "input"), op.attr("axis"), bool(op.attr("reverse"))))


@encodes("assertion")
def assertion(s: Scope, op: Op) -> list[Any]:
    s.made(s.net.add_assertion(s.input(op, "condition"), op.attr("message")))
    return []
