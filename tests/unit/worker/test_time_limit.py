"""The limit of time, of one call or of several."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import pytest

from mlirtrt_nb.errors import WorkerCrashed
from mlirtrt_nb.worker import Isolation, call, inside, one_limit, seconds_left
from mlirtrt_nb.worker.time_limit import Clock


def waits(*steps: tuple[str, float]) -> None:
    """In the worker: some steps that take so long."""
    for name, seconds in steps:
        with inside.doing(name):
            time.sleep(seconds)


def test_several_calls_share_a_limit() -> None:
    """In a block of `one_limit` a call has what those before it left, and the error names the whole."""
    limit = Isolation(timeout=1000.0)
    with one_limit():
        call(waits, ("first", 0.1), what="the work", isolation=limit)
        assert 0 < (seconds_left(limit) or 0) <= 999.9
        Clock.current().before += 999.5
        with pytest.raises(
            WorkerCrashed, match=r"^the work took longer than 1000 s and was stopped in second"
        ) as caught:
            call(waits, ("second", 1000.0), what="the work", isolation=limit)
        assert seconds_left(limit) == 0
    assert caught.value.doing == "second"


def test_a_call_alone_has_a_limit_of_its_own() -> None:
    """Outside of such a block, and in another, nothing of it is gone; without a limit any time is left."""
    limit = Isolation(timeout=1000.0)
    call(waits, ("step", 0.1), what="the work", isolation=limit)
    assert seconds_left(limit) == 1000.0
    with one_limit():
        call(waits, ("step", 0.1), what="the work", isolation=limit)
        with one_limit():
            assert seconds_left(limit) == 1000.0 and seconds_left(Isolation()) is None


def test_the_one_step_is_to_blame() -> None:
    """A step is said to have taken too long where no other took part in it."""
    limit = Isolation(timeout=0.5)
    with pytest.raises(WorkerCrashed, match=r"^only took longer than 0\.5 s and was stopped\n"):
        call(waits, ("only", 1000.0), what="the work", isolation=limit)
    with pytest.raises(WorkerCrashed, match=r"^the work took longer than 0\.5 s and was stopped in b\n"):
        call(waits, ("a", 0.0), ("b", 1000.0), what="the work", isolation=limit)


def spin() -> None:
    """In the worker: an endless loop of Python."""
    with inside.doing("pass spin"):
        while True:
            pass  # it is here


def hold() -> None:
    """In the worker: native code that keeps the interpreter, and goes on when it is interrupted."""
    with inside.doing("pass hold"):
        ctypes.PyDLL(None).sleep(100) and hold()  # it is here


def wait() -> None:
    """In the worker: native code that the question where it is sets free."""
    with inside.doing("pass wait"):
        ctypes.PyDLL(None).pause()  # it is here
    time.sleep(100)


def swell() -> None:
    """In the worker: more and more memory."""
    kept: list[bytes] = []
    with inside.doing("pass swell"):
        while True:
            kept.append(b"x" * 1_000_000)  # it is here


@pytest.mark.parametrize(
    ("work", "limits", "said"),
    [
        (spin, {"timeout": 0.5}, "pass spin took longer than 0.5 s"),
        (hold, {"timeout": 0.5}, "pass hold took longer than 0.5 s"),
        (wait, {"timeout": 0.5}, "pass wait took longer than 0.5 s"),
        (swell, {"memory_limit": "500 MB"}, "pass swell used "),
    ],
)
def test_what_is_stopped_names_its_line(work: Callable[[], None], limits: dict[str, Any], said: str) -> None:
    """Before it is ended the worker says where it is, as after a crash."""
    with pytest.raises(WorkerCrashed) as caught:
        call(work, what="the test", isolation=Isolation(**limits))
    assert caught.value.what.startswith(said)
    span = caught.value.span
    assert span is not None and span.filename == __file__
    assert span.text.strip().endswith("# it is here") or span.text.strip() == "while True:"
    assert "most recent call first" in caught.value.output


def test_no_line_of_the_users_is_made_up() -> None:
    """Where only the package's code and Python's own run there is none."""
    with pytest.raises(WorkerCrashed, match=r"the test took longer than 0\.5 s") as caught:
        call(time.sleep, 100, what="the test", isolation=Isolation(timeout=0.5))
    assert caught.value.span is None
