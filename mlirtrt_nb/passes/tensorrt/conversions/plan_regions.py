"""If, Loop and Scan as `plan.if` and `plan.loop`, whose regions hold onnx ops that are converted one by one.

For what no engine can hold whole: the Plan branches and loops itself, with engines inside.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch_mlir import ir

from ....dialects.onnx.inference import TypeInference, join, merge
from ....dialects.onnx.ops import constant, constant_value, is_absent, make
from ....dialects.plan.control_flow import end_region
from ....ir.builder import Op, create
from ....ir.shapes import DYNAMIC
from ....ir.values import terminator

__all__ = ["CONTROL_FLOW", "CannotOpen", "Opened", "open_up"]

CONTROL_FLOW = frozenset({"onnx.if", "onnx.loop", "onnx.scan"})
# Each round leaves more of a carried value's shape open; after this many it is left open whole.
_ROUNDS = 8
_SLICE_BY_INPUTS = 10  # the opset in which the bounds of Slice became inputs


class CannotOpen(Exception):
    """The Plan has no form of a construct, which so stays whole."""


@dataclass
class Opened:
    """A construct of the Plan that stands before an onnx op and is to take its place.

    `operation` is the `plan.if` or `plan.loop`; `before` and `after` are onnx ops that were made around it, yet
    to be converted as those in its regions are; `results` are what the op's results become.
    """

    operation: ir.Operation
    results: list[ir.Value]
    before: list[ir.Operation] = field(default_factory=list)
    after: list[ir.Operation] = field(default_factory=list)


def open_up(
    operation: ir.Operation, opsets: Mapping[str, int], weights: MutableMapping[str, np.ndarray]
) -> Opened:
    """Make the Plan's construct for an onnx.if, onnx.loop or onnx.scan, before the op, which stays.

    Raises CannotOpen, with nothing left behind, for what the Plan has no such form of.
    """
    maker = _Maker(operation, opsets, weights)
    if operation.name == "onnx.if":
        return maker.branch()
    return maker.loop() if operation.name == "onnx.loop" else maker.scan()


class _Maker:
    def __init__(
        self, operation: ir.Operation, opsets: Mapping[str, int], weights: MutableMapping[str, np.ndarray]
    ) -> None:
        self._original = operation
        self._opsets = opsets
        self._weights = weights
        self._location = operation.location
        self._point = ir.InsertionPoint(operation)
        self._i64 = ir.RankedTensorType.get([], ir.IntegerType.get_signless(64))

    def branch(self) -> Opened:
        ends = [list(terminator(region.blocks[0]).operands) for region in self._original.regions]
        for result, first, second in zip(self._original.results, *ends, strict=True):
            result.set_type(_either(result.type, first.type, second.type))
        copy = self._original.clone(self._point)
        kinds = [result.type for result in copy.results]
        made = create("plan.if", [copy.operands[0]], None, kinds, loc=self._location, ip=self._point)
        for source, target in zip(copy.regions, made.regions, strict=True):
            block = source.blocks[0]
            block.append_to(target)
            end_region(block, list(terminator(block).operands))
        copy.erase()
        return Opened(made, list(made.results))

    def loop(self) -> Opened:
        trips, going, *init = self._original.operands
        block, carried = self._body(init, 2)
        going_in = block.arguments[1]
        with ir.InsertionPoint.at_block_begin(block), self._location:
            going_in.replace_all_uses_with(constant(np.array(True), self._weights))
        block.erase_argument(1)
        yielded = list(terminator(block).operands)
        made = self._plan_loop(block, [trips, going, init], yielded, carried)
        return Opened(made, list(made.results))

    def scan(self) -> Opened:
        view = Op.of(self._original)
        if self._opsets.get("", 1) < 9:
            raise CannotOpen("Scan of opset 8, over a batch of sequences")
        inputs = [value for value in self._original.operands if not is_absent(value)]
        count = view.attr("num_scan_inputs")
        init, sequences = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
        outputs = len(self._original.results) - len(init)
        axes, backward = (_of_each(view, name, count) for name in ("scan_input_axes", "scan_input_directions"))
        out_axes, reverse = (
            _of_each(view, name, outputs) for name in ("scan_output_axes", "scan_output_directions")
        )
        ranked = [value for value in sequences if isinstance(value.type, ir.RankedTensorType)]
        if len(ranked) < count or (any(reverse) and self._opsets.get("", 1) < _SLICE_BY_INPUTS):
            raise CannotOpen("a Scan over tensors of unknown rank, or backwards before opset 10")
        block, carried = self._body(
            init, 0, [_without(v.type, a) for v, a in zip(sequences, axes, strict=True)]
        )
        before = self._length(sequences[0], axes[0])
        trips = before[-1].results[0]
        block = self._numbered(block)
        self._slices(block, trips, list(zip(sequences, axes, backward, strict=True)))
        with ir.InsertionPoint.at_block_begin(block), self._location:
            goes_on = constant(np.array(True), self._weights)
        yielded = [goes_on, *terminator(block).operands]
        made = self._plan_loop(block, [trips, None, init], yielded, carried)
        opened = Opened(made, list(made.results), [op for op in before if op.name != "onnx.constant"])
        for n in range(outputs):
            at = len(init) + n
            opened.results[at] = self._arranged(opened, opened.results[at], out_axes[n], bool(reverse[n]))
        return opened

    # Bodies ------------------------------------------------------------------------------------------------

    def _body(
        self, init: Sequence[ir.Value], fixed: int, slices: Sequence[ir.Type] = ()
    ) -> tuple[ir.Block, list[ir.Type]]:
        """A copy of the body, with types of carried values that hold in every turn; it has no parent yet.

        Its arguments are `fixed` ones, the carried values, then `slices`.
        """
        carried = [value.type for value in init]
        for attempt in range(_ROUNDS):
            copy = self._original.clone(self._point)
            block = copy.regions[0].blocks[0]
            arguments = list(block.arguments)[fixed:]
            for argument, kind in zip(arguments, [*carried, *slices], strict=True):
                argument.set_type(kind)
            self._infer(block)
            skipped = 1 if fixed else 0
            yielded = [v.type for v in list(terminator(block).operands)[skipped : skipped + len(carried)]]
            joined = [join(a, b) for a, b in zip(carried, yielded, strict=True)]
            if joined == carried or attempt == _ROUNDS - 1:
                if joined != carried:
                    copy.erase()
                    raise CannotOpen(
                        "a carried value whose type changes from turn to turn in more ways than one"
                    )
                self._copy = copy
                return block, carried
            copy.erase()
            carried = joined
        raise AssertionError("the last round returns or raises")

    def _infer(self, block: ir.Block) -> None:
        """Make the types in a block more precise, in order."""
        inference = TypeInference(self._opsets, lambda value: constant_value(value, self._weights))
        for view in block.operations:
            operation = view.operation
            if not operation.name.startswith("onnx.") or operation.name in ("onnx.constant", "onnx.yield"):
                continue
            for region in operation.regions:
                self._infer(region.blocks[0])
            if len(operation.regions) or operation.name in ("onnx.novalue", "onnx.custom"):
                continue
            for result, found in zip(operation.results, inference.results(operation), strict=False):
                if found is not None and not is_absent(result):
                    result.set_type(merge(result.type, found))

    def _plan_loop(
        self,
        block: ir.Block,
        operands: Sequence[ir.Value | Sequence[ir.Value] | None],
        yielded: Sequence[ir.Value],
        carried: Sequence[ir.Type],
    ) -> ir.Operation:
        """The loop around a body, which yields whether to go on, the carried values, then what is collected."""
        given = [None if isinstance(v, ir.Value) and is_absent(v) else v for v in operands]
        kinds = [*carried, *(_stacked(value.type) for value in yielded[1 + len(carried) :])]
        made = create("plan.loop", given, None, kinds, loc=self._location, ip=self._point)
        block.append_to(made.regions[0])
        end_region(block, yielded)
        self._copy.erase()
        return made

    # Scan --------------------------------------------------------------------------------------------------

    def _length(self, sequence: ir.Value, axis: int) -> list[ir.Operation]:
        """Ops for how many turns there are; the last one gives it."""
        kind = ir.RankedTensorType(sequence.type)
        axis %= kind.rank
        with self._point, self._location:
            if not kind.is_dynamic_dim(axis):
                return [constant(np.array(kind.get_dim_size(axis)), self._weights).owner.operation]
            dims = ir.RankedTensorType.get([kind.rank], self._i64.element_type)
            shape = make("Shape", [sequence], None, [dims])
            index = constant(np.array(axis), self._weights)
            return [shape, make("Gather", [shape.results[0], index], {"axis": 0}, [self._i64])]

    def _numbered(self, block: ir.Block) -> ir.Block:
        """The block with the number of the turn before its other arguments."""
        kinds = [self._i64, *(argument.type for argument in block.arguments)]
        made = self._copy.regions[0].blocks.append(*kinds, arg_locs=[self._location] * len(kinds))
        for before, after in zip(block.arguments, list(made.arguments)[1:], strict=True):
            before.replace_all_uses_with(after)
        for operation in list(block.operations):
            made.append(operation.operation)
        return made

    def _slices(
        self,
        block: ir.Block,
        trips: ir.Value,
        sequences: Sequence[tuple[ir.Value, int, int]],
    ) -> None:
        """Read each scanned input at the number of the turn, in place of the body's last arguments."""
        first, number = len(block.arguments) - len(sequences), block.arguments[0]
        with ir.InsertionPoint.at_block_begin(block), self._location:
            back = None
            if any(backward for _, _, backward in sequences):
                one = constant(np.array(1), self._weights)
                last = make("Sub", [trips, one], None, [self._i64]).results[0]
                back = make("Sub", [last, number], None, [self._i64]).results[0]
            for n, (sequence, axis, backward) in enumerate(sequences):
                argument = block.arguments[first + n]
                at = axis % ir.RankedTensorType(sequence.type).rank
                index = back if backward else number
                made = make("Gather", [sequence, index], {"axis": at}, [argument.type])
                argument.replace_all_uses_with(made.results[0])
        for _ in sequences:
            block.erase_argument(first)

    def _arranged(self, opened: Opened, value: ir.Value, axis: int, reverse: bool) -> ir.Value:
        """What was collected in front, backwards if so asked, and with its new axis in place."""
        if not isinstance(value.type, ir.RankedTensorType):
            if axis or reverse:
                raise CannotOpen("a Scan that arranges results of unknown rank")
            return value
        kind = ir.RankedTensorType(value.type)
        axis %= kind.rank
        with self._point, self._location:
            if reverse:
                bounds = [constant(np.array([n]), self._weights) for n in (-1, -(2**62), 0, -1)]
                opened.after.append(make("Slice", [value, *bounds], None, [kind]))
                value = opened.after[-1].results[0]
            if axis:
                order = [*range(1, axis + 1), 0, *range(axis + 1, kind.rank)]
                moved = ir.RankedTensorType.get([list(kind.shape)[n] for n in order], kind.element_type)
                opened.after.append(make("Transpose", [value], {"perm": order}, [moved]))
                value = opened.after[-1].results[0]
        return value


def _either(declared: ir.Type, first: ir.Type, second: ir.Type) -> ir.Type:
    """The type of a value that comes from one of two branches; what is declared of it may be wrong."""
    joined = join(first, second)
    if not isinstance(joined, ir.RankedTensorType) or not isinstance(declared, ir.RankedTensorType):
        return joined
    agree = declared.rank == joined.rank and all(
        a == b or DYNAMIC in (a, b)
        for kind in (first, second)
        for a, b in zip(declared.shape, ir.RankedTensorType(kind).shape, strict=True)
    )
    return merge(declared, joined) if agree else joined


def _of_each(view: Op, name: str, count: int) -> list[int]:
    return list(view.attr(name) or [0] * count)


def _without(kind: ir.Type, axis: int) -> ir.Type:
    ranked = ir.RankedTensorType(kind)
    dims = list(ranked.shape)
    del dims[axis % ranked.rank]
    return ir.RankedTensorType.get(dims, ranked.element_type)


def _stacked(kind: ir.Type) -> ir.Type:
    """The type of values of one type along a new first axis."""
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    return ir.RankedTensorType.get([DYNAMIC, *kind.shape], kind.element_type)
