"""Builds that are watched, stopped and left behind."""

from __future__ import annotations

import signal
import threading
import time

import pytest
from torch_mlir import ir

from mlirtrt_nb.engine.base import BuildRequest
from mlirtrt_nb.engine.tensorrt import TensorRtBuilder
from mlirtrt_nb.engine.tensorrt.progress import BuildMonitor, run_watched
from mlirtrt_nb.errors import Cancelled
from mlirtrt_nb.ir.context import new_context

from .trt_cases import CASES, build_case, function_of


def _build(progress):  # type: ignore[no-untyped-def]
    with new_context(), ir.Location.name("x"):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = function_of([CASES[0]])
        return TensorRtBuilder().build(BuildRequest("e", function.operation, {}, "sm89", (), progress))


def test_progress_is_reported_in_the_callers_thread() -> None:
    """Phases come with counts that fit, on the thread that asked."""
    seen: list[tuple[str, int, int]] = []
    threads = set()

    def progress(phase: str, done: int, total: int) -> bool:
        seen.append((phase, done, total))
        threads.add(threading.get_ident())
        return True

    engine = _build(progress)
    assert len(engine.blob) > 0
    assert threads == {threading.get_ident()}
    assert all(0 <= done <= total for _, done, total in seen)
    assert seen[-1] == ("Building engine", 6, 6)


def test_false_cancels_and_the_next_build_works() -> None:
    """A progress that returns False ends in Cancelled; nothing is left that hinders the next build."""
    with pytest.raises(Cancelled, match="'e' was cancelled"):
        _build(lambda *_: False)
    assert len(build_case(CASES[0]).blob) > 0


def test_an_error_in_the_callback_reaches_the_caller() -> None:
    """What the callback raises is not swallowed."""

    def progress(phase: str, done: int, total: int) -> bool:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        _build(progress)


def test_a_long_step_is_left_within_a_second() -> None:
    """The caller is free at once, although the builder's step goes on; the step sees the stop signal."""
    monitor = BuildMonitor()
    released = threading.Event()

    def work() -> None:
        monitor.started("Building engine", 1)
        released.wait(10)

    start = time.perf_counter()
    with pytest.raises(Cancelled):
        run_watched(work, monitor, lambda *_: time.perf_counter() - start < 0.2, "slow")
    assert time.perf_counter() - start < 1
    assert monitor.stepped("Building engine", 0) is False
    released.set()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers on this platform")
def test_an_interrupt_becomes_cancelled_within_a_second() -> None:
    """A KeyboardInterrupt while a step runs ends in Cancelled, not in a trace of the builder."""
    monitor = BuildMonitor()
    released = threading.Event()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    start = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Cancelled):
            run_watched(lambda: released.wait(10), monitor, None, "slow")
    finally:
        signal.signal(signal.SIGALRM, before)
        released.set()
    assert time.perf_counter() - start < 1.2
