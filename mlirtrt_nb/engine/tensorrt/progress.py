"""Runs a build so that it can be watched and stopped.

The builder works in a thread of its own. The caller's thread reports progress and can be interrupted at
any moment: it tells the builder to stop at its next step, and returns at once without waiting for it,
since a single step can take seconds.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ...errors import Cancelled
from ...progress import Progress

__all__ = ["BuildMonitor", "run_watched"]

T = TypeVar("T")
_POLL_SECONDS = 0.1


class BuildMonitor:
    """Takes the builder's progress in its thread, hands it over as events, and carries the stop signal."""

    def __init__(self) -> None:
        self.events: queue.SimpleQueue[tuple[str, int, int] | None] = queue.SimpleQueue()
        self.stop = threading.Event()
        self._totals: dict[str, int] = {}

    def started(self, phase: str, steps: int) -> None:
        """A phase of so many steps begins."""
        self._totals[phase] = steps
        self.events.put((phase, 0, steps))

    def stepped(self, phase: str, step: int) -> bool:
        """True to go on."""
        total = self._totals.get(phase, step + 1)
        self.events.put((phase, min(step + 1, total), total))
        return not self.stop.is_set()

    def finished(self, phase: str) -> None:
        """A phase is done, whether or not all its steps were told."""
        total = self._totals.pop(phase, 1)
        self.events.put((phase, total, total))

    def attach(self, trt: Any) -> Any:
        """A TensorRT progress monitor for a builder config. The caller keeps it alive during the build."""
        monitor = self

        class Monitor(trt.IProgressMonitor):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                trt.IProgressMonitor.__init__(self)

            def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
                monitor.started(phase_name, num_steps)

            def step_complete(self, phase_name: str, step: int) -> bool:
                return monitor.stepped(phase_name, step)

            def phase_finish(self, phase_name: str) -> None:
                monitor.finished(phase_name)

        return Monitor()


def run_watched(work: Callable[[], T], monitor: BuildMonitor, progress: Progress | None, name: str) -> T:
    """`work()` in a thread, while `progress` is called here with the monitor's latest event.

    Raises `Cancelled` when `progress` returns False or on a KeyboardInterrupt; the thread then ends by
    itself at the builder's next step. What `work` raises is raised here.
    """
    outcome: dict[str, Any] = {}

    def body() -> None:
        try:
            outcome["value"] = work()
        except BaseException as error:  # handed to the caller's thread
            outcome["error"] = error
        finally:
            monitor.events.put(None)

    thread = threading.Thread(target=body, name=f"build {name}")
    try:
        thread.start()
        if not _watch(monitor, progress):
            raise Cancelled(f"building {name!r} was cancelled")
        thread.join()
    except KeyboardInterrupt:
        raise Cancelled(f"building {name!r} was cancelled") from None
    finally:
        monitor.stop.set()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]  # type: ignore[no-any-return]


def _watch(monitor: BuildMonitor, progress: Progress | None) -> bool:
    """Report until the work ends (True) or `progress` asks to stop (False).

    While a step takes long its last event is reported again, so that a request to stop is heard.
    """
    latest = ("Building engine", 0, 1)
    while True:
        ended, latest = _newest(monitor, latest)
        if progress is not None and progress(*latest) is False:
            return False
        if ended:
            return True


def _newest(monitor: BuildMonitor, latest: tuple[str, int, int]) -> tuple[bool, tuple[str, int, int]]:
    """Whether the work has ended, and the last of the events that have gathered."""
    try:
        event = monitor.events.get(timeout=_POLL_SECONDS)
        while event is not None:
            latest = event
            event = monitor.events.get_nowait()
    except queue.Empty:
        return False, latest
    return True, latest
