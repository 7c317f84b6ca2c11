"""The magics: `%load_ext mlirtrt_nb` adds them, `%unload_ext mlirtrt_nb` takes them away."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ..worker import isolation_of, prewarm
from .arguments import Parser
from .compare import TrtCompareMagics
from .compile import TrtCompileMagics
from .completion import Completer
from .mlir import MlirMagics
from .passes import TrtPassesMagics
from .run import TrtRunMagics

__all__ = ["load", "unload"]

_CLASSES = (MlirMagics, TrtCompareMagics, TrtCompileMagics, TrtPassesMagics, TrtRunMagics)
_KEY = "_mlirtrt_nb"


def load(shell: Any) -> None:
    """Add the magics and their completion to `shell`. Doing it twice changes nothing."""
    if hasattr(shell, _KEY):
        return
    made = [cls(shell=shell) for cls in _CLASSES]
    parsers: dict[str, Parser] = {}
    for entry in made:
        shell.register_magics(entry)
        for kind, prefix in (("line", "%"), ("cell", "%%")):
            for name in entry.magics[kind]:
                parsers[prefix + name] = getattr(entry, name).parser
    matcher = Completer(shell, parsers).match
    shell.Completer.custom_matchers.append(matcher)
    setattr(shell, _KEY, matcher)
    _start_worker()


def _start_worker() -> None:
    """In the background, so that the first cell that compiles need not wait for it."""
    if isolation_of(None) is not None:
        with suppress(OSError):
            prewarm()


def unload(shell: Any) -> None:
    """Remove what `load` added."""
    if not hasattr(shell, _KEY):
        return
    for cls in _CLASSES:
        for kind, names in cls.magics.items():
            for name in names:
                shell.magics_manager.magics[kind].pop(name, None)
        shell.configurables[:] = [entry for entry in shell.configurables if not isinstance(entry, cls)]
        shell.magics_manager.registry.pop(cls.__name__, None)
    shell.Completer.custom_matchers.remove(getattr(shell, _KEY))
    delattr(shell, _KEY)
