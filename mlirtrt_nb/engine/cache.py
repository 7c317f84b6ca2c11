"""Engines kept on disk between sessions, found by the content they were built from.

The key covers all that decides an engine: the function's IR with its locations (they come back in the layer
report), the bytes of the weights that it names, the profiles, the target, and the builder's kind and version.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import container
from ..errors import MlirTrtError
from .base import BuildRequest, Engine
from .codec import engine_from_json, engine_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["EngineCache"]

_LIMIT_BYTES = 5 << 30  # as large as Torch-TensorRT's engine cache
_SUFFIX = ".engine"
_STALE_SECONDS = 3600


class EngineCache:
    """Engines in a folder, the least recently used removed once they exceed `limit_bytes`.

    A file that cannot be read, or a folder that cannot be written, counts as a miss: a cache never fails a
    compilation.
    """

    def __init__(self, folder: str | os.PathLike[str], limit_bytes: int = _LIMIT_BYTES) -> None:
        self.folder = Path(folder)
        self.limit_bytes = limit_bytes

    @staticmethod
    def default() -> EngineCache:
        """The user's cache: `$MLIRTRT_NB_CACHE`, else `mlirtrt_nb` in `$XDG_CACHE_HOME` or `~/.cache`."""
        given = os.environ.get("MLIRTRT_NB_CACHE")
        if given:
            return EngineCache(given)
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return EngineCache(Path(base) / "mlirtrt_nb")

    def key(self, request: BuildRequest, builder: str) -> str:
        """The hex key of a request; `builder` is the builder's kind and version."""
        digest = hashlib.blake2b(digest_size=20)
        text = request.function.get_asm(enable_debug_info=True, print_generic_op_form=True)
        parts = (builder, request.target, repr(request.profiles), request.name, text)
        for part in parts:
            digest.update(part.encode() + b"\0")
        for name in sorted(_weight_names(request)):
            array = request.weights[name]
            digest.update(f"{name} {array.dtype} {array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        return digest.hexdigest()

    def get(self, key: str) -> Engine | None:
        """The engine kept under `key`, or None. Its blob is a view of the file."""
        path = self._path(key)
        try:
            opened = container.read(path, container.ENGINE)
            engine = engine_from_json(opened.meta, opened.sections["blob"])
            os.utime(path)
        except (MlirTrtError, OSError, KeyError, TypeError, ValueError):
            return None
        return engine

    def put(self, key: str, engine: Engine) -> None:
        """Keep `engine` under `key`, and remove old ones if there are too many bytes."""
        with suppress(MlirTrtError, OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            container.write(self._path(key), container.ENGINE, engine_to_json(engine), {"blob": engine.blob})
            self._trim()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _trim(self) -> None:
        for left in self.folder.glob(f".*{_SUFFIX}.*.part"):  # of a process that was ended while it wrote
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                left.unlink(missing_ok=True)
        entries = [(path.stat(), path) for path in self.folder.glob(f"*{_SUFFIX}")]
        total = sum(stat.st_size for stat, _ in entries)
        for stat, path in sorted(entries, key=lambda entry: entry[0].st_mtime):
            if total <= self.limit_bytes:
                return
            path.unlink(missing_ok=True)
            total -= stat.st_size


def _weight_names(request: BuildRequest) -> Iterable[str]:
    """The names that the function's text mentions among the weight table's."""
    from ..ir.constants import handles_in

    return handles_in(request.function) & request.weights.keys()
