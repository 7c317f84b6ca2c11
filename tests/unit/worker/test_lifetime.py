"""Workers live as long as who they work for, are used by one call at a time, and are not inherited."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from mlirtrt_nb.worker import Isolation, call, pool

FREE = Isolation()


def worker_pid(seconds: float = 0.0) -> int:
    """The worker that served a call of so many seconds."""

    def work() -> int:
        time.sleep(seconds)
        return os.getpid()

    return call(work, what="the test", isolation=FREE).value  # type: ignore[no-any-return]


def test_threads_have_workers_of_their_own() -> None:
    """Two calls at the same time run in two workers."""
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(worker_pid, [0.5, 0.5])
    assert first != second


def test_more_threads_than_workers() -> None:
    """Calls beyond the number of workers wait their turn."""
    with ThreadPoolExecutor(6) as threads:
        pids = list(threads.map(worker_pid, [0.05] * 12))
    assert len(set(pids)) <= pool._MOST and len(pids) == 12


def test_a_forked_process_starts_its_own() -> None:
    """A child does not talk to its parent's worker, and the parent's goes on."""
    ours = worker_pid()
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        theirs = executor.submit(worker_pid).result(timeout=60)
    assert theirs not in (ours, os.getpid())
    assert worker_pid() == ours
    assert _ends(theirs)


_PARENT = """\
import ctypes, os, sys, threading
from mlirtrt_nb.worker import Isolation, call
def stuck():
    print(os.getpid(), flush=True)
    ctypes.PyDLL(None).pause()  # native code that never lets go of the interpreter
call(stuck, what="the test", isolation=Isolation())
"""


def test_it_ends_with_its_parent() -> None:
    """Also when the parent is killed, and the worker is stuck in native code."""
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.send_signal(signal.SIGKILL)
    assert _ends(pid)


def test_importing_starts_nothing() -> None:
    """The package and the worker's own modules can be imported without a process being started."""
    code = "import mlirtrt_nb.worker, mlirtrt_nb.worker.pool as p; print(len(p._all), len(p._pool.idle))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0"]


def test_an_interpreter_that_ends_leaves_none() -> None:
    """At exit every worker is ended, and nothing is said about it."""
    code = "\n".join(
        [
            "import os",
            "from mlirtrt_nb.worker import Isolation, call",
            "print(call(os.getpid, what='the test', isolation=Isolation()).value)",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert _ends(int(done.stdout))


def _ends(pid: int) -> bool:
    """Whether the process is gone within some seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False
