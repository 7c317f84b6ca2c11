"""Calls in the worker: values, errors, output, limits, interrupts."""

from __future__ import annotations

import _thread
import ctypes
import io
import logging
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mlirtrt_nb.errors import Cancelled, ParseError, SourceSpan, WorkerCrashed
from mlirtrt_nb.files import map_file
from mlirtrt_nb.worker import Isolation, Outcome, Unsendable, call, inside

FREE = Isolation()


def value(function: Callable[..., Any], *arguments: Any, isolation: Isolation = FREE) -> Any:
    return call(function, *arguments, what="the test", isolation=isolation).value


def test_it_is_another_process_in_a_session_of_its_own() -> None:
    """An interrupt of this process's group does not reach the worker; the next call finds it again."""
    first = value(lambda: (os.getpid(), os.getsid(0), inside.active()))
    assert first[0] != os.getpid() and first[1] == first[0] and first[2]
    assert value(os.getpid) == first[0]
    assert not inside.active()


def test_functions_keep_their_file() -> None:
    """Code of a cell, and the code inside it, is of the same file there, whatever cloudpickle says of it."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile("def outer():\n    def inner(): 1 / 0\n    inner()", "<cell>", "exec"), scope)

    def failing_lines() -> list[tuple[str, int]]:
        try:
            scope["outer"]()
        except ZeroDivisionError as error:
            frames = traceback.extract_tb(error.__traceback__)[1:]
            return [(frame.filename, frame.lineno or 0) for frame in frames]
        return []

    assert value(failing_lines) == failing_lines() == [("<cell>", 3), ("<cell>", 2)]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(100_000, dtype=np.float32).reshape(100, 1000),
        np.asfortranarray(np.arange(100_000, dtype=np.int64).reshape(100, 1000)),
        np.arange(100_000)[::3],
        np.arange(20_000).astype(ml_dtypes.bfloat16),
        np.arange(16, dtype=np.uint8),
        np.zeros((0, 7)),
        np.array(["a", "bc"], dtype=object),
    ],
    ids=["c", "fortran", "strided", "bf16", "small", "empty", "strings"],
)
def test_arrays_go_and_come_back(array: np.ndarray) -> None:
    """Every kind of array arrives as it was and returns so, alone and as what it is part of."""
    whole, half, shape = value(lambda a: ({"a": a}, a[: len(a) // 2], a.shape), array)
    assert whole["a"].dtype == array.dtype and shape == array.shape
    np.testing.assert_array_equal(whole["a"], array)
    np.testing.assert_array_equal(half, array[: len(array) // 2])


def test_weights_in_a_file_are_shared(tmp_path: Path) -> None:
    """An array over a mapped file is not copied: what comes back lies in this process's own map of it."""
    path = tmp_path / "weights.bin"
    np.arange(50_000, dtype=np.float32).tofile(path)
    mapped = map_file(path)
    weights = np.frombuffer(mapped, np.float32)[1000:]
    path.unlink()  # the map does not need the name
    back, total, mapped_there = value(
        lambda a: (a[10:], float(a.sum()), "weights.bin" in Path("/proc/self/maps").read_text()), weights
    )
    assert np.shares_memory(back, weights) and total == weights.sum(dtype=np.float32) and mapped_there


def test_copies_of_one_array_stay_one() -> None:
    """An array that is sent twice in a call is copied once, and what shares memory there shares it here."""
    made = value(lambda a: (a, a[5:], a * 2), np.arange(10_000))
    assert np.shares_memory(made[0], made[1]) and not np.shares_memory(made[0], made[2])


def test_a_weight_of_one_repeated_element_takes_no_memory() -> None:
    """Elided weights, which repeat a zero, are not written out."""
    zeros = np.broadcast_to(np.zeros((), np.float32), (1 << 20, 1 << 14))  # 64 GiB if it were
    back = value(lambda a: a, zeros)
    assert back.shape == zeros.shape and set(back.strides) == {0}


