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
    """An op that computes: its name as shown, where it came from, the backend that can take it, and why that
    is not TensorRT ("" where it is)."""

    name: str
    source: str
    backend: str
    reason: str = ""


@dataclass
class FlatValue:
    """A value: the op that gives it (None: an input), the ops that read it, its size if that is known."""

    producer: int | None
    bytes: int | None
    readers: list[int] = field(default_factory=list)


@dataclass
class FlatGraph:
    """Ops in an order in which they can run, and the values between them. Constants are left out."""

    ops: list[FlatOp] = field(default_factory=list)
    values: list[FlatValue] = field(default_factory=list)

    @cached_property
    def producers(self) -> list[list[int]]:
        """Per op, the ops whose results it reads."""
        found: list[set[int]] = [set() for _ in self.ops]
        for value in self.values:
            if value.producer is not None:
                for reader in value.readers:
                    found[reader].add(value.producer)
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
        from ..passes.clustering.values import is_constant

        for op in block.operations:
            operation = op.operation
            if operation.name in _ENDS:
                return list(operation.operands)
            if operation.name in _CALLS:
                self._forward(operation, self.function(self._callee(operation), list(operation.operands)))
            elif operation.name == "plan.cluster":
                self._forward(operation, self._block(operation.regions[0].blocks[0]))
            elif not is_constant(operation):
                self._op(operation)
        return []

    def _callee(self, call: ir.Operation) -> ir.Operation:
        from ..passes.plan.steps import symbol_path

        return self._functions[symbol_path(call.attributes["callee"])].operation

    def _forward(self, operation: ir.Operation, values: Sequence[ir.Value]) -> None:
        """The results of a call are what the function returns."""
        for result, value in zip(operation.results, values, strict=True):
            if value in self._ids:
                self._ids[result] = self._ids[value]

    def _op(self, operation: ir.Operation) -> None:
        from ..ir.context import shown_name
        from ..ir.locations import sources_of
        from ..passes.clustering.dataflow import backend_of
        from ..passes.clustering.values import captured_values

        number = len(self.graph.ops)
        source = next(iter(sources_of(operation.location)), "")
        reason = ""
        if "plan.fallback" in operation.attributes:
            reason = str(operation.attributes["plan.fallback"].value)  # type: ignore[attr-defined]
        self.graph.ops.append(FlatOp(shown_name(operation.name), source, backend_of(operation), reason))
        for value in captured_values(operation):
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
