"""A `plan.program` as plain values: what the runtime reads, so that running a saved Plan needs no MLIR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Buffer", "Schedule", "Signature", "Step", "walk"]

Range = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Signature:
    """An input or output: its name, its shape with -1 where it varies, its element type in MLIR's spelling.

    `shape` is None where even the rank varies, and for sequences, optionals and maps, whose `dtype` is their
    type ("!onnx.seq<...>"). `dims` names the dimensions that have names; `ranges` are its (min, opt, max)
    shapes, one per profile.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: str
    dims: Mapping[int, str]
    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class Buffer:
    """A piece of memory.

    `role` is input, output, constant, tensor, workspace or staging; `index` the number of the input or output;
    `weight` the name of a constant's array. `offset` is its place in the arena of its space; None where the
    caller, or the engine that fills it, brings the memory. `bytes` is None where the size is known only at
    the call. `first` and `last` are the steps between which it is live.
    """

    name: str
    role: str
    space: str
    shape: tuple[int, ...] | None
    dtype: str
    bytes: int | None = None
    offset: int | None = None
    alias: int | None = None
    index: int = 0
    weight: str = ""
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class Step:
    """One thing that is done: copy, move, append, enqueue, call, record, wait, synchronize, if or repeat.

    Numbers are of buffers. An `if` reads its condition (`ins`) and runs the first or the second of its
    `blocks`, which fill memory from outside. A `repeat` runs its one block again and again, as `number`,
    `trips` and `going` of `plan.repeat` say, and joins at the end what was appended to each of `outs`.
    """

    kind: str
    ins: tuple[int, ...] = ()
    outs: tuple[int, ...] = ()
    callee: str = ""
    workspace: int | None = None
    stream: int | None = None
    event: int | None = None
    sources: tuple[str, ...] = ()
    blocks: tuple[tuple[Step, ...], ...] = ()
    number: int | None = None
    trips: int | None = None
    going: int | None = None

    def touches(self) -> tuple[int, ...]:
        """The buffers that it reads or writes itself, scratch memory left out."""
        loop = (n for n in (self.number, self.trips, self.going) if n is not None)
        return (*self.ins, *self.outs, *loop)


def walk(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps and all in their blocks, in order: the n-th is what `first` and `last` of a buffer call n."""
    for step in steps:
        yield step
        for block in step.blocks:
            yield from walk(block)


@dataclass(frozen=True)
class Schedule:
    """All that the runtime does in one call on one kind of device."""

    device: str
    targets: tuple[str, ...]
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    arena_bytes: int
    peak_live_bytes: int
    staging_bytes: int = 0

    def all_steps(self) -> Iterator[Step]:
        """The steps and all in their blocks; see `walk`."""
        return walk(self.steps)

    def to_json(self) -> dict[str, Any]:
        """Plain lists and dictionaries."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Schedule:
        """The inverse of `to_json`, after a trip through JSON."""
        fields = dict(data)
        for key in ("inputs", "outputs"):
            fields[key] = tuple(_signature(entry) for entry in data[key])
        fields["buffers"] = tuple(Buffer(**{**b, "shape": _shape(b["shape"])}) for b in data["buffers"])
        fields["steps"] = tuple(_step(entry) for entry in data["steps"])
        fields["targets"] = tuple(data["targets"])
        return Schedule(**fields)


def _shape(dims: list[int] | None) -> tuple[int, ...] | None:
    return None if dims is None else tuple(dims)


def _signature(entry: Mapping[str, Any]) -> Signature:
    dims = {int(axis): name for axis, name in entry["dims"].items()}
    ranges = tuple(tuple(tuple(side) for side in sides) for sides in entry["ranges"])
    return Signature(entry["name"], _shape(entry["shape"]), entry["dtype"], dims, ranges)  # type: ignore[arg-type]


def _step(entry: Mapping[str, Any]) -> Step:
    fields = dict(entry)
    for key in ("ins", "outs", "sources"):
        fields[key] = tuple(entry[key])
    fields["blocks"] = tuple(tuple(_step(inner) for inner in block) for block in entry.get("blocks", ()))
    return Step(**fields)