def test_what_was_sent_for_a_call_is_let_go() -> None:
    """The worker keeps no copy of an array once its call is over."""

    def shared_bytes() -> int:
        return sum("memfd:mlirtrt_nb" in line for line in Path("/proc/self/maps").read_text().splitlines())

    assert value(lambda a: a.sum(), np.ones(1 << 20)) == 1 << 20
    deadline = time.monotonic() + 5
    while (left := value(shared_bytes)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == 0


def test_errors_arrive_whole() -> None:
    """An error of the package keeps its place and its attributes; its cause is there, with its frames."""

    def fail() -> None:
        try:
            {}["missing"]
        except KeyError as cause:
            error = ParseError("bad", span=SourceSpan("<cell>", 3, 7, "  %x = nop", 2), hint="mend it")
            error.others = (ParseError("also bad"),)
            raise error from cause

    with pytest.raises(ParseError) as caught:
        value(fail)
    assert caught.value.span == SourceSpan("<cell>", 3, 7, "  %x = nop", 2)
    assert [str(other) for other in caught.value.others] == ["also bad"]
    assert isinstance(caught.value.__cause__, KeyError)
    assert '{}["missing"]' in caught.value.__cause__.__notes__[0]


def test_errors_of_the_users_own_classes() -> None:
    """A class that only this process knows is the same class when it comes back."""

    class Mine(Exception):
        pass

    def fail() -> None:
        raise Mine(42)

    with pytest.raises(Mine) as caught:
        value(fail)
    assert caught.value.args == (42,)


def test_output_warnings_and_logs(caplog: pytest.LogCaptureFixture) -> None:
    """What is printed is shown here, what is written natively is kept; warnings and records arrive."""

    def speak() -> None:
        print("from Python")
        os.write(2, b"from C\n")
        warnings.warn("careful", DeprecationWarning, stacklevel=1)
        logging.getLogger("some.library").warning("look: %s", 3)

    shown = io.StringIO()
    with redirect_stdout(shown), pytest.warns(DeprecationWarning, match="careful"):
        outcome = call(speak, what="the test", isolation=FREE)
    assert shown.getvalue() == "from Python\n"
    ((step, text),) = outcome.outputs
    assert step == "the test" and sorted(text.splitlines()) == ["from C", "from Python"]
    assert ("some.library", logging.WARNING, "look: 3") in caplog.record_tuples


def test_output_belongs_to_its_step() -> None:
    """Each step has what was written during it, and an event of the call knows the step's."""

    def work() -> None:
        for name in "abc":
            with inside.doing(f"pass {name}"):
                os.write(1, f"native {name}\n".encode() * (name != "b"))
            inside.tell("step", name)

    seen: list[tuple[str, str]] = []

    def take(kind: str, name: str, outcome: Outcome) -> None:
        seen.append((name, outcome.last_output))

    outcome = call(work, what="the test", isolation=FREE, take=take)
    assert seen == [("a", "native a\n"), ("b", ""), ("c", "native c\n")]
    assert outcome.outputs == [("pass a", "native a\n"), ("pass c", "native c\n")]


def _fork() -> int:
    if os.fork() == 0:
        print("in the fork")
        return 0
    os.wait()
    return 1


def test_a_forked_process_that_comes_back() -> None:
    """It neither answers in the worker's place nor takes the next call; what it prints belongs to the step."""
    outcome = call(_fork, what="it", isolation=FREE)
    assert outcome.value == 1 and outcome.outputs == [("it", "in the fork\n")]
    assert [value(abs, -number) for number in range(3)] == [0, 1, 2]


def test_a_flood_is_bounded() -> None:
    """Of much output the beginning and the end are kept; of many printed lines only the first are shown."""

    def flood() -> None:
        line = b"x" * 99 + b"\n"
        for _ in range(20_000):
            os.write(1, line)
        for number in range(30_000):
            print(f"{number:09}")

    shown = io.StringIO()
    with redirect_stdout(shown):
        outcome = call(flood, what="the test", isolation=FREE)
    text = outcome.outputs[0][1]
    assert len(text) < 140_000 and text.startswith("xxx") and "bytes left out" in text
    assert "000029999" in text
    assert len(shown.getvalue()) < 210_000 and "left out" in shown.getvalue()


def _segfault() -> None:
    ctypes.string_at(0)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_segfault, "segmentation fault (SIGSEGV)"),
        (lambda: os._exit(3), "exit status 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed from outside"),
        (lambda: os.closerange(3, 512), "the test"),
    ],
    ids=["segfault", "exit", "kill", "close"],
)
def test_a_worker_that_ends(function: Callable[[], None], said: str) -> None:
    """It is one error that says how; the next call finds another worker."""
    before = value(os.getpid)
    with pytest.raises(WorkerCrashed) as caught:
        value(function)
    assert said in caught.value.what and caught.value.doing == "the test"
    assert value(os.getpid) != before


