"""The limit of time, of one call or of several."""

from __future__ import annotations

import time

import pytest

from mlirtrt_nb.errors import WorkerCrashed
from mlirtrt_nb.worker import Isolation, call, inside, one_limit, seconds_left


def waits(*steps: tuple[str, float]) -> None:
    """In the worker: some steps that take so long."""
    for name, seconds in steps:
        with inside.doing(name):
            time.sleep(seconds)


def test_several_calls_share_a_limit() -> None:
    """In a block of `one_limit` a call has what those before it left, and the error names the whole."""
    limit = Isolation(timeout=1.0)
    with one_limit():
        call(waits, ("first", 0.6), what="the work", isolation=limit)
        left = seconds_left(limit)
        with pytest.raises(
            WorkerCrashed, match=r"^the work took longer than 1 s and was stopped in second"
        ) as caught:
            call(waits, ("second", 30.0), what="the work", isolation=limit)
        assert seconds_left(limit) == 0
    assert left is not None and left <= 0.4
    assert caught.value.doing == "second"
    assert seconds_left(limit) == 1.0


def test_a_call_alone_has_a_limit_of_its_own() -> None:
    """Two calls outside of such a block may take it each; without a limit any time is left."""
    for _ in range(2):
        call(waits, ("step", 0.6), what="the work", isolation=Isolation(timeout=1.0))
    with one_limit():
        assert seconds_left(Isolation()) is None


def test_the_one_step_is_to_blame() -> None:
    """A step is said to have taken too long where no other took part in it."""
    limit = Isolation(timeout=0.5)
    with pytest.raises(WorkerCrashed, match=r"^only took longer than 0\.5 s and was stopped\n"):
        call(waits, ("only", 30.0), what="the work", isolation=limit)
    with pytest.raises(WorkerCrashed, match=r"^the work took longer than 0\.5 s and was stopped in b\n"):
        call(waits, ("a", 0.1), ("b", 30.0), what="the work", isolation=limit)
