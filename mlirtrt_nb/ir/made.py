"""Where ops were made: the lines of the user's code that called `create`, noted while a pass of theirs runs."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

from torch_mlir import ir

__all__ = ["Made", "note", "noted", "taken"]

_PACKAGE = str(Path(__file__).parent.parent)
_BINDINGS = str(Path(ir.__file__).parent)


class Made:
    """The file and line at which each op was made. No op is held: passes erase them."""

    def __init__(self, around: FrameType) -> None:
        self._places: dict[int, tuple[str, int]] = {}
        self._new: list[int] = []
        self._around: FrameType | None = around  # what calls the user's code, and is not theirs

    def add(self, operation: ir.Operation, frame: FrameType | None) -> None:
        """Note the innermost line that is not the package's, going out from `frame`."""
        while frame is not None and frame is not self._around:
            filename = frame.f_code.co_filename
            if not filename.startswith((_PACKAGE, _BINDINGS)):
                address = _address(operation)
                self._places[address] = filename, frame.f_lineno
                self._new.append(address)
                return
            frame = frame.f_back

    def take(self) -> list[int]:
        """Addresses of the ops that were made since this was last asked."""
        new, self._new = self._new, []
        return new

    def unused(self, root: ir.Operation, among: set[int]) -> ir.Operation | None:
        """The first op inside `root` whose address is one of `among` and whose results nobody takes."""
        found: list[ir.Operation] = []

        def visit(operation: ir.Operation) -> ir.WalkResult:
            results = list(operation.results)
            if not results or _address(operation) not in among or any(_is_used(value) for value in results):
                return ir.WalkResult.ADVANCE
            found.append(operation)
            return ir.WalkResult.INTERRUPT

        root.walk(visit)
        return found[0] if found else None

    def close(self) -> None:
        self._around = None

    def place(self, operation: ir.Operation) -> tuple[str, int] | None:
        """Where a live op was made; None for one that was not made meanwhile, or by other means."""
        return self._places.get(_address(operation))


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_CAPSULE = b"torch_mlir.ir.Operation._CAPIPtr"


def _address(operation: ir.Operation) -> int:
    """Where the op lies in memory: its hash is one of what it says, and changes with that."""
    return _pointer(operation._CAPIPtr, _CAPSULE)  # type: ignore[no-any-return]


_made: ContextVar[Made | None] = ContextVar("made", default=None)


@contextmanager
def noted() -> Iterator[Made]:
    """Note what is made inside the block, by what is called from there."""
    made = Made(sys._getframe(2))
    token = _made.set(made)
    try:
        yield made
    finally:
        _made.reset(token)
        made.close()


def taken() -> tuple[Made, list[int]] | None:
    """What notes what is made now, and what was made since it was last asked; None outside `noted`."""
    made = _made.get()
    return None if made is None else (made, made.take())


def note(operation: ir.Operation) -> None:
    """Note that `operation` was made just now by who called the package. Nothing happens outside `noted`."""
    made = _made.get()
    if made is not None:
        made.add(operation, sys._getframe(1))
