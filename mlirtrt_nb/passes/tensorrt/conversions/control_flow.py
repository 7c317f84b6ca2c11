"""If, Loop and Scan: the regions are converted whole, or the op stays on the host whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from ....ir.builder import create
from ....ir.values import terminator
from .emitter import Emitter
from .node import Node, Refused, constant_array, converter, element, rank_of, shape_of
from .shape_values import producer

__all__: list[str] = []

_IF_TYPES = frozenset({"i1", "i32", "i64", "f16", "bf16", "f32"})
# What ONNX writes for "no limit".
_ENDLESS = 2**62


@converter("If")
def _if(node: Node, emit: Emitter) -> list[ir.Value]:
    condition = _scalar(emit, node[0])
    declared = [value.type for value in node.results if value is not None]
    if any(isinstance(kind, ir.UnrankedTensorType) for kind in declared):
        declared = [emit.type([], "f32")] * len(declared)  # set right below
    made = emit.ops("if", [condition], None, declared)
    operation = emit.created[-1]
    branches = []
    for source, region in zip(node.operation.regions, operation.regions, strict=True):
        target = region.blocks.append()
        yielded = _convert(node, source.blocks[0], target, [])
        branches.append(yielded)
        _end(emit, operation, target, "tensorrt.yield", [yielded])
    for value, first, second in zip(made, *branches, strict=True):
        value.set_type(_either(emit, first, second))
    return made


def _convert(node: Node, source: ir.Block, target: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    assert node.convert_block is not None
    return node.convert_block(source, target, arguments)


def _end(
    emit: Emitter,
    operation: ir.Operation,
    block: ir.Block,
    name: str,
    operands: Sequence[ir.Value | list[ir.Value]],
) -> None:
    """End a region of `operation`."""
    made = create(name, operands, loc=operation.location, ip=ir.InsertionPoint(block))
    emit.created.append(made)  # so that it goes before what it reads, if all is taken back


def _scalar(emit: Emitter, value: ir.Value) -> ir.Value:
    """A tensor of one element as one of rank 0."""
    return value if rank_of(value) == 0 else emit.reshape(value, [])


def _either(emit: Emitter, first: ir.Value, second: ir.Value) -> ir.Type:
    """The type of a value that comes from one of two branches."""
    if rank_of(first) != rank_of(second) or element(first) != element(second):
        raise Refused(f"branches that give {first.type} and {second.type}")
    if element(first) not in _IF_TYPES:
        raise Refused(f"a branch that gives element type {element(first)}")
    pairs = zip(shape_of(first), shape_of(second), strict=True)
    return emit.type([a if a == b else None for a, b in pairs], element(first))


@converter("Loop")
def _loop(node: Node, emit: Emitter) -> list[ir.Value]:
    """A loop with a fixed number of turns is a `for`, one that a condition ends a `while`."""
    source = node.operation.regions[0].blocks[0]
    limit = node.input(0)
    array = node.array(0)
    endless = limit is None or (array is not None and int(array.reshape(-1)[0]) >= _ENDLESS)
    carried = [value for value in node.inputs[2:] if value is not None]
    if not endless and limit is not None and _runs_on(node, source):
        return _counted(node, emit, source, _scalar(emit, limit), carried)
    return _conditional(node, emit, source, None if endless else limit, carried)


def _runs_on(node: Node, source: ir.Block) -> bool:
    """Whether the condition is true before and after every turn."""
    if node.input(1) is not None and not _is_true(node, node[1]):
        return False
    end = terminator(source)
    value = end.operands[0]
    while True:
        made = producer(value)
        if made is None or made.name != "onnx.identity":
            break
        value = made.operands[0]
    return value == source.arguments[1] or _is_true(node, value)


def _is_true(node: Node, value: ir.Value) -> bool:
    array = constant_array(value, node.weights)
    return array is not None and bool(np.all(array))


def _index(emit: Emitter, number: int) -> ir.Value:
    return emit.filled(number, "i64")


def _counted(
    node: Node, emit: Emitter, source: ir.Block, count: ir.Value, carried: Sequence[ir.Value]
) -> list[ir.Value]:
    collected = len(node.results) - len(carried)
    init = [emit.value(value) for value in carried]
    bounds = [_index(emit, 0), emit.cast(count, "i64"), _index(emit, 1)]
    made, block = _for(emit, bounds, init, ["kCONCATENATE"] * collected, [0] * collected)
    goes_on = _true(emit, block)
    arguments = [block.arguments[0], goes_on, *list(block.arguments)[1:]]
    yielded = _convert(node, source, block, arguments)[1:]
    return _finish(emit, made, block, init, yielded, [0] * collected)


def _true(emit: Emitter, block: ir.Block) -> ir.Value:
    with emit.inside(block):
        return emit.filled(True, "i1")


def _for(
    emit: Emitter, bounds: Sequence[ir.Value], init: Sequence[ir.Value], how: list[str], axes: list[int]
) -> tuple[list[ir.Value], ir.Block]:
    """A `for` whose body is still empty; types of what it collects are set when that is known."""
    types = [value.type for value in init] + [emit.type([None], "f32")] * len(how)
    made = emit.ops("for", [*bounds, list(init)], _collection(how, axes), types)
    region = emit.created[-1].regions[0]
    kinds = [bounds[0].type, *(value.type for value in init)]
    return made, region.blocks.append(*kinds, arg_locs=[emit.created[-1].location] * len(kinds))


def _collection(how: list[str], axes: list[int]) -> dict[str, object] | None:
    if not how:
        return None
    return {"collected": ir.ArrayAttr.get([ir.StringAttr.get(h) for h in how]), "collect_axes": axes}


def _finish(
    emit: Emitter,
    made: list[ir.Value],
    block: ir.Block,
    init: Sequence[ir.Value],
    yielded: list[ir.Value],
    axes: list[int],
) -> list[ir.Value]:
    """End the body, and give the results the types that came out of it."""
    for before, after in zip(init, yielded, strict=False):
        if element(before) != element(after) or shape_of(before) != shape_of(after):
            raise Refused(f"a carried value that changes from {before.type} to {after.type}")
    _end(emit, block.owner.operation, block, "tensorrt.yield", [yielded])
    for value, part, axis in zip(made[len(init) :], yielded[len(init) :], axes, strict=True):
        dims = list(shape_of(part))
        dims.insert(axis, None)
        value.set_type(emit.type(dims, element(part)))
    return made


def _conditional(
    node: Node,
    emit: Emitter,
    source: ir.Block,
    limit: ir.Value | None,
    carried: Sequence[ir.Value],
) -> list[ir.Value]:
    """Carries the condition and the number of the turn beside the loop's own values."""
    how = ["kCONCATENATE"] * (len(node.results) - len(carried))
    if how and limit is None:
        raise Refused("results that are collected over an unknown number of turns")
    first = emit.filled(True, "i1") if node.input(1) is None else _scalar(emit, node[1])
    init = [emit.value(v) for v in (first, _index(emit, 0), *carried)]
    count = None if limit is None else emit.cast(_scalar(emit, limit), "i64")
    types = [value.type for value in init] + [emit.type([None], "f32")] * len(how)
    made = emit.ops("while", [init, count], _collection(how, [0] * len(how)), types)
    operation = emit.created[-1]
    kinds = [value.type for value in init]
    test, body = (
        region.blocks.append(*kinds, arg_locs=[operation.location] * len(kinds)) for region in operation.regions
    )
    with emit.inside(test):
        goes_on = test.arguments[0]
        if count is not None:
            goes_on = emit.binary("kAND", goes_on, emit.binary("kLESS", test.arguments[1], count))
        _end(emit, operation, test, "tensorrt.condition", [goes_on, list(test.arguments)])
    turn, going = body.arguments[1], body.arguments[0]
    yielded = _convert(node, source, body, [turn, going, *list(body.arguments)[2:]])
    with emit.inside(body):
        following = emit.binary("kSUM", turn, _index(emit, 1))
    yielded = [_scalar_in(emit, body, yielded[0]), following, *yielded[1:]]
    return _finish(emit, made, body, init, yielded, [0] * len(how))[2:]


