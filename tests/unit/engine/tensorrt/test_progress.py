"""Builds that are watched, stopped and left behind."""

from __future__ import annotations

import _thread
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

_LONG_SECONDS = 30.0  # of a step that nothing stops


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


def test_a_long_step_is_left_at_once() -> None:
    """The caller is free although the builder's step goes on; the step sees the stop signal."""
    monitor = BuildMonitor()
    released = threading.Event()

    def work() -> None:
        monitor.started("Building engine", 1)
        released.wait(_LONG_SECONDS)

    start = time.perf_counter()
    with pytest.raises(Cancelled):
        run_watched(work, monitor, lambda *_: False, "slow")
    assert time.perf_counter() - start < _LONG_SECONDS / 2
    assert monitor.stepped("Building engine", 0) is False
    released.set()


def test_an_interrupt_becomes_cancelled_at_once() -> None:
    """A KeyboardInterrupt while a step runs ends in Cancelled, not in a trace of the builder."""
    monitor = BuildMonitor()
    released = threading.Event()

    def work() -> None:
        _thread.interrupt_main()
        released.wait(_LONG_SECONDS)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    start = time.perf_counter()
    try:
        with pytest.raises(Cancelled):
            run_watched(work, monitor, None, "slow")
    finally:
        signal.signal(signal.SIGINT, before)
        released.set()
    assert time.perf_counter() - start < _LONG_SECONDS / 2
