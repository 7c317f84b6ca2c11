"""One worker process, as its parent sees it."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from typing import Any

from .channel import Channel
from .output import OutputReader
from .shared import SharedBuffers

__all__ = ["STACK_SIGNAL", "Worker"]

_BOOT = """\
import json, sys
paths, end, lifeline, mark = json.loads(sys.argv[1])
sys.path[:] = paths
from mlirtrt_nb.worker.server import main
main(end, lifeline, mark)
"""
_ENDING_SECONDS = 5.0
# At which the process writes to its standard error where in the Python code its main thread is.
STACK_SIGNAL = getattr(signal, "SIGRTMIN", signal.SIGUSR2)
_STACK_SECONDS = 0.5
_STACK_ENDS = "in <module>\n"
_PIPE_BYTES = 1 << 20
_SIGNALS = {
    signal.SIGSEGV: "segmentation fault",
    signal.SIGABRT: "abort",
    signal.SIGBUS: "bus error",
    signal.SIGFPE: "arithmetic error",
    signal.SIGILL: "illegal instruction",
    signal.SIGKILL: "killed from outside, or by the system for lack of memory",
    signal.SIGTERM: "terminated from outside",
}


class Worker:
    """A process that waits for calls. It starts at once and is ready when it is; nothing here waits for that.

    It is in a session of its own, so that an interrupt of the terminal or of the notebook's process group does
    not reach it, and it ends with this process, however that ends.
    """

    def __init__(self) -> None:
        mark = f"\0\x1e{secrets.token_hex(16)}\x1e\n"
        ours, theirs = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        read, write = os.pipe()
        with suppress(OSError):
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)  # it is read ten times a second
        given = json.dumps([_surroundings()[0], theirs.fileno(), lifeline, mark])
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, given],
                stdin=subprocess.DEVNULL,
                stdout=write,
                stderr=write,
                pass_fds=(theirs.fileno(), lifeline),
                start_new_session=True,
            )
        except OSError:
            for descriptor in (self._lifeline, read):
                os.close(descriptor)
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(lifeline)
            os.close(write)
        self.channel = Channel(ours, SharedBuffers())
        self.output = OutputReader(read, mark.encode())
        self.calls = 0
        self._set_up: tuple[Any, ...] | None = None

    def call(self, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Send a call. Raises what pickling raises; OSError if the process has ended."""
        current = _surroundings()
        if current != self._set_up:
            self.channel.send(("setup", *current))
            self._set_up = current
        self.calls += 1
        self.channel.send(("call", function, arguments, options))

    def end_call(self) -> None:
        """Let go of what was shared for the last call."""
        self.channel.buffers.end_call(sender=False)
        if self.channel.buffers.has_dropped():
            with suppress(OSError):
                self.channel.send(("dropped",))

    def anonymous_bytes(self) -> int:
        """The memory that the process holds beside files and shared memory; 0 if it has ended."""
        with suppress(OSError, IndexError), open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            _, resident, shared, *_ = map(int, file.read().split())
            return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
        return 0

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def stop(self) -> str:
        """End the process, once it has written where it is. What it wrote since the last step, with that."""
        text = self.output.rest()
        with suppress(OSError):
            self.process.send_signal(STACK_SIGNAL)
        text += self.output.until(_STACK_ENDS, _STACK_SECONDS)
        self.process.kill()
        return text

    def kill(self) -> None:
        """End the process now, and close everything. Doing it twice changes nothing."""
        self.process.kill()
        self.process.wait()
        self.close()

    def close(self) -> None:
        """Close this process's ends; the worker then ends by itself."""
        self.channel.close()
        for descriptor in (self._lifeline, self.output.descriptor):
            with suppress(OSError):
                os.close(descriptor)
        self._lifeline = self.output.descriptor = -1

    def how_it_ended(self) -> str:
        """In words, once it has ended; one that only let go of its end is ended."""
        try:
            code = self.process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it closed its connection"
        if code >= 0:
            return f"it ended with exit status {code}"
        with suppress(ValueError):
            number = signal.Signals(-code)
            return f"{_SIGNALS.get(number, 'signal')} ({number.name})"
        return f"signal {-code}"


def _surroundings() -> tuple[Any, ...]:
    """What the worker follows: module paths, working folder, environment, level of logs."""
    try:
        folder = os.getcwd()
    except OSError:  # it was removed
        folder = "/"
    paths = [path or folder for path in sys.path]
    return paths, folder, dict(os.environ), logging.getLogger().level
