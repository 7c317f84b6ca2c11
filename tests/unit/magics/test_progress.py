"""The progress bar, and the stop button."""

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from mlirtrt_nb.errors import Cancelled, CompileError
from mlirtrt_nb.magics import progress
from mlirtrt_nb.magics.progress import run
from mlirtrt_nb.progress import Progress


class Drawn(list):
    """Stands in for the sink of a notebook: keeps what is drawn."""

    def show(self, phase: str, share: float | None, seconds: float, state: str) -> None:
        self.append((phase, share, state))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """What is drawn on a terminal's bar."""
    sink = Drawn()
    monkeypatch.setattr(progress, "_Terminal", lambda title: sink)
    return sink


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Python's own handler, which a process started in the background does not have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Wait for `condition`; whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_result_is_passed_on(drawn: Drawn) -> None:
    """The function's result is returned; the last thing drawn is that it has finished."""
    assert run(None, "work", lambda report: 42) == 42
    assert drawn[-1] == ("finished", 1.0, "done")


def test_quick_work_draws_no_bar(drawn: Drawn) -> None:
    """Work that is over at once shows only its end."""
    run(None, "work", lambda report: None)
    assert len(drawn) == 1


def test_reports_are_drawn(drawn: Drawn) -> None:
    """What is reported is drawn as a share; an unknown total has none, and more than all is all."""

    def work(report: Progress) -> None:
        for state in (("passes", 1, 4), ("building", 3, 0), ("late", 9, 8)):
            assert report(*state)
            assert until(lambda: any(entry[0] == state[0] for entry in drawn))  # noqa: B023

    run(None, "work", work)
    assert {entry for entry in drawn if entry[2] == "running"} >= {
        ("passes", 0.25, "running"),
        ("building", None, "running"),
        ("late", 1.0, "running"),
    }


def test_errors_are_passed_on(drawn: Drawn) -> None:
    """An error of the work reaches the caller as it is, and the bar names the phase."""
    error = CompileError("no")

    def work(report: Progress) -> None:
        report("building main_0", 1, 2)
        raise error

    with pytest.raises(CompileError) as caught:
        run(None, "work", work)
    assert caught.value is error
    assert drawn[-1] == ("failed in building main_0", None, "failed")


def test_what_fails_before_it_reports_names_no_phase(drawn: Drawn) -> None:
    """The bar says failed, and nothing of what had not begun."""

    def work(report: Progress) -> None:
        raise CompileError("no")

    with pytest.raises(CompileError):
        run(None, "work", work)
    assert drawn == [("failed", None, "failed")]


def test_an_interrupt_stops_the_work(drawn: Drawn) -> None:
    """The stop button makes `report` false; the work's own Cancelled reaches the caller."""
    stopped = threading.Event()

    def work(report: Progress) -> None:
        _thread.interrupt_main()
        assert until(lambda: not report("building", 1, 2))
        stopped.set()
        raise Cancelled("the build was stopped")

    with pytest.raises(Cancelled, match="the build was stopped"):
        run(None, "work", work)
    assert stopped.is_set()
    assert drawn[-1][2] == "stopped"


def test_an_interrupt_at_the_last_moment_is_still_a_stop(drawn: Drawn) -> None:
    """Work that finishes although it was asked to stop counts as stopped, so that Run All stops."""

    def work(report: Progress) -> int:
        _thread.interrupt_main()
        until(lambda: not report("writing", 1, 1))
        return 1

    with pytest.raises(Cancelled):
        run(None, "work", work)


def test_work_that_does_not_react(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that ignores the stop is left behind after a while, with a message that says so."""
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.05)
    end = threading.Event()

    def work(report: Progress) -> None:
        _thread.interrupt_main()
        end.wait(5)

    with pytest.raises(Cancelled, match="goes on in the background"):
        run(None, "work", work)
    end.set()


def test_a_second_interrupt_does_not_wait(drawn: Drawn) -> None:
    """Whoever presses stop twice gets the kernel back at once, with the same short report."""
    end = threading.Event()

    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)  # unlike interrupt_main, it ends a long wait

    def work(report: Progress) -> None:
        press()
        until(lambda: ("stopping", None, "running") in drawn)
        press()
        end.wait(30)

    started = time.monotonic()
    with pytest.raises(Cancelled, match="goes on in the background"):
        run(None, "work", work)
    assert time.monotonic() - started < 15
    assert drawn[-1][2] == "stopped"
    end.set()


def test_terminal_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the output is no terminal, one line is printed at the end."""
    run(None, "squeezenet for cpu", lambda report: None)
    assert capsys.readouterr().out.startswith("✓ squeezenet for cpu: finished after ")
