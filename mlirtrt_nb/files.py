"""Paths that a user gives, memory maps of what lies there, and files that appear whole or not at all."""

from __future__ import annotations

import errno
import json
import mmap
import os
import secrets
import stat
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import IO

from .errors import MlirTrtError, OptionError, SourceError

__all__ = [
    "SharedMap",
    "check_folder",
    "check_unchanged",
    "checked_path",
    "map_file",
    "map_of",
    "near_files",
    "reason",
    "refuse_special",
    "replacing",
    "write_text",
]


class SharedMap(mmap.mmap):
    """A read-only memory map of a whole file that can be handed to another process.

    `descriptor` stays open for as long as the map lives, so the bytes are there even if the file is replaced.
    They are not if it is written to; `path` is the file that `check_unchanged` looks at for that, "" for none.
    """

    descriptor: int
    path: str
    _state: tuple[int, int]

    @classmethod
    def of(cls, descriptor: int, path: str = "") -> SharedMap:
        """Map the open file. The caller may close its descriptor. Raises OSError; ValueError if it is empty."""
        made = cls(descriptor, 0, access=mmap.ACCESS_READ)
        made.descriptor = os.dup(descriptor)
        made.path = path
        made._state = _state(descriptor)
        weakref.finalize(made, os.close, made.descriptor).atexit = False
        return made

    @property
    def is_changed(self) -> bool:
        """Whether the file was written to since it was mapped, so that the bytes are others, or gone."""
        return self._state != _state(self.descriptor)


def _state(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns


def map_of(buffer: object) -> SharedMap | None:
    """The map that a buffer or an array lies in; None if it lies in none."""
    base: object = buffer
    while base is not None and not isinstance(base, SharedMap):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return base


def check_unchanged(buffers: Iterable[object]) -> None:
    """Raise SourceError if a file that some of the buffers are mapped from was written to since.

    What writes a model again, as `onnx.save` does, or copies a file over another, writes over the bytes of the
    old one: weights that are read then are the new ones at the places of the old, and reading beyond a shorter
    file ends the process.
    """
    for mapped in {
        id(found): found for found in map(map_of, buffers) if found is not None and found.path
    }.values():
        if mapped.is_changed:
            raise SourceError(
                f"{mapped.path} was written to since it was loaded: what is there now is something else",
                hint="load it again; a file that others use is best replaced, not written over",
            )


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


def check_folder(path: Path, error: type[MlirTrtError]) -> None:
    """Raise `error` where no file can be written at `path`; asked before the work that it is to hold."""
    folder = path.parent
    if path.is_dir():
        raise error(f"cannot write {path}: it is a folder")
    if not folder.is_dir():
        raise error(f"cannot write {path}: there is no folder {folder}", hint="make it first")
    if not os.access(folder, os.W_OK):
        raise error(f"cannot write {path}: the folder {folder} takes no files", hint="name another with -o")


def reason(error: Exception) -> str:
    """In words, why what was read of a file does not do."""
    if isinstance(error, OSError):
        return error.strerror or "it cannot be read"
    if isinstance(error, UnicodeDecodeError | json.JSONDecodeError):
        return "it holds no JSON"
    if isinstance(error, KeyError) and error.args:
        return f"it has no {error.args[0]!r}"
    return "what it holds is of another kind"


def near_files(path: Path) -> str | None:
    """A hint for a file that there is not: what beside it has a name like it, or that its folder is none."""
    if not os.path.isdir(path.parent):
        return f"the folder {path.parent} does not exist"
    try:
        names = os.listdir(path.parent)
    except OSError:
        return None
    near = get_close_matches(path.name, names, 3, 0.6)
    return f"near names: {', '.join(near)}" if near else None


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
        return memoryview(SharedMap.of(handle.fileno(), str(path)))


@contextmanager
def replacing(path: str | os.PathLike[str], error: type[MlirTrtError]) -> Iterator[IO[bytes]]:
    """A new file that takes the name `path` when the block ends well, and vanishes when it does not.

    Through a symbolic link, the file that it leads to is replaced. Raises `error` if it cannot be written.
    """
    given = checked_path(path, error)
    partial = None
    try:
        refuse_special(given)
        target = Path(os.path.realpath(given))
        # A random name: another thread may write the same file, and a killed process may have left its own.
        # Cut, since the target's name alone may be as long as the file system takes.
        partial = target.with_name(f".{target.name[-60:]}.{secrets.token_hex(4)}.part")
        with open(partial, "xb") as file:
            yield file
        os.replace(partial, target)
    except OSError as problem:
        raise error(f"cannot write {given}: {problem.strerror or problem}") from problem
    finally:
        if partial is not None:
            with suppress(OSError):
                partial.unlink()


def write_text(path: str | os.PathLike[str], text: str, error: type[MlirTrtError] = OptionError) -> None:
    """Write `text` as UTF-8 so that the file appears whole or not at all. Raises `error`."""
    with replacing(path, error) as file:
        file.write(text.encode())
