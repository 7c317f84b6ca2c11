"""The table of emitters: one function per tensorrt op."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.builder import Op
from ..scope import Scope

__all__ = ["EMITTERS", "Emitter", "emits"]

Emitter = Callable[[Op, Scope], None]

EMITTERS: dict[str, Emitter] = {}


def emits(*names: str) -> Callable[[Emitter], Emitter]:
    """Decorator: the function emits the ops named without their dialect."""

    def register(emitter: Emitter) -> Emitter:
        for name in names:
            EMITTERS[f"tensorrt.{name}"] = emitter
        return emitter

    return register