def _scalar_in(emit: Emitter, block: ir.Block, value: ir.Value) -> ir.Value:
    with emit.inside(block):
        return _scalar(emit, value)


@converter("Scan")
def _scan(node: Node, emit: Emitter) -> list[ir.Value]:
    """A `for` over slices of the scanned inputs, which collects the scanned outputs."""
    if node.opset < 9:
        raise Refused("a batch of sequences, of opset 8")
    inputs = [value for value in node.inputs if value is not None]
    scanned = node.attr("num_scan_inputs")
    states, sequences = inputs[: len(inputs) - scanned], inputs[len(inputs) - scanned :]
    outputs = len(node.results) - len(states)
    axes = [
        node.axis(a, rank_of(x))
        for a, x in zip(node.attr("scan_input_axes") or [0] * scanned, sequences, strict=True)
    ]
    out_axes = list(node.attr("scan_output_axes") or [0] * outputs)
    reverse = list(node.attr("scan_output_directions") or [0] * outputs)
    init = [emit.value(value) for value in states]
    length = emit.squeeze(emit.scalar(emit.sizes(sequences[0])[axes[0]]), [0])
    how = ["kREVERSE" if backward else "kCONCATENATE" for backward in reverse]
    made, block = _for(emit, [_index(emit, 0), length, _index(emit, 1)], init, how, [0] * outputs)
    loop = emit.created[-1]
    backward = list(node.attr("scan_input_directions") or [0] * scanned)
    with emit.inside(block):
        slices = [
            _slice_of(emit, x, axis, bool(back))
            for x, axis, back in zip(sequences, axes, backward, strict=True)
        ]
    source = node.operation.regions[0].blocks[0]
    yielded = _convert(node, source, block, [*list(block.arguments)[1:], *slices])
    parts = yielded[len(states) :]
    out_axes = [a + rank_of(part) + 1 if a < 0 else a for a, part in zip(out_axes, parts, strict=True)]
    if how:
        loop.attributes["collect_axes"] = ir.DenseI64ArrayAttr.get(out_axes)
    return _finish(emit, made, block, init, yielded, out_axes)


def _slice_of(emit: Emitter, x: ir.Value, axis: int, reverse: bool) -> ir.Value:
    dims = [d for n, d in enumerate(shape_of(x)) if n != axis]
    return emit.op("iterator", [x], {"axis": axis, "reverse": reverse}, emit.type(dims, element(x)))
