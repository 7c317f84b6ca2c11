"""How much memory there is, amounts of it as text, and the error where there is too little."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .errors import TargetError

__all__ = ["machine_bytes", "no_room", "size_text"]

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_bytes() -> int:
    """The memory of this machine, or of the container that this process runs in."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _LIMITS:
        with suppress(OSError, ValueError):
            total = min(total, int(Path(path).read_text()))
    return total


def size_text(count: int) -> str:
    """Bytes for a sentence: "37 MiB", "1.5 GiB"."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def no_room(what: str, count: int, *, where: str | None = None) -> TargetError:
    """The error about `what`, which takes `count` bytes that this machine does not have."""
    whole = size_text(machine_bytes())
    return TargetError(
        f"{what} takes {size_text(count)}, and there is no room for it in this machine's {whole}",
        where=where,
        hint="run it with smaller shapes, or where there is more memory",
    )
