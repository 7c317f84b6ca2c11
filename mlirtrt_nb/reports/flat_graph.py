"""A program's ops and values without functions and clusters around them: what a partition is worked out on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import PassError
from ..ir import dtypes

if TYPE_CHECKING:
    from torch_mlir import ir

    from ..program import Program

__all__ = ["FlatGraph", "FlatOp", "FlatValue", "flat_graph"]

_CALLS = ("tensorrt.call_alloc", "func.call")
_ENDS = ("func.return", "plan.yield")


@dataclass(frozen=True)
class FlatOp:
    """An op that computes: its name as shown, where it came from, the backend that can take it, why that is
    not TensorRT ("" where it is), and the region that it is in."""

    name: str
    source: str
    backend: str
    reason: str = ""
    region: int = 0


@dataclass
class FlatValue:
    """A value: the op that gives it (None: an input), the ops that read it, its size if that is known."""

    producer: int | None
    bytes: int | None
    readers: list[int] = field(default_factory=list)


@dataclass
class FlatGraph:
    """Ops in an order in which they can run, and the values between them. Constants are left out.

    Region 0 is the function's body; the others are those of branches and loops of the Plan, which `holders`
    names by the op that they are of (None for region 0).
    """

    ops: list[FlatOp] = field(default_factory=list)
    values: list[FlatValue] = field(default_factory=list)
    holders: list[int | None] = field(default_factory=lambda: [None])

    @cached_property
    def producers(self) -> list[list[int]]:
        """Per op, the ops of its own region whose results it, or what is in its regions, reads."""
        found: list[set[int]] = [set() for _ in self.ops]
        for value in self.values:
            if value.producer is None:
                continue
            home = self.ops[value.producer].region
            for reader in value.readers:
                at: int | None = reader
                while at is not None and self.ops[at].region != home:
                    at = self.holders[self.ops[at].region]
                if at is not None and at != value.producer:
                    found[at].add(value.producer)
        return [sorted(entry) for entry in found]


def flat_graph(program: Program) -> FlatGraph:
    """The entry function of a program of any stage: ops, clusters, or calls of outlined functions.

    Raises PassError if there is no entry function.
    """
    from ..ir.inspect import entry_function

    entry = entry_function(program.module.operation)
    if entry is None:
        raise PassError("the program has no function with a body", hint="load a model, or write a func.func")
    with program.context:
        reader = _Reader(program)
        reader.function(entry, None)
    return reader.graph


class _Reader:
    """Walks functions in the order of their calls. `_ids` says which value of the graph an SSA value is."""

    def __init__(self, program: Program) -> None:
        from ..ir.symbols import functions

        self._functions = dict(functions(program.module))
        self._ids: dict[ir.Value, int] = {}
        self._region = 0
        self.graph = FlatGraph()

    def function(self, function: ir.Operation, arguments: Sequence[ir.Value] | None) -> list[ir.Value]:
        """Read a function's body; the values that it returns. Its arguments are new, or the caller's."""
        block = function.regions[0].blocks[0]
        for number, argument in enumerate(block.arguments):
            if arguments is None:
                self._new(argument, None)
            elif arguments[number] in self._ids:
                self._ids[argument] = self._ids[arguments[number]]
        return self._block(block)

    def _block(self, block: ir.Block) -> list[ir.Value]:
        from ..passes.clustering.values import CONTROL_FLOW, captured_values, is_constant

        for op in block.operations:
            operation = op.operation
            if operation.name in _ENDS:
                return list(operation.operands)
            if operation.name in _CALLS:
                self._forward(operation, self.function(self._callee(operation), list(operation.operands)))
            elif operation.name == "plan.cluster":
                self._forward(operation, self._block(operation.regions[0].blocks[0]))
            elif operation.name in CONTROL_FLOW:
                self._control(operation)
            elif not is_constant(operation):
                self._op(operation, captured_values(operation))
        return []

    def _control(self, operation: ir.Operation) -> None:
        """A branch or a loop of the Plan: an op that reads its own operands, with ops in its regions."""
        holder, outer = len(self.graph.ops), self._region
        self._op(operation, list(operation.operands))
        for region in operation.regions:
            self._region = len(self.graph.holders)
            self.graph.holders.append(holder)
            for argument in region.blocks[0].arguments:
                self._new(argument, None)
            for value in self._block(region.blocks[0]):
                if value in self._ids:  # read by who runs the region
                    self.graph.values[self._ids[value]].readers.append(holder)
        self._region = outer

    def _callee(self, call: ir.Operation) -> ir.Operation:
        from ..passes.plan.steps import symbol_path

        return self._functions[symbol_path(call.attributes["callee"])].operation

    def _forward(self, operation: ir.Operation, values: Sequence[ir.Value]) -> None:
        """The results of a call are what the function returns."""
        for result, value in zip(operation.results, values, strict=True):
            if value in self._ids:
                self._ids[result] = self._ids[value]

    def _op(self, operation: ir.Operation, reads: Sequence[ir.Value]) -> None:
        from ..ir.context import shown_name
        from ..ir.locations import sources_of
        from ..passes.clustering.dataflow import backend_of
        from ..passes.clustering.reasons import why_not_tensorrt

        number = len(self.graph.ops)
        source = next(iter(sources_of(operation.location)), "")
        backend = backend_of(operation)
        reason = why_not_tensorrt(operation) if backend not in ("tensorrt", "") else ""
        self.graph.ops.append(FlatOp(shown_name(operation.name), source, backend, reason, self._region))
        for value in reads:
            if value in self._ids:
                self.graph.values[self._ids[value]].readers.append(number)
        for result in operation.results:
            self._new(result, number)

    def _new(self, value: ir.Value, producer: int | None) -> None:
        self._ids[value] = len(self.graph.values)
        self.graph.values.append(FlatValue(producer, _bytes(value.type)))


def _bytes(kind: ir.Type) -> int | None:
    """Bytes of a tensor of known shape and of an element type that has a size; else None."""
    from torch_mlir import ir

    from ..ir.shapes import volume

    if not isinstance(kind, ir.RankedTensorType):
        return None
    count = volume(kind.shape)
    try:
        return None if count is None else dtypes.by_mlir(kind.element_type).nbytes(count)
    except KeyError:  # texts
        return None
