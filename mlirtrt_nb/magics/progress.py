"""Work that shows a progress bar and that the stop button ends.

The work runs in a thread, and the main thread waits for it: an interrupt is raised in the main thread only,
and would not arrive while that is inside a builder's native code.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ..display.progress import progress_html, progress_text
from ..errors import Cancelled
from ..progress import Progress

__all__ = ["run"]

Result = TypeVar("Result")

_STARTING = ("starting", 0, 0)
_REDRAW_SECONDS = 0.1
_PATIENCE_SECONDS = 30.0  # how long to wait for a builder to notice that it was stopped


class _Sink(Protocol):
    """Where the bar is drawn."""

    def show(self, phase: str, share: float | None, seconds: float, state: str) -> None: ...


class _Notebook:
    """One output, updated in place; its last state is what a saved notebook keeps."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._handle: Any = None

    def show(self, phase: str, share: float | None, seconds: float, state: str) -> None:
        from IPython.display import display

        bundle = {
            "text/plain": progress_text(self._title, phase, share, seconds, state),
            "text/html": progress_html(self._title, phase, share, seconds, state),
        }
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


class _Terminal:
    """One line, rewritten; only its last state where the output is not a terminal."""

    def __init__(self, title: str) -> None:
        self._title = title

    def show(self, phase: str, share: float | None, seconds: float, state: str) -> None:
        line = progress_text(self._title, phase, share, seconds, state)
        if sys.stdout.isatty():
            print(f"\r\x1b[K{line}", end="" if state == "running" else "\n", flush=True)
        elif state != "running":
            print(line)


class _Work(threading.Thread):
    """Runs `function(report)` and keeps its result or exception."""

    def __init__(self, function: Callable[[Progress], Any]) -> None:
        # A daemon: a builder that does not react to being stopped must not keep the interpreter alive.
        super().__init__(daemon=True, name="mlirtrt_nb-work")
        self._function = function
        self._variables = contextvars.copy_context()  # so that what it prints reaches the right cell
        self.stop = threading.Event()
        self.finished = threading.Event()
        self.state: tuple[str, int, int] = _STARTING
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._variables.run(self._function, self._report)
        except BaseException as error:
            self.error = error
        finally:
            self.finished.set()

    def _report(self, phase: str, done: int, total: int) -> bool:
        self.state = (phase, done, total)
        return not self.stop.is_set()


def run(shell: Any, title: str, function: Callable[[Progress], Result]) -> Result:
    """Call `function(report)` and show what it reports as a bar called `title`.

    `report(phase, done, total)` gives False once the user has asked to stop; the function is then expected
    to raise `Cancelled`. Its result or exception is passed on.
    """
    sink = _Notebook(title) if hasattr(shell, "kernel") else _Terminal(title)
    work = _Work(function)
    started = time.perf_counter()
    try:
        work.start()
        _watch(work, sink, started)
    except KeyboardInterrupt:
        _stop(work, sink, started)
    seconds = time.perf_counter() - started
    phase, begun = work.state[0], work.state != _STARTING
    if work.error is None:
        sink.show("finished", 1.0, seconds, "done")
        return work.result  # type: ignore[no-any-return]
    state = "stopped" if isinstance(work.error, Cancelled) else "failed"
    sink.show(f"{state} in {phase}" if begun else state, None, seconds, state)
    # Only the error's own report counts; the frames of the thread would say nothing to the user.
    raise work.error.with_traceback(None) if isinstance(work.error, Cancelled) else work.error


def _watch(work: _Work, sink: _Sink, started: float) -> None:
    """Redraw until the work ends, but not for work that is over at once."""
    while not work.finished.wait(_REDRAW_SECONDS):
        phase, done, total = work.state
        share = min(done / total, 1.0) if total > 0 else None
        sink.show(phase, share, time.perf_counter() - started, "running")


def _stop(work: _Work, sink: _Sink, started: float) -> None:
    """Ask the work to stop and wait; a second interrupt leaves at once."""
    work.stop.set()
    try:
        sink.show("stopping", None, time.perf_counter() - started, "running")
        ended = work.finished.wait(_PATIENCE_SECONDS)
    except KeyboardInterrupt:
        ended = work.finished.is_set()
    if not ended:
        sink.show("did not stop and goes on in the background", None, time.perf_counter() - started, "stopped")
        raise Cancelled("stopped waiting; the work has not ended yet and goes on in the background") from None
    if work.error is None:
        # It ended by itself just as the button was pressed; the user still asked for an end.
        work.error = Cancelled("stopped")
