"""Writes recorded steps down as a `plan.program`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arena import Lifetime, Placement, place
from .bounds import Profiles
from .recorder import Recorder
from .signature import signature
from .steps import Memory, Step, ranked, walk

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["write"]

# What TensorRT asks of device memory; a cache line for the host.
_ALIGNMENT = {"device": 256, "host": 64, "host_pinned": 64}


def write(function: ir.OpView, recorder: Recorder, targets: Sequence[str], profiles: Profiles) -> ir.Operation:
    """Put `plan.program @main_<device>` at the head of the module, after other programs, and return it."""
    from torch_mlir import ir

    from ...ir.builder import create

    memories = list(recorder.memories())
    arena = _place(memories, "device" if recorder.device == "cuda" else "host")
    staging = _place(memories, "host_pinned")
    ins = [_type(memory) for memory in recorder.inputs]
    outs = [_type(memory) for memory in recorder.outputs]
    attributes = {
        "sym_name": f"main_{recorder.device}",
        "function_type": ir.FunctionType.get(ins, outs),
        "device": recorder.device,
        "targets": [ir.StringAttr.get(target) for target in targets],
        "arena_bytes": arena.peak,
        "peak_live_bytes": arena.lower_bound,
        "staging_bytes": staging.peak or None,
        "arg_attrs": signature(function, "arg_attrs", len(ins), profiles),
        "res_attrs": signature(function, "res_attrs", len(outs), ()),
    }
    with ir.InsertionPoint(_head(function)), function.location:
        made = create("plan.program", [], attributes)
    # Locations carry the names that the text shows for values.
    names = [ir.Location.name(memory.name) for memory in recorder.inputs]
    body = made.regions[0].blocks.append(*ins, arg_locs=names)
    with ir.InsertionPoint(body), function.location:
        _Body(recorder, list(body.arguments)).write(memories, {**arena.where, **staging.where})
    return made


def _head(function: ir.OpView) -> ir.OpView:
    """The first op of the module that is no program."""
    siblings = function.operation.parent.regions[0].blocks[0].operations
    return next(op for op in siblings if op.operation.name != "plan.program")


class _Arena:
    """The buffers of one memory space, placed."""

    def __init__(self, memories: Sequence[Memory], placement: Placement) -> None:
        self.peak = placement.peak
        self.lower_bound = placement.lower_bound
        self.where = {
            memory: (offset, alias)
            for memory, offset, alias in zip(memories, placement.offsets, placement.aliases, strict=True)
        }


def _place(memories: Sequence[Memory], space: str) -> _Arena:
    chosen = [
        memory
        for memory in memories
        if memory.space == space and memory.kind in ("buffer", "workspace") and memory.bytes is not None
    ]
    lifetimes = [Lifetime(memory.bytes or 0, memory.uses[0], memory.uses[-1]) for memory in chosen]
    return _Arena(chosen, place(lifetimes, _ALIGNMENT[space]))


def _type(memory: Memory) -> ir.Type:
    """The memref of a memory; a tensor in that space where memrefs cannot hold the elements (strings)."""
    from torch_mlir import ir

    from ...dialects.plan import memory_space

    space = memory_space(memory.space)
    if memory.type is None:
        return ir.MemRefType.get([memory.bytes or 0], ir.IntegerType.get_signless(8), memory_space=space)
    kind = ranked(memory.type)
    if kind is None:
        return memory.type
    try:
        return ir.MemRefType.get(kind.shape, kind.element_type, memory_space=space)
    except (ValueError, ir.MLIRError):
        return ir.RankedTensorType.get(kind.shape, kind.element_type, encoding=space)


class _Body:
    """The ops inside a program: declarations first, then the steps."""

    def __init__(self, recorder: Recorder, arguments: Sequence[ir.Value]) -> None:
        self._recorder = recorder
        self._values: dict[Memory, ir.Value] = dict(zip(recorder.inputs, arguments, strict=True))
        self._streams: list[ir.Value] = []

    def write(self, memories: Sequence[Memory], places: dict[Memory, tuple[int, int | None]]) -> None:
        from torch_mlir import ir

        from ...ir.builder import create

        if any(step.on_stream for step in walk(self._recorder.steps)):
            self._streams.append(create("plan.stream", [], {"index": 0}, loc=ir.Location.name("s0")).result)
        for memory in memories:
            if memory not in self._values:
                self._values[memory] = self._declare(memory, *places.get(memory, (None, None)))
        self._steps(self._recorder.steps)
        create("plan.return", [[self._values[memory] for memory in self._recorder.outputs]])

    def _declare(self, memory: Memory, offset: int | None, alias: int | None) -> ir.Value:
        from torch_mlir import ir

        from ...ir.builder import create

        kind, name = [_type(memory)], ir.Location.name(memory.name)
        if memory.kind == "output":
            dynamic = memory.bytes is None or None
            return create("plan.output", [], {"index": memory.index, "dynamic": dynamic}, kind, loc=name).result
        if memory.kind == "constant":
            return create("plan.constant", [], {"value": memory.value}, kind, loc=name).result
        attributes = {
            "offset": offset,
            "alias": alias,
            "bytes": memory.bytes,
            "dynamic": True if offset is None else None,
            "live": [memory.uses[0], memory.uses[-1]],
            "role": _role(memory),
        }
        return create("plan.buffer", [], attributes, kind, loc=name).result

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            with step.location:
                self._step(step)

    def _step(self, step: Step) -> None:
        from ...ir.builder import create

        ins = [self._values[memory] for memory in step.ins]
        outs = [self._values[memory] for memory in step.outs]
        stream = self._streams[0] if step.on_stream else None
        if step.kind in ("copy", "move"):
            create(f"plan.{step.kind}", [ins[0], outs[0], stream])
        elif step.kind == "append":
            create("plan.append", [ins[0], outs[0]])
        elif step.kind == "call":
            create("plan.call", [ins, outs], {"callee": step.callee})
        elif step.kind == "synchronize":
            create("plan.synchronize", [self._streams[0]])
        elif step.kind == "if":
            self._regions(create("plan.if", [ins[0]], results=[]), step)
        elif step.kind == "repeat":
            memories = (step.number, step.trips, step.going)
            bounds = [None if memory is None else self._values[memory] for memory in memories]
            self._regions(create("plan.repeat", [*bounds, outs]), step)
        else:
            workspace = self._values[step.workspace] if step.workspace else None
            create("plan.enqueue", [stream, ins, outs, workspace], {"callee": step.callee})

    def _regions(self, made: ir.Operation, step: Step) -> None:
        from torch_mlir import ir

        from ...ir.builder import create

        for region, steps in zip(made.regions, step.blocks, strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                self._steps(steps)
                create("plan.yield", [[]])


def _role(memory: Memory) -> str | None:
    if memory.kind == "workspace":
        return "workspace"
    return "staging" if memory.space == "host_pinned" else None
