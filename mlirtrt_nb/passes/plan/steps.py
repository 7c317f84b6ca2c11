"""From calls on values to steps on memory: which buffers a program needs, and what is done in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...errors import PassError
from ...ir import dtypes, shapes
from ...ir.locations import sources_of
from .signature import dictionaries, name_of

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["Memory", "Recorder", "Step"]

_CONSTANTS = frozenset({"tensorrt.constant", "onnx.constant", "arith.constant"})
_CALLS = {"tensorrt.call_alloc": "callee", "func.call": "callee"}


@dataclass(eq=False)
class Memory:
    """Where a value lies.

    `kind` is input, output, constant, buffer or workspace; `name` says what fills it. `bytes` is None where
    the size is known only at the call: such memory is allocated by whoever fills it. `uses` are the steps
    that touch it.
    """

    kind: str
    space: str
    type: ir.Type | None
    bytes: int | None
    index: int = 0
    name: str = ""
    value: ir.Attribute | None = None
    uses: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Step:
    """One thing that is done: `copy` (one in, one out), `enqueue`, `call`, or `synchronize`."""

    kind: str
    location: ir.Location
    ins: list[Memory] = field(default_factory=list)
    outs: list[Memory] = field(default_factory=list)
    callee: str = ""
    workspace: Memory | None = None
    on_stream: bool = False

    def touches(self) -> Iterator[Memory]:
        """The memories that it reads or writes."""
        yield from (*self.ins, *self.outs)
        if self.workspace is not None:
            yield self.workspace


class Recorder:
    """Walks the entry function of an outlined program and records the steps of one kind of device.

    Args:
        device: "cpu": all is done on the host. "cuda": TensorRT engines are enqueued on the device, and what
            they share with the host is copied.
        workspaces: engine path -> bytes of scratch memory. One that is missing gets none from the Plan.
        upper_bound: the largest shape that a value can take, or None.
    """

    def __init__(
        self,
        device: str,
        workspaces: Mapping[str, int],
        upper_bound: Callable[[ir.Value], tuple[int, ...] | None],
    ) -> None:
        self.device = device
        self.steps: list[Step] = []
        self.inputs: list[Memory] = []
        self.outputs: list[Memory] = []
        self._workspaces = workspaces
        self._upper_bound = upper_bound
        self._places: dict[ir.Value, dict[str, Memory]] = {}
        self._wanted: dict[ir.Value, list[Memory]] = {}
        self._names: dict[ir.Value, str] = {}
        self._pending = False  # work on the stream that the host has not waited for

    def record(self, function: ir.OpView) -> None:
        """Record every op of `function`, which must be one block of constants and calls."""
        operations = [op.operation for op in function.regions[0].blocks[0].operations]
        self._declare(function, operations[-1])
        for op in operations[:-1]:
            if op.name in _CONSTANTS:
                self._places[op.results[0]] = {"host": _constant(op)}
            elif op.name in _CALLS:
                self._call(op)
            else:
                where = ", ".join(sources_of(op.location)) or None
                raise PassError(f"@main still holds {op.name}", where=where, hint=_OUTLINE_HINT)
        self._finish(operations[-1])

    def memories(self) -> Iterator[Memory]:
        """Every memory that a step touches, each once, in order of first use."""
        touched = (memory for step in self.steps for memory in step.touches())
        yield from dict.fromkeys(touched)

    def _add(self, step: Step) -> None:
        for memory in step.touches():
            memory.uses.append(len(self.steps))
        self.steps.append(step)

    def _declare(self, function: ir.OpView, end: ir.Operation) -> None:
        attributes = dictionaries(function, "arg_attrs")
        for n, argument in enumerate(function.regions[0].blocks[0].arguments):
            name = name_of(attributes, n, "arg")
            memory = Memory("input", "host", argument.type, None, n, name)
            self._names[argument] = name
            self.inputs.append(memory)
            self._places[argument] = {"host": memory}
        attributes = dictionaries(function, "res_attrs")
        for n, value in enumerate(end.operands):
            name = name_of(attributes, n, "result")
            memory = Memory("output", "host", value.type, self._bytes(value), n, name)
            self.outputs.append(memory)
            self._wanted.setdefault(value, []).append(memory)

    def _call(self, op: ir.Operation) -> None:
        callee = symbol_path(op.attributes[_CALLS[op.name]])
        if op.name == "func.call" or self.device == "cpu":
            self._host_call(op, callee)
        else:
            self._enqueue(op, callee)

    def _host_call(self, op: ir.Operation, callee: str) -> None:
        ins = [self._in(value, "host", op) for value in op.operands]
        if self._pending:
            # The host reads what copies wrote, and may write over what they still read.
            self._add(Step("synchronize", op.location))
            self._pending = False
        outs = [self._new(value, "host") for value in op.results]
        self._add(Step("call", op.location, ins, outs, callee))

    def _enqueue(self, op: ir.Operation, callee: str) -> None:
        ins = [self._in(value, "device", op) for value in op.operands]
        outs = [self._new(value, "device") for value in op.results]
        scratch = self._workspaces.get(callee, 0)
        name = f"{_base(callee)}.workspace"
        workspace = Memory("workspace", "device", None, scratch, name=name) if scratch else None
        self._add(Step("enqueue", op.location, ins, outs, callee, workspace, True))
        self._pending = True
        for value in op.results:
            for output in self._wanted.get(value, ()):
                self._copy(self._places[value]["device"], output, op.location)

    def _in(self, value: ir.Value, space: str, user: ir.Operation) -> Memory:
        """The value's memory in `space`, copied there first if it lies elsewhere only."""
        places = self._places[value]
        if space not in places:
            source = next(iter(places.values()))
            places[space] = self._buffer(value, space)
            self._copy(source, places[space], user.location)
        return places[space]

    def _new(self, value: ir.Value, space: str) -> Memory:
        """Memory for a result: the program's output itself where it is one and lies in `space`."""
        wanted = self._wanted.get(value)
        memory = wanted[0] if wanted and space == "host" else self._buffer(value, space)
        self._places[value] = {space: memory}
        if wanted and space == "device":
            # A host part that reads it too can read the output.
            self._places[value]["host"] = wanted[0]
        return memory

    def _buffer(self, value: ir.Value, space: str) -> Memory:
        staged = "host_pinned" if space == "host" and self.device == "cuda" else space
        name = f"{self._name(value)}.{space}" if self.device == "cuda" else self._name(value)
        return Memory("buffer", staged, value.type, self._bytes(value, space), name=name)

    def _name(self, value: ir.Value) -> str:
        """What a value is called: the input, or the function that gives it and which of its results."""
        owner = value.owner
        if value in self._names:
            return self._names[value]
        callee = _base(symbol_path(owner.attributes["callee"])) if "callee" in owner.attributes else "constant"
        return callee if len(owner.results) == 1 else f"{callee}.{value.result_number}"

    def _copy(self, source: Memory, target: Memory, location: ir.Location) -> None:
        on_stream = self.device == "cuda" and "device" in (source.space, target.space)
        if not on_stream and self._pending:
            self._add(Step("synchronize", location))
            self._pending = False
        self._add(Step("copy", location, [source], [target], on_stream=on_stream))
        self._pending |= on_stream

    def _finish(self, end: ir.Operation) -> None:
        """Fill the outputs that no step has written: inputs, constants, and values returned twice."""
        written = {id(memory) for step in self.steps for memory in step.outs}
        for value, outputs in self._wanted.items():
            for output in outputs:
                if id(output) not in written:
                    places = self._places[value]
                    self._copy(places.get("host") or places["device"], output, end.location)
        if self._pending:
            self._add(Step("synchronize", end.location))

    def _bytes(self, value: ir.Value, space: str = "host") -> int | None:
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
        return None if element.bits < 8 and space != "device" else element.nbytes(count)


_OUTLINE_HINT = "run plan-clustering and plan-outline-clusters before plan-schedule"


def _base(path: str) -> str:
    return path.rpartition("::")[2]


def _constant(op: ir.Operation) -> Memory:
    name = next(name for name in ("weights", "value") if name in op.attributes)
    return Memory("constant", "host", op.results[0].type, None, name="constant", value=op.attributes[name])


def ranked(kind: ir.Type) -> ir.RankedTensorType | None:
    """`kind` as a ranked tensor type; None if it is another type."""
    from torch_mlir import ir

    return ir.RankedTensorType(kind) if isinstance(kind, ir.RankedTensorType) else None


def symbol_path(attribute: ir.Attribute) -> str:
    """ "trt_engines::main_0" of a flat or nested symbol reference."""
    from ...ir.attributes import to_python

    return str(to_python(attribute))
