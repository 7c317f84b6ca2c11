"""The worker process: takes calls from its parent one after another, until the parent ends."""

from __future__ import annotations

import ctypes
import faulthandler
import fcntl
import gc
import logging
import os
import resource
import select
import signal
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import cloudpickle

from ..errors import MlirTrtError
from . import inside
from .channel import Channel
from .process import STACK_SIGNAL
from .shared import SharedBuffers
from .streams import PrintedText

__all__ = ["main"]

# Imported before the first call, by name since they are higher rows than this one.
_WARM = ("mlirtrt_nb.compilation", "mlirtrt_nb.passes.run", "mlirtrt_nb.ir.bytecode")
_PASSES = "mlirtrt_nb.passes.base"  # whose `available` imports every pass
_PAUSE_SECONDS = 0.02  # without a further call; then there is time to tidy up


def main(end: int, lifeline: int, mark: str) -> None:
    """Serve the socket `end`. `mark` separates the outputs of steps."""
    _die_with_parent(lifeline)
    _settle()
    channel = Channel(socket.socket(fileno=end), SharedBuffers(freeze=True))
    printed = PrintedText(lambda stream, text: inside.tell("print", (stream, text)))
    inside.enter(_Teller(channel, mark.encode(), printed).tell)
    os.register_at_fork(after_in_child=lambda: _leave(channel))
    _forward_warnings()
    logging.getLogger().addHandler(_LogForwarder())
    _warm_up()
    called = True
    while True:
        if called and not select.select([channel.socket], [], [], _PAUSE_SECONDS)[0]:
            _rest()
        try:
            message = channel.receive()
        except EOFError:
            os._exit(0)
        called = _serve(channel, message.open)
        del message


def _warm_up() -> None:
    """Import what every call needs, so that none pays for it out of its own limit of time."""
    for name in _WARM:
        import_module(name)
    import_module(_PASSES).available()
    gc.freeze()


def _die_with_parent(lifeline: int) -> None:
    """Let the kernel end this process when the parent's end of a pipe closes.

    That happens however the parent ends, and takes effect even while native code holds the interpreter.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def _leave(channel: Channel) -> None:
    """In a process that the user's code forked: it must not answer, nor take the calls that follow."""
    channel.socket.close()
    inside.enter(_write_prints)


def _write_prints(kind: str, value: Any) -> None:
    if kind == "print":
        stream, text = value
        os.write(stream, text.encode(errors="replace"))


def _settle() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    faulthandler.enable()
    faulthandler.register(STACK_SIGNAL, all_threads=False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("500")  # where memory runs out, this process should go, not the user's


class _Teller:
    """Sends events. What ended is sent together with what begins next, just before that begins."""

    def __init__(self, channel: Channel, mark: bytes, printed: PrintedText) -> None:
        self._channel = channel
        self._mark = mark
        self._printed = printed
        self._waiting: list[tuple[str, Any]] = []
        self._turn = threading.RLock()  # the user's code may have threads

    def tell(self, kind: str, value: Any) -> None:
        with self._turn:
            self._tell(kind, value)

    def _tell(self, kind: str, value: Any) -> None:
        if kind in _ENDS:
            self._printed.end_step()
        if kind == "did":
            _libc.fflush(None)
            with suppress(OSError):
                os.write(2, self._mark)
        events = [*self._waiting, (kind, value)]
        if kind in _WAITING:
            self._waiting = events
            return
        self._waiting = []
        self._channel.send(events, plain=all(kind in _PLAIN for kind, _ in events))


_libc = ctypes.CDLL(None)
_ENDS = frozenset({"did", "done", "failed"})
_WAITING = frozenset({"did", "step"})
_PLAIN = frozenset({"did", "doing", "print", "progress", "started"})  # of numbers and texts alone


def _serve(channel: Channel, opened: Callable[[], Any]) -> bool:
    """Answer one message. True if it was a call."""
    try:
        kind, *rest = opened()
        if kind != "call":
            if kind == "setup":
                _set_up(*rest)
            return False
        inside.tell("started", None)
        function, arguments, options = rest
        answer = ("done", function(*arguments, **options))
    except BaseException as error:
        answer = ("failed", _described(error))
    if channel.socket.fileno() < 0:  # a forked process that came back from the user's code
        os._exit(int(answer[0] == "failed"))
    _answer(channel, answer)
    channel.buffers.end_call(sender=True)
    return True


def _set_up(paths: list[str], folder: str, environment: dict[str, str], level: int) -> None:
    """Follow the parent: where modules are found, the working folder, the environment, the level of logs."""
    sys.path[:] = paths
    with suppress(OSError):
        os.chdir(folder)
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
    logging.getLogger().setLevel(level)


def _answer(channel: Channel, answer: tuple[str, Any]) -> None:
    try:
        inside.tell(*answer)
    except OSError:
        os._exit(0)  # nobody is waiting any more
    except Exception as error:
        inside.tell("failed", _described(MlirTrtError(f"the result cannot be sent back: {error}")))


def _described(error: BaseException) -> list[tuple[bytes, list[tuple[str, int, str]]]]:
    """The error and its causes, each pickled, with the file, line and function of its frames."""
    chain: list[tuple[bytes, list[tuple[str, int, str]]]] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 8:
        trace = traceback.extract_tb(current.__traceback__)
        frames = [(f.filename, f.lineno or 0, f.name) for f in trace if f.filename != __file__]
        chain.append((_pickled(current), frames))
        current = current.__cause__
    return chain


def _pickled(error: BaseException) -> bytes:
    with suppress(Exception):
        data: bytes = cloudpickle.dumps(error)
        cloudpickle.loads(data)
        return data
    return cloudpickle.dumps(MlirTrtError(f"{type(error).__name__}: {error}"))  # type: ignore[no-any-return]


def _forward_warnings() -> None:
    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
        inside.tell("warning", (str(message), category, filename, lineno))

    warnings.simplefilter("always")  # the parent's filters decide
    warnings.showwarning = show  # type: ignore[assignment]


class _LogForwarder(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        record.msg, record.args, record.exc_info = self.format(record), None, None
        inside.tell("log", record)


def _rest() -> None:
    """In a pause: let memory go, and make the next call's context in advance."""
    from ..ir.context import keep_spare

    gc.collect()
    gc.freeze()  # what is left stays: modules
    with suppress(AttributeError):  # glibc's alone
        _libc.malloc_trim(0)
    keep_spare()
