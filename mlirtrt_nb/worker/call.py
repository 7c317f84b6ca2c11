"""A call in the worker: sent, watched, and answered, or ended when it goes wrong."""

from __future__ import annotations

import logging
import pickle
import re
import select
import sys
import sysconfig
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from ..errors import Cancelled, MlirTrtError, SourceSpan, WorkerCrashed, span_of_line
from ..memory import size_text
from ..progress import Progress
from . import pool
from .output import BoundedText
from .process import Worker
from .settings import Isolation
from .time_limit import Clock

__all__ = ["LIBRARIES", "Outcome", "Unsendable", "call", "unheard"]

Take = Callable[[str, Any, "Outcome"], None]

_POLL_MS = 100
_PRINTED_CHARACTERS = 200_000  # of one call; the rest is only kept, bounded, with its step
# How lines begin in which libraries say why they end the process.
_TELLING = ("LLVM ERROR", "Assertion", "terminate called", "what():", "MemoryError", "free():", "malloc():")
# A frame of the stack that is written when the process crashes, or is to be stopped.
_FRAME = re.compile(r'File "([^"]+)", line (\d+) in ')
_PACKAGE = str(Path(__file__).parent.parent)
# What the user has seen or been told already, where work is done once more.
_SAID = frozenset({"print", "warning", "log"})
_unheard: ContextVar[bool] = ContextVar("unheard", default=False)
# Where Python and what is installed for it lie.
LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


class Unsendable(MlirTrtError):
    """What was to go to the worker cannot be pickled."""


@dataclass
class Outcome:
    """What a call gave: its value, and what was written to standard output and error in each step."""

    value: Any = None
    outputs: list[tuple[str, str]] = field(default_factory=list)  # step and text, where there was any
    last_output: str = ""  # of the step that ended last


@contextmanager
def unheard() -> Iterator[None]:
    """Show nothing of what calls in this block print, warn of, or log; their steps keep it."""
    token = _unheard.set(True)
    try:
        yield
    finally:
        _unheard.reset(token)


def call(
    function: Callable[..., Any],
    *arguments: Any,
    what: str,
    isolation: Isolation,
    progress: Progress | None = None,
    take: Take | None = None,
    foreign: bool = False,
) -> Outcome:
    """Run `function(*arguments)` in a worker process and wait for it.

    Args:
        function: a function of a module, or of a notebook; what it needs goes with it.
        what: how errors call the work where it is in no step of its own.
        isolation: limits of memory and time; the latter is that of a block of `one_limit`, if this is in one.
        progress: called for `inside.tell("progress", (phase, done, total))`; while nothing comes its last call
            is repeated, and returning False ends the work.
        take: called as `take(kind, value, outcome)` for other events.
        foreign: whether code of the user's runs there. If that raises, the worker is not used again: a wrong
            use of MLIR's bindings can leave a process that crashes in whatever it does next.

    Raises:
        Cancelled: the user interrupted, or `progress` returned False. The worker has ended.
        WorkerCrashed: the worker ended by itself, or exceeded a limit.
        Unsendable: an argument cannot be pickled.
        Whatever the function raises.
    """
    while True:
        worker = _lent()
        used = worker.calls > 0
        running = _Call(worker, what, isolation, progress, take)
        try:
            return running.run(function, arguments)
        except KeyboardInterrupt:
            raise Cancelled(f"{running.doing} was stopped") from None
        except WorkerCrashed:
            if not used or running.started:
                raise
            # It ended between two calls, as an earlier one had damaged it: that is not this one's fault.
        except Exception:
            running.answered = running.answered and not foreign
            raise
        finally:
            running.clock.stop()
            if running.answered:
                worker.end_call()
                pool.give_back(worker)
            else:
                pool.discard(worker)


def _lent() -> Worker:
    try:
        return pool.lend()
    except OSError as error:
        what = f"the worker process cannot be started: {error.strerror or error}"
        raise MlirTrtError(what, hint="isolate=False does without it") from error


