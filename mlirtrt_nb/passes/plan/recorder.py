"""From calls on values to steps on memory: which buffers a program needs, and what is done in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...errors import PassError
from ...ir import dtypes, shapes
from ...ir.context import shown_name
from ...ir.locations import sources_of
from ...ir.values import terminator
from .origins import Origins
from .signature import dictionaries, name_of
from .steps import CALLS, CONSTANTS, Memory, Step, constant_memory, ranked, symbol_path, walk

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["Recorder"]


class Recorder:
    """Walks the entry function of an outlined program and records the steps of one kind of device.

    Args:
        device: "cpu": all is done on the host. "cuda": TensorRT engines are enqueued on the device, and what
            they share with the host is copied.
        workspaces: engine path -> bytes of scratch memory. One that is missing gets none from the Plan.
        upper_bound: the largest shape that a value can take, or None.
        origins: which op makes or reads a value.
    """

    def __init__(
        self,
        device: str,
        workspaces: Mapping[str, int],
        upper_bound: Callable[[ir.Value], tuple[int, ...] | None],
        origins: Origins,
    ) -> None:
        self.device = device
        self.steps: list[Step] = []
        self.inputs: list[Memory] = []
        self.outputs: list[Memory] = []
        self.places: dict[ir.Value, dict[str, Memory]] = {}
        self.pending = False  # work on the stream that the host has not waited for
        self._workspaces = workspaces
        self._upper_bound = upper_bound
        self._origins = origins
        self._wanted: dict[ir.Value, list[Memory]] = {}
        self._names: dict[ir.Value, str] = {}
        self._block = self.steps  # where steps are added
        self._count = 0

    def record(self, function: ir.OpView) -> None:
        """Record every op of `function`, which must be one block of constants, calls, branches and loops."""
        body = function.regions[0].blocks[0]
        self._declare(function, body)
        end = terminator(body)
        self.region(body, self.outputs)
        self.wait(end.location)

    def region(self, block: ir.Block, targets: Sequence[Memory]) -> None:
        """Record a block; what its terminator gives is put into `targets`, one for each value."""
        *operations, end = [op.operation for op in block.operations]
        pairs = list(zip(end.operands, targets, strict=True))
        made = {result for op in operations for result in op.results}
        for value, memory in pairs:
            if value in made:
                self._wanted.setdefault(value, []).append(memory)
        self.operations(operations)
        written = {id(memory) for step in walk(self._block) for memory in step.outs}
        for value, memory in pairs:
            if id(memory) not in written:
                places = self.places[value]
                source = places.get(memory.side) or next(iter(places.values()))
                self.copy(source, memory, self._origins.moved(value, end))

    def operations(self, operations: Sequence[ir.Operation]) -> None:
        """Record ops in order."""
        from .control_flow import record_branch, record_loop

        for op in operations:
            if op.name in CONSTANTS:
                self.places[op.results[0]] = {"host": constant_memory(op)}
            elif op.name in CALLS:
                self._call(op)
            elif op.name == "plan.if":
                record_branch(self, op)
            elif op.name == "plan.loop":
                record_loop(self, op)
            else:
                where = ", ".join(sources_of(op.location)) or None
                raise PassError(f"@main still holds {shown_name(op.name)}", where=where, hint=_OUTLINE_HINT)

    def memories(self) -> Iterator[Memory]:
        """Every memory that a step touches, each once, in order of first use."""
        touched = (memory for step in walk(self.steps) for memory in step.touches())
        yield from dict.fromkeys(touched)

    @contextmanager
    def inside(self, step: Step) -> Iterator[list[Step]]:
        """Add steps to a new block of `step` meanwhile. Copies that are made there are known only there."""
        before, self._block = self._block, []
        step.blocks.append(self._block)
        places, self.places = self.places, {value: dict(found) for value, found in self.places.items()}
        try:
            yield self._block
        finally:
            self._block, self.places = before, places

    def add(self, step: Step) -> Step:
        """Add a step after the others of the block."""
        step.index = self._count
        self._count += 1
        for memory in step.touches():
            memory.uses.append(step.index)
        self._block.append(step)
        return step

    def wait(self, location: ir.Location) -> None:
        """The host is about to read what copies wrote, or to write over what they still read."""
        if self.pending:
            self.add(Step("synchronize", location))
            self.pending = False

    def is_enqueued(self, op: ir.Operation) -> bool:
        """Whether a call is work for the device."""
        return op.name == "tensorrt.call_alloc" and self.device == "cuda"

    def _declare(self, function: ir.OpView, block: ir.Block) -> None:
        attributes = dictionaries(function, "arg_attrs")
        for n, argument in enumerate(block.arguments):
            name = name_of(attributes, n, "arg")
            memory = Memory("input", "host", argument.type, None, n, name)
            self._names[argument] = name
            self.inputs.append(memory)
            self.places[argument] = {"host": memory}
        attributes = dictionaries(function, "res_attrs")
        for n, value in enumerate(terminator(block).operands):
            name = name_of(attributes, n, "result")
            self.outputs.append(Memory("output", "host", value.type, self._bytes(value, "host"), n, name))

    def _call(self, op: ir.Operation) -> None:
        callee = symbol_path(op.attributes["callee"])
        if self.is_enqueued(op):
            self._enqueue(op, callee)
        else:
            self._host_call(op, callee)

    def _host_call(self, op: ir.Operation, callee: str) -> None:
        ins = [self.place(value, "host", op) for value in op.operands]
        self.wait(op.location)
        outs = [self.new(value, "host") for value in op.results]
        self.add(Step("call", op.location, ins, outs, callee))

    def _enqueue(self, op: ir.Operation, callee: str) -> None:
        ins = [self.place(value, "device", op) for value in op.operands]
        outs = [self.new(value, "device") for value in op.results]
        scratch = self._workspaces.get(callee, 0)
        name = f"{_base(callee)}.workspace"
        workspace = Memory("workspace", "device", None, scratch, name=name) if scratch else None
        self.add(Step("enqueue", op.location, ins, outs, callee, workspace, True))
        self.pending = True
        for value in op.results:
            self.deliver(value)

    def deliver(self, value: ir.Value) -> None:
        """Copy a result that was just written on the device to where else it is wanted."""
        location = self._origins.moved(value, value.owner)
        source = self.places[value].get("device")
        for memory in self._wanted.get(value, ()):
            if source is not None and memory is not source:
                self.copy(source, memory, location)

    def place(self, value: ir.Value, side: str, user: ir.Operation) -> Memory:
        """The value's memory on a side, copied there first if it lies elsewhere only."""
        places = self.places[value]
        if side not in places:
            source = next(iter(places.values()))
            places[side] = self.buffer(value, side)
            self.copy(source, places[side], self._origins.moved(value, user))
        return places[side]

    def new(self, value: ir.Value, side: str) -> Memory:
        """Memory for a result: where it is wanted, if that is on the same side."""
        wanted = self._wanted.get(value, [])
        memory = next((found for found in wanted if found.side == side), None)
        chosen = self.places[value] = {side: self.buffer(value, side) if memory is None else memory}
        if side == "device" and wanted and wanted[0].side == "host":
            # A host part that reads it too can read what is wanted there.
            chosen["host"] = wanted[0]
        return chosen[side]

    def buffer(self, value: ir.Value, side: str, *, most: int | None = None, name: str | None = None) -> Memory:
        """New memory for a value, in the arena if its size is known and at most `most` bytes."""
        staged = "host_pinned" if side == "host" and self.device == "cuda" else side
        base = self._name(value) if name is None else name
        name = f"{base}.{side}" if self.device == "cuda" else base
        size = self._bytes(value, side)
        if size is not None and most is not None and size > most:
            size = None
        return Memory("buffer", staged, value.type, size, name=name)

    def name(self, value: ir.Value, name: str) -> None:
        """What buffers of the value are called."""
        self._names[value] = name

    def _name(self, value: ir.Value) -> str:
        """What a value is called: the input, or the function that gives it and which of its results."""
        if value in self._names:
            return self._names[value]
        owner = value.owner
        callee = _base(symbol_path(owner.attributes["callee"])) if "callee" in owner.attributes else "constant"
        return callee if len(owner.results) == 1 else f"{callee}.{value.result_number}"

    def copy(self, source: Memory, target: Memory, location: ir.Location, kind: str = "copy") -> None:
        """Add a copy or a move."""
        on_stream = self.device == "cuda" and "device" in (source.space, target.space)
        if not on_stream:
            self.wait(location)
        self.add(Step(kind, location, [source], [target], on_stream=on_stream))
        self.pending |= on_stream

    def _bytes(self, value: ir.Value, side: str) -> int | None:
        """Bytes of the largest shape; None where the size is known only at the call."""
        shape = self._upper_bound(value)
        count = None if shape is None else shapes.volume(shape)
        kind = ranked(value.type)
        if count is None or kind is None:
            return None
        try:
            element = dtypes.by_mlir(kind.element_type)
        except KeyError:  # strings
            return None
        # On the host an element of less than a byte takes as much as its engine likes.
        return None if element.bits < 8 and side != "device" else element.nbytes(count)


_OUTLINE_HINT = "run plan-clustering and plan-outline-clusters before plan-schedule"


def _base(path: str) -> str:
    return path.rpartition("::")[2]
