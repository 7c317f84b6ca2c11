"""Whether work goes to the worker process, and what it may use there."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass

from ..errors import OptionError
from ..kind_name import kind_name
from ..memory import machine_bytes
from . import inside

__all__ = ["Isolation", "isolation_of"]

_OFF = frozenset({"0", "off", "no", "false"})
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SHARE = 0.75  # of this machine's memory, where no limit is given


@dataclass(frozen=True)
class Isolation:
    """Limits for work in the worker process; `isolate=` of the calls that use one takes it.

    Args:
        memory_limit: the most memory that the worker may hold beside files and shared weights, in bytes or as
            text ("8 GiB"). None: `$MLIRTRT_NB_WORKER_MEMORY`, else three quarters of this machine's memory.
        timeout: seconds that `mt.compile`, a run of a pipeline, or whatever else it is given to may take in the
            worker, all its passes and engines together; then it is stopped. What is done in this process (a
            model is read, or run to calibrate it) does not count. None: `$MLIRTRT_NB_WORKER_TIMEOUT`, else no
            limit.

    Raises:
        OptionError: a limit that is no positive number.
    """

    memory_limit: int | str | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.memory_limit is not None:
            parse_size(self.memory_limit, "memory_limit")
        if self.timeout is not None:
            parse_seconds(self.timeout, "timeout")

    @property
    def memory_bytes(self) -> int:
        """The limit of memory in bytes."""
        if self.memory_limit is not None:
            return parse_size(self.memory_limit, "memory_limit")
        given = os.environ.get("MLIRTRT_NB_WORKER_MEMORY")
        if given:
            return parse_size(given, "MLIRTRT_NB_WORKER_MEMORY")
        return int(machine_bytes() * _SHARE)

    @property
    def seconds(self) -> float | None:
        """The limit of time in seconds; None for none."""
        if self.timeout is not None:
            return parse_seconds(self.timeout, "timeout")
        given = os.environ.get("MLIRTRT_NB_WORKER_TIMEOUT")
        return parse_seconds(given, "MLIRTRT_NB_WORKER_TIMEOUT") if given else None


def isolation_of(given: bool | Isolation | None) -> Isolation | None:
    """What `isolate=` means: the limits, or None for work in this process.

    None as given follows `$MLIRTRT_NB_ISOLATE`, which is on unless it says "0" or "off". Inside the worker, and
    on systems other than Linux, all work is done in the process itself.
    Raises OptionError for anything but a bool, an Isolation, or None.
    """
    if given is not None and not isinstance(given, bool | Isolation):
        raise OptionError(
            f"isolate= is {kind_name(given)}", hint="give True, False, or mt.Isolation(timeout=60)"
        )
    if given is False or inside.active() or sys.platform != "linux" or not sys.executable:
        return None
    if given is None and os.environ.get("MLIRTRT_NB_ISOLATE", "").lower() in _OFF:
        return None
    return given if isinstance(given, Isolation) else Isolation()


def parse_size(given: int | str, what: str) -> int:
    """Bytes from a number or a text such as "512 MB" or "8 GiB"; both kinds of unit count in 1024."""
    match = _SIZE.fullmatch(str(given)) if not isinstance(given, bool) else None
    size = int(float(match[1]) * 1024 ** _POWERS[match[2].lower()]) if match else 0
    if size <= 0:
        raise OptionError(f"{what} {given!r} is no amount of memory", hint='give bytes, or text like "8 GiB"')
    return size


def parse_seconds(given: float | str, what: str) -> float:
    """A positive number of seconds."""
    with suppress(TypeError, ValueError):
        seconds = float(given)
        if 0 < seconds < float("inf") and not isinstance(given, bool):
            return seconds
    raise OptionError(f"{what} {given!r} is no positive number of seconds")
