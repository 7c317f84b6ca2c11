"""The workers of this process: one for each call that runs, and one that waits for the next."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from contextlib import suppress

from .process import Worker

__all__ = ["discard", "give_back", "lend", "prewarm", "shut_down"]

_MOST = max(2, os.cpu_count() or 1)
_IDLE_SECONDS = 60.0  # after which all idle workers but one are ended
_SWOLLEN_BYTES = 1 << 30  # an idle worker that holds more is replaced


class _Pool:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.idle: list[tuple[Worker, float]] = []  # with the time since when, longest idle first
        self.lent = 0


_pool = _Pool()
_all: weakref.WeakSet[Worker] = weakref.WeakSet()


def lend() -> Worker:
    """A worker for one call; waits while as many as this machine has cores are in use. Raises OSError."""
    with _pool.changed:
        while not _pool.idle and _pool.lent >= _MOST:
            _pool.changed.wait()
        _pool.lent += 1
        while _pool.idle:
            worker, _ = _pool.idle.pop()
            if worker.alive() and worker.anonymous_bytes() < _SWOLLEN_BYTES:
                return worker
            worker.kill()
        try:
            return _started()
        except BaseException:
            _pool.lent -= 1
            raise


def give_back(worker: Worker) -> None:
    """Return a worker that has answered."""
    now = time.monotonic()
    with _pool.changed:
        _pool.lent -= 1
        _pool.idle.append((worker, now))
        while len(_pool.idle) > 1 and now - _pool.idle[0][1] > _IDLE_SECONDS:
            _pool.idle.pop(0)[0].kill()
        _pool.changed.notify()


def discard(worker: Worker) -> None:
    """End a worker that has not answered, and start another in its place."""
    worker.kill()
    with _pool.changed:
        _pool.lent -= 1
        _pool.changed.notify()
    with suppress(OSError):
        prewarm()


def prewarm() -> None:
    """Start a worker if none is idle. Returns at once; the process gets ready by itself."""
    with _pool.changed:
        if not _pool.idle:
            _pool.idle.append((_started(), time.monotonic()))


def shut_down() -> None:
    """End every worker of this process."""
    for worker in list(_all):
        worker.kill()
    with _pool.changed:
        _pool.idle.clear()


def _started() -> Worker:
    worker = Worker()
    _all.add(worker)
    return worker


def _abandon() -> None:
    """In a forked child: the workers are the parent's."""
    global _pool
    for worker in list(_all):
        worker.close()
        worker.process.returncode = 0  # so that nobody here waits for it
    _all.clear()
    _pool = _Pool()


os.register_at_fork(after_in_child=_abandon)
atexit.register(shut_down)