def test_a_crash_names_the_line_that_crashed() -> None:
    """The stack that the worker leaves behind shows the user's own line."""

    def crash() -> None:
        ctypes.string_at(0)  # here

    with pytest.raises(WorkerCrashed) as caught:
        value(crash)
    span = caught.value.span
    assert span is not None and span.text.strip() == "ctypes.string_at(0)  # here"
    assert "Segmentation fault" in caught.value.output


def test_a_damaged_worker_is_not_the_next_calls_fault() -> None:
    """A worker that ends between two calls is replaced without a word."""

    def die_soon() -> int:
        threading.Timer(0.2, os._exit, [1]).start()
        return os.getpid()

    state = Path(f"/proc/{value(die_soon)}/stat")
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.02)
    assert value(lambda: 7) == 7


def test_a_call_that_takes_too_long() -> None:
    """The time limit holds even where native code never lets go of the interpreter."""
    with pytest.raises(WorkerCrashed, match=r"the test took longer than 0\.5 s"):
        value(lambda: ctypes.PyDLL(None).pause(), isolation=Isolation(timeout=0.5))


def test_a_call_that_takes_too_much_memory() -> None:
    """The memory limit ends the worker, not this process; shared weights do not count."""

    def hog() -> None:
        kept = []
        while True:
            kept.append(b"x" * 20_000_000)

    with pytest.raises(WorkerCrashed, match="more than the 600 MiB it may"):
        value(hog, isolation=Isolation(memory_limit="600 MB"))


def test_an_interrupt_stops_it_at_once() -> None:
    """What the stop button does: Cancelled, also when the worker never answers."""

    def endless() -> None:
        with inside.doing("pass endless"):
            inside.tell("progress", ("begun", 0, 1))
            while True:
                pass

    def press(*_: object) -> bool:
        _thread.interrupt_main()
        return True

    with pytest.raises(Cancelled, match="pass endless was stopped"):
        call(endless, what="the test", isolation=FREE, progress=press)
    assert value(lambda: 1) == 1


def test_progress_and_its_veto() -> None:
    """Progress is reported here; while nothing new comes the last report is repeated, and False stops it."""

    def work() -> None:
        inside.tell("progress", ("building", 1, 4))
        time.sleep(60)

    seen: list[tuple[str, int, int]] = []

    def progress(phase: str, done: int, total: int) -> bool:
        seen.append((phase, done, total))
        return len(seen) < 3

    with pytest.raises(Cancelled):
        call(work, what="the test", isolation=FREE, progress=progress)
    assert seen == [("building", 1, 4)] * 3


def test_what_cannot_be_sent() -> None:
    """It is said before anything runs, and the worker goes on."""
    lock, before = threading.Lock(), value(os.getpid)
    with pytest.raises(Unsendable, match="cannot be sent to the worker process"):
        value(lambda: lock)
    assert value(os.getpid) == before


def test_a_result_that_cannot_be_sent_back() -> None:
    """It is an error, and the worker goes on."""
    before = value(os.getpid)
    with pytest.raises(Exception, match="cannot be sent back"):
        value(threading.Lock)
    assert value(os.getpid) == before


def test_it_follows_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Working folder, environment and module paths are those of this process at the time of the call."""
    (tmp_path / "a_module_of_mine.py").write_text("answer = 42")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOME_SETTING", "on")
    monkeypatch.syspath_prepend(tmp_path)

    def look() -> tuple[str, str, int]:
        import a_module_of_mine  # type: ignore[import-not-found]

        return os.getcwd(), os.environ["SOME_SETTING"], a_module_of_mine.answer

    assert value(look) == (str(tmp_path), "on", 42)
    monkeypatch.delenv("SOME_SETTING")
    assert value(lambda: os.environ.get("SOME_SETTING")) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the worker needs Linux")
def test_recursion_without_end_is_an_ordinary_error() -> None:
    """Python's own limit holds in the worker as it does here."""

    def deeper() -> Any:
        return deeper()

    with pytest.raises(RecursionError):
        value(deeper)
