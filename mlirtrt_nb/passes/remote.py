"""Runs passes in the worker process. Each step's IR comes back as it is made, so a crash loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MlirTrtError, PassError, WorkerCrashed, span_of_line
from ..ir.context import give_back
from ..ir.rejoin import HandleReader, Rejoiner
from ..program import Program
from ..worker import Isolation, Outcome, call, inside
from .base import Pass, PassContext
from .firing import Firing
from .reproducer import write_reproducer
from .sending import by_value, is_own, results_of
from .snapshot import Snapshot

if TYPE_CHECKING:
    from torch_mlir.dialects.builtin import ModuleOp

__all__ = ["RemoteStep", "place_of_user", "run_remotely"]


@dataclass(frozen=True)
class _Ir:
    """A program on its way back. `weights` are new or other than before, those in `gone` no longer there."""

    bytecode: bytes
    handles: list[str]
    weights: dict[str, np.ndarray]
    gone: list[str]


@dataclass(frozen=True)
class RemoteStep:
    """A pass that went well. `after` is None without snapshots, and the one before if nothing changed.

    `results` are the attributes that the run wrote to the pass; `output` is what native code and the pass
    itself wrote to standard output and error.
    """

    seconds: float
    fired: tuple[Firing, ...]
    results: dict[str, Any]
    after: Snapshot | None
    output: str


def run_remotely(
    passes: Sequence[Pass],
    start: Program,
    context: PassContext,
    isolation: Isolation,
    *,
    keep: bool,
    take: Callable[[RemoteStep], None],
) -> Program:
    """Run `passes` on a copy of `start` in the worker; `take` gets each step when it has been made.

    Raises what the passes raise; WorkerCrashed with a reproducer; Cancelled.
    """
    receiver = _Receiver(start, keep, take)
    try:
        with by_value(passes), place_of_user():
            outcome = call(
                _serve,
                list(passes),
                start,
                context,
                keep,
                what="the pipeline",
                isolation=isolation,
                take=receiver.event,
                foreign=any(map(is_own, passes)),
            )
    except WorkerCrashed as error:
        left = list(passes) if not keep else list(passes)[receiver.steps :][:1]
        error.last_good = receiver.last if keep else None
        error.reproducer = write_reproducer(receiver.last, left, context, error)
        raise
    except PassError as error:
        if keep:
            error.last_good = receiver.last
        raise
    return receiver.program(outcome.value)


@contextmanager
def place_of_user() -> Iterator[None]:
    """Add to an error the text of the user's line, which only the process that has the cell knows."""
    try:
        yield
    except PassError as error:
        if error.span is not None and not error.span.text:
            error.span = span_of_line(error.span.filename, error.span.line)
        raise


class _Receiver:
    """Makes programs of what comes back, in the context of `start`."""

    def __init__(self, start: Program, keep: bool, take: Callable[[RemoteStep], None]) -> None:
        self._start = start
        self._keep = keep
        self._take = take
        self._rejoiner = Rejoiner(lambda: start.module, start.handles)
        self._weights = start.weights
        self.last: Program = start
        self._last_ir: _Ir | None = None
        self.steps = 0

    def event(self, kind: str, value: Any, outcome: Outcome) -> None:
        if kind != "step":
            return
        seconds, fired, results, ir = value
        if ir is not None:
            self.last, self._last_ir = self._snapshot(ir), ir
        self.steps += 1
        after = self.last if self._keep and isinstance(self.last, Snapshot) else None
        self._take(RemoteStep(seconds, fired, results, after, outcome.last_output))

    def program(self, ir: _Ir | None) -> Program:
        """The program that came out: `ir`, or as the last step left it."""
        ir = ir or self._last_ir
        if ir is None:
            return self._start.clone()
        return Program.deferred(self._reader(ir), self._merged(ir), **self._names())

    def _snapshot(self, ir: _Ir) -> Snapshot:
        made = Snapshot.deferred(self._reader(ir), self._merged(ir), **self._names())
        made.__dict__["bytecode"] = ir.bytecode
        return made

    def _merged(self, ir: _Ir) -> dict[str, np.ndarray]:
        kept = {name: array for name, array in self._weights.items() if name not in ir.gone}
        self._weights = {**kept, **ir.weights}
        return dict(self._weights)

    def _names(self) -> dict[str, Any]:
        start = self._start
        return {
            "name": start.name,
            "source": start.source,
            "text_source": start.text_source,
            "handles": start.handles,
        }

    def _reader(self, ir: _Ir) -> Callable[[dict[str, np.ndarray]], ModuleOp]:
        return lambda weights: self._rejoiner.read(ir.bytecode, ir.handles, weights, MlirTrtError)


# In the worker ------------------------------------------------------------------------------------------------


def _serve(passes: list[Pass], program: Program, context: PassContext, keep: bool) -> _Ir | None:
    """Run the passes, telling of each. Without snapshots the IR is sent only at the end."""
    from .run import run_one

    if isinstance(program, Snapshot):
        program = program.clone()  # passes change it, and a snapshot is what nobody changes
    sender = _Sender(program)
    for pass_ in passes:
        seconds, fired = run_one(pass_, program, context, None if keep else program.clone())
        inside.tell("step", (seconds, fired, results_of(pass_), sender.changes(program) if keep else None))
    last = None if keep else sender.changes(program)
    if sender.plain and not any(map(is_own, passes)):
        give_back(program.context)
    return last


class _Sender:
    """Tells what of a program is other than it was when it was last asked."""

    def __init__(self, program: Program) -> None:
        self._weights = dict(program.weights)
        self._bytecode = b""
        self.plain = not program.weights  # no handle of a weight was seen
        self._reader = HandleReader()

    def changes(self, program: Program) -> _Ir | None:
        """The program as it is now; None if nothing has changed."""
        from ..ir.bytecode import write_module

        bytecode = write_module(program.module)
        before, now = self._weights, program.weights
        weights = {name: array for name, array in now.items() if before.get(name) is not array}
        gone = [name for name in before if name not in now]
        if bytecode == self._bytecode and not weights and not gone:
            return None
        self._weights, self._bytecode = dict(now), bytecode
        handles = self._reader.names(program.module)
        self.plain = self.plain and not handles and not now
        return _Ir(bytecode, handles, weights, gone)
