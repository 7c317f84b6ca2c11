"""What a program of the Plan is made of before it is written down: memory, and steps that touch it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["CALLS", "CONSTANTS", "Memory", "Step", "constant_memory", "ranked", "symbol_path", "walk"]

CONSTANTS = frozenset({"tensorrt.constant", "onnx.constant", "arith.constant"})
CALLS = frozenset({"tensorrt.call_alloc", "func.call"})


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

    @property
    def side(self) -> str:
        """ "device" or "host"."""
        return "device" if self.space == "device" else "host"


@dataclass(eq=False)
class Step:
    """One thing that is done.

    `copy`, `move` and `append` have one in and one out; `enqueue` and `call` run an engine; `synchronize` waits
    for the stream. `if` reads its condition and runs one of two `blocks`; `repeat` runs its one block, and has
    `number`, `trips` and `going` as `plan.repeat` has them. `index` counts all steps, nested ones included, in
    the order in which they are written.
    """

    kind: str
    location: ir.Location
    ins: list[Memory] = field(default_factory=list)
    outs: list[Memory] = field(default_factory=list)
    callee: str = ""
    workspace: Memory | None = None
    on_stream: bool = False
    blocks: list[list[Step]] = field(default_factory=list)
    number: Memory | None = None
    trips: Memory | None = None
    going: Memory | None = None
    index: int = 0

    def touches(self) -> Iterator[Memory]:
        """The memories that it reads or writes itself, not those of steps in its blocks."""
        yield from (*self.ins, *self.outs)
        for memory in (self.workspace, self.number, self.trips, self.going):
            if memory is not None:
                yield memory


def walk(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps and all that are nested in them, in the order in which they are written."""
    for step in steps:
        yield step
        for block in step.blocks:
            yield from walk(block)


def constant_memory(op: ir.Operation) -> Memory:
    """The memory of a constant op's value."""
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
