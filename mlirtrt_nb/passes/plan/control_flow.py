"""Recording branches and loops: where their values lie, and how a turn hands on to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .steps import CALLS, CONSTANTS, Memory, Step, walk

if TYPE_CHECKING:
    from torch_mlir import ir

    from .recorder import Recorder

__all__ = ["record_branch", "record_loop"]

# On the host, what is carried on is copied up to this size; above, the memory itself changes hands, which no
# engine can have bound beforehand. Binding at each call costs about as much as copying this.
_COPIED = 1 << 16


def record_branch(recorder: Recorder, op: ir.Operation) -> None:
    """Record a `plan.if`: both branches fill the same memory."""
    condition = recorder.place(op.operands[0], "host", op)
    recorder.wait(op.location)
    for n, result in enumerate(op.results):
        recorder.name(result, _numbered("if", n, len(op.results)))
    targets = [recorder.new(result, _side(recorder, result)) for result in op.results]
    step = recorder.add(Step("if", op.location, [condition], targets))
    pending = []
    for region in op.regions:
        with recorder.inside(step):
            recorder.pending = False
            recorder.region(region.blocks[0], targets)
            pending.append(recorder.pending)
    recorder.pending = any(pending)
    for result in op.results:
        recorder.deliver(result)


def record_loop(recorder: Recorder, op: ir.Operation) -> None:
    """Record a `plan.loop`."""
    _Loop(recorder, op).record()


class _Loop:
    def __init__(self, recorder: Recorder, op: ir.Operation) -> None:
        from ...ir.builder import Op

        view = Op.of(op)
        self._recorder = recorder
        self._op = op
        self._block = op.regions[0].blocks[0]
        *self._body, self._end = [inner.operation for inner in self._block.operations]
        self._going, *yielded = self._end.operands
        self._number, *self._carried = self._block.arguments
        self._trips, self._begins = view.operand("trips"), view.operand("going")
        self._init = view.group("init")
        self._next, self._parts = yielded[: len(self._carried)], yielded[len(self._carried) :]

    def record(self) -> None:
        recorder, op = self._recorder, self._op
        homes = [self._home(n) for n in range(len(self._carried))]
        trips = None if self._trips is None else recorder.place(self._trips, "host", op)
        flag = self._flag()
        self._hoist()
        recorder.wait(op.location)
        recorder.name(self._number, "turn")
        number = recorder.buffer(self._number, "host")
        collected = self._collected()
        step = recorder.add(Step("repeat", op.location, [], collected, number=number, trips=trips, going=flag))
        outer = [memory for found in recorder.places.values() for memory in found.values()]
        with recorder.inside(step) as block:
            recorder.places[self._number] = {"host": number}
            for argument, home in zip(self._carried, homes, strict=True):
                recorder.places[argument] = {home.side: home}
            recorder.operations(self._body)
            self._collect(collected)
            self._advance(homes, flag, block)
            recorder.wait(self._end.location)
        self._keep([*outer, *homes, *collected, *step.touches()], step)
        for result, home in zip(op.results, homes, strict=False):
            recorder.places[result] = {home.side: home}

    def _home(self, n: int) -> Memory:
        """The memory that a carried value lies in before each turn and after the last, filled for the first."""
        recorder, argument = self._recorder, self._carried[n]
        recorder.name(argument, _numbered("carried", n, len(self._carried)))
        side = _side(recorder, argument)
        home = recorder.buffer(argument, side, most=_COPIED if recorder.device == "cpu" else None)
        places = recorder.places[self._init[n]]
        recorder.copy(places.get(side) or next(iter(places.values())), home, self._op.location)
        return home

    def _flag(self) -> Memory | None:
        """The memory of whether to go on; None where only the number of turns counts."""
        recorder = self._recorder
        before = None if self._begins is None else recorder.place(self._begins, "host", self._op)
        if _is_true(self._going):
            return before
        flag = recorder.buffer(self._going, "host", name="going")
        recorder.copy(before or _true(self._going), flag, self._op.location)
        return flag

    def _collected(self) -> list[Memory]:
        results = list(self._op.results)[len(self._carried) :]
        for n, result in enumerate(results):
            self._recorder.name(result, _numbered("collected", n, len(results)))
        return [self._recorder.new(result, "host") for result in results]

    def _hoist(self) -> None:
        """Bring what the body reads from outside to where it reads it, once."""
        from ..clustering.values import captured_values, nested

        captured = set(captured_values(self._op))
        for inner in nested(self._op):
            if inner.name in CALLS:
                side = "device" if self._recorder.is_enqueued(inner) else "host"
                for value in inner.operands:
                    if value in captured:
                        self._recorder.place(value, side, self._op)

    def _collect(self, collected: list[Memory]) -> None:
        recorder = self._recorder
        for value, target in zip(self._parts, collected, strict=True):
            part = recorder.place(value, "host", self._end)
            recorder.wait(self._end.location)
            recorder.add(Step("append", self._end.location, [part], [target]))

    def _advance(self, homes: list[Memory], flag: Memory | None, block: list[Step]) -> None:
        """Put what the turn yields where the next one reads it, all at once."""
        recorder, location = self._recorder, self._end.location
        pairs = list(zip(self._next, homes, strict=True))
        if flag is not None and not _is_true(self._going):
            pairs.append((self._going, flag))
        sources = [recorder.place(value, target.side, self._end) for value, target in pairs]
        targets = [target for _, target in pairs]
        for n, source in enumerate(sources):
            if source in targets and source is not targets[n]:
                # Another carried value, which is about to be written over.
                sources[n] = recorder.buffer(pairs[n][0], source.side, name=f"before.{n}")
                recorder.copy(source, sources[n], location)
        own = {id(memory) for step in walk(block) for memory in step.outs}
        for source, target in zip(sources, targets, strict=True):
            if source is not target:
                moved = id(source) in own and sources.count(source) == 1
                recorder.copy(source, target, location, "move" if moved else "copy")

    def _keep(self, memories: list[Memory], step: Step) -> None:
        """What is there before a turn and is touched in it must outlive all turns."""
        last = max(inner.index for inner in walk([step]))
        for memory in dict.fromkeys(memories):
            if memory.uses and memory.uses[-1] >= step.index:
                memory.uses.append(last)


def _numbered(name: str, n: int, count: int) -> str:
    return name if count == 1 else f"{name}.{n}"


def _true(like: ir.Value) -> Memory:
    """A constant that is true."""
    import numpy as np
    from torch_mlir import ir

    from ...ir.constants import attribute_of

    kind = ir.RankedTensorType.get([], ir.ShapedType(like.type).element_type)
    value = attribute_of(np.array(True), {}, "true")
    return Memory("constant", "host", kind, None, name="true", value=value)


def _is_true(value: ir.Value) -> bool:
    """Whether the value is a constant that is true."""
    import numpy as np
    from torch_mlir import ir

    from ...ir.constants import value_of

    owner = value.owner
    if not isinstance(owner, ir.OpView | ir.Operation) or owner.name not in CONSTANTS:
        return False
    name = next(name for name in ("weights", "value") if name in owner.attributes)
    return bool(np.all(value_of(owner.attributes[name], {})))


def _side(recorder: Recorder, value: ir.Value) -> str:
    """Where a value that several steps fill should lie: on the device if an engine reads it there."""
    return "device" if recorder.device == "cuda" and _read_by_engine(value, set()) else "host"


def _read_by_engine(value: ir.Value, seen: set[ir.Value]) -> bool:
    if value in seen:
        return False
    seen.add(value)
    for use in value.uses:
        owner = use.owner.operation
        if owner.name == "tensorrt.call_alloc":
            return True
        if any(_read_by_engine(other, seen) for other in _handed_on(value, owner, use.operand_number)):
            return True
    return False


def _handed_on(value: ir.Value, reader: ir.Operation, number: int) -> list[ir.Value]:
    """The values that `value` becomes where a branch yields it or a loop carries it."""
    from ...ir.builder import Op

    if reader.name == "plan.loop":
        places = [n for n, init in enumerate(Op.of(reader).group("init")) if init == value]
        return [v for n in places for v in _of_slot(reader, n)]
    if reader.name != "plan.yield" or reader.parent is None:
        return []
    parent = reader.parent.operation
    if parent.name == "plan.if":
        return [parent.results[number]]
    carried = len(parent.regions[0].blocks[0].arguments) - 1
    return _of_slot(parent, number - 1) if 1 <= number <= carried else []


def _of_slot(loop: ir.Operation, n: int) -> list[ir.Value]:
    return [loop.regions[0].blocks[0].arguments[n + 1], loop.results[n]]