class _Call:
    """One call on a worker. `started` once the worker has it, `answered` once it is ready for another; `doing`
    is the step it is in, and `clock` has run since it started."""

    def __init__(
        self,
        worker: Worker,
        what: str,
        isolation: Isolation,
        progress: Progress | None,
        take: Take | None,
    ) -> None:
        self.worker = worker
        self._what = what
        self.answered = True
        self.doing = "the start of the worker"
        self._begun: list[str] = []
        self._heard = not _unheard.get()
        self._outcome = Outcome()
        self._limit = isolation.memory_bytes
        self._seconds = isolation.seconds
        self._progress = progress
        self._take = take
        self._latest: tuple[str, int, int] | None = None
        self._printed = 0
        self._spoken = BoundedText()
        self.started = False
        self.clock = Clock.current()

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
        self._send(function, arguments)
        waiter = select.poll()
        waiter.register(self.worker.channel.socket, select.POLLIN)
        checked = time.monotonic()
        while True:
            if waiter.poll(_POLL_MS) and self._receive():
                return self._outcome
            now = time.monotonic()
            if now - checked > _POLL_MS / 1000:
                checked = now
                self._check()

    def _send(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.answered = False
        try:
            self.worker.call(function, arguments, {})
        except OSError:
            self._crashed()
        except Exception as error:
            self.answered = True  # nothing was sent
            raise Unsendable(
                f"{self._what} cannot be sent to the worker process: {error}",
                hint="isolate=False does without it",
            ) from error

    def _receive(self) -> bool:
        """Take one message; True if it had the answer."""
        try:
            events = self.worker.channel.receive().open()
        except EOFError:
            self._crashed()
        for kind, value in events:
            if kind == "done":
                self._finish()
                self._outcome.value = value
                return True
            if kind == "failed":
                self._finish()
                _raise(value)
            self._event(kind, value)
        return False

    def _finish(self) -> None:
        self.answered = True
        self._note(self.doing, self._written(self.worker.output.rest()))

    def _event(self, kind: str, value: Any) -> None:
        if kind == "doing":
            self.doing = value
            self._begun.append(value)
        elif kind == "started":
            self.started, self.doing = True, self._what
            self.clock.start()
        elif kind == "did":
            self._outcome.last_output = self._written(self.worker.output.section())
            self._note(value, self._outcome.last_output)
        elif kind == "progress":
            self._latest = value
            self._report()
        elif kind == "print":
            self._print(*value)
        elif kind in _SAID and not self._heard:
            pass
        elif kind == "warning":
            message, category, filename, line = value
            warnings.warn_explicit(message, category, filename, line)
        elif kind == "log":
            logging.getLogger(value.name).handle(value)
        elif self._take is not None:
            self._take(kind, value, self._outcome)

    def _note(self, step: str, text: str) -> None:
        if text:
            self._outcome.outputs.append((step, text))

    def _written(self, native: str) -> str:
        """What native code wrote in a step, and what Python code printed."""
        spoken, self._spoken = str(self._spoken), BoundedText()
        return native + spoken

    def _report(self) -> None:
        if self._progress is not None and self._latest is not None and self._progress(*self._latest) is False:
            raise Cancelled(f"{self.doing} was cancelled")

    def _print(self, stream: int, text: str) -> None:
        """Show what Python code printed, and keep it for the step that it is in."""
        self._spoken.add(text.encode(errors="replace"))
        room = _PRINTED_CHARACTERS - self._printed
        if room < 0 or not self._heard:
            return
        self._printed += len(text)
        shown = text if len(text) <= room else f"{text[:room]}\n… what is printed from here on is left out\n"
        print(shown, end="", file=sys.stdout if stream == 1 else sys.stderr, flush=True)

    def _check(self) -> None:
        """Ten times a second: is the worker there, within its limits, and still wanted?"""
        self.worker.output.drain()
        self._report()
        if self._seconds is not None and self.clock.running and self.clock.seconds > self._seconds:
            self._too_long()
        held = self.worker.anonymous_bytes()
        if held > self._limit:
            limit = size_text(self._limit)
            self._stop(
                f"{self.doing} used {size_text(held)} of memory, more than the {limit} it may, and was stopped"
            )
        if not self.worker.alive() and not select.select([self.worker.channel.socket], [], [], 0)[0]:
            self._crashed()

    def _too_long(self) -> NoReturn:
        """Stop what took too long: the step that it is in, or where there were others too the whole."""
        alone = self.doing == self._what or (self._begun == [self.doing] and not self.clock.before)
        what, where = (self.doing, "") if alone else (self._what, f" in {self.doing}")
        self._stop(f"{what} took longer than {self._seconds:g} s and was stopped{where}")

    def _stop(self, what: str) -> NoReturn:
        self._fail(what, self._written(self.worker.stop()))

    def _crashed(self) -> NoReturn:
        ended = self.worker.how_it_ended()
        output = self._written(self.worker.output.rest())
        lines = [line.strip() for line in output.splitlines()]
        said = next((line for line in lines if line.startswith(_TELLING) or ": Assertion `" in line), "")
        if not self.started and not said:
            said = next((line for line in reversed(lines) if line), "")  # of a traceback of its start
        self._fail(f"{self.doing} crashed: {ended}" + (f": {said[:300]}" if said else ""), output)

    def _fail(self, what: str, text: str) -> NoReturn:
        self._note(self.doing, text)
        hint = "the worker starts anew by itself; nothing in this process is lost"
        error = WorkerCrashed(what, hint=hint, span=_place_of_end(text))
        error.doing, error.begun, error.output = self.doing, tuple(self._begun), text
        raise error from None


def _place_of_end(output: str) -> SourceSpan | None:
    """The innermost line of the stack in `output` that is the user's: of a cell, or of a file of their own."""
    for filename, line in _FRAME.findall(output):
        if not filename.startswith((_PACKAGE, "<string>", *LIBRARIES)):
            return span_of_line(filename, int(line))
    return None


def _raise(chain: list[tuple[bytes, list[tuple[str, int, str]]]]) -> NoReturn:
    """Raise the worker's error here, its causes with it. Source lines are those that this process has."""
    errors = [pickle.loads(data) for data, _ in chain]
    for error, (_, frames) in zip(errors, chain, strict=True):
        if not isinstance(error, MlirTrtError):
            stack = traceback.StackSummary.from_list([traceback.FrameSummary(*frame) for frame in frames])
            error.add_note("in the worker process:\n" + "".join(stack.format()).rstrip())
    for error, cause in pairwise(errors):
        error.__cause__ = cause
    raise errors[0]
