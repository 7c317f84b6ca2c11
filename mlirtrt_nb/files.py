"""Paths that a user gives, and memory maps of what lies there."""

from __future__ import annotations

import errno
import mmap
import os
import stat
from pathlib import Path

from .errors import MlirTrtError

__all__ = ["checked_path", "map_file", "refuse_special"]


def checked_path(path: str | os.PathLike[str], error: type[MlirTrtError]) -> Path:
    """`path` as a Path. Raises `error` for what can be no path: another type, an empty text, a NUL in it."""
    try:
        text = os.fspath(path)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise error(f"a path is a str or a pathlib.Path, not {type(path).__name__}")
    if not text:
        raise error("the path is empty")
    if "\0" in text:
        raise error(f"a path cannot hold a NUL character: {text!r}")
    return Path(text)


def refuse_special(path: Path) -> None:
    """Raise OSError for a device, pipe or socket, which cannot be mapped, and must not be replaced.

    A path where nothing lies passes, and so does a folder: opening one says what is wrong with it.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")


def map_file(path: Path) -> memoryview:
    """The file's bytes as a read-only memory map. An empty file gives an empty view. Raises OSError."""
    refuse_special(path)  # to open a pipe would wait for its writer
    with open(path, "rb") as handle:
        if not os.fstat(handle.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))
