"""`load`: picks the frontend by what it is given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..container import PLAN, PROGRAM, kind_of
from ..errors import SourceError
from ..files import checked_path
from ..kind_name import kind_name
from ..program import Program

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["SUPPORTED", "load"]

SUPPORTED = (
    "a .onnx file, its bytes or a ModelProto; a .mlir, .mlirbc or .stablehlo file, MLIR text or bytecode, "
    "or a saved Program"
)

_MLIR_SUFFIXES = (".mlir", ".mlirbc", ".stablehlo")


def load(source: str | os.PathLike[str] | bytes | ModelProto | Any, *, name: str | None = None) -> Program:
    """Read a program from whatever `source` is.

    Args:
        source: the path of a .onnx, .mlir, .mlirbc or .stablehlo file; the bytes of an ONNX model or of MLIR
            bytecode; an `onnx.ModelProto`; MLIR text.
        name: the program's name; by default the file's stem or the graph's name.

    Raises SourceError, or one of its kinds, for what cannot be read.
    """
    if isinstance(source, Program):
        return source
    if isinstance(source, str) and _is_text(source):
        return _text(source, "<text>", name)
    if isinstance(source, str | os.PathLike):
        return _file(checked_path(source, SourceError), name)
    if isinstance(source, bytes | bytearray | memoryview):
        return _bytes(source, name)
    if type(source).__name__ == "ModelProto":
        from .onnx import from_onnx

        return from_onnx(source, name=name)
    kind = f"{type(source).__module__}.{type(source).__qualname__}"
    if kind == "mlirtrt_nb.plan.Plan":
        raise SourceError(
            "a Plan is compiled already",
            hint="give the model, or the program of mt.load, that it was made of; plan.program is to look at",
        )
    shown = kind_name(source) if kind.startswith("builtins.") else f"a {kind}"
    raise SourceError(f"cannot load a program from {shown}", hint=f"load takes {SUPPORTED}")


def _is_text(source: str) -> bool:
    """Whether a string is a program rather than a path."""
    looks = source.lstrip().startswith(("module", "func.func", "//", "#")) and "{" in source
    return "\n" in source or looks


def _file(path: Path, name: str | None) -> Program:
    suffix = path.suffix.lower()
    if suffix == ".onnx" or (
        suffix not in _MLIR_SUFFIXES and (not os.path.isfile(path) or _looks_like_onnx(path))
    ):
        from .onnx import from_onnx

        return from_onnx(path, name=name)
    if suffix in _MLIR_SUFFIXES:
        from .bytecode import read_file

        return read_file(path, name)
    kind = kind_of(path)
    if kind is PROGRAM:
        program = Program.load(path)
        program.name = name or program.name
        return program
    if kind is PLAN:
        raise SourceError(f"{path} holds a Plan, which is compiled already", hint="mt.Plan.load opens it")
    raise SourceError(f"cannot load {path}: {suffix or 'no'} file type", hint=f"load takes {SUPPORTED}")


def _looks_like_onnx(path: Path) -> bool:
    """A ModelProto starts with its ir_version (field 1, a varint), whatever its file is called."""
    try:
        with open(path, "rb") as handle:
            return handle.read(1) == b"\x08"
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from None


def _bytes(source: bytes | bytearray | memoryview, name: str | None) -> Program:
    from .bytecode import from_bytecode, is_bytecode

    if is_bytecode(memoryview(source)):
        return from_bytecode(memoryview(source), name=name)
    from .onnx import from_onnx

    return from_onnx(memoryview(source), name=name)


def _text(text: str, filename: str, name: str | None) -> Program:
    from .text import from_mlir

    program = from_mlir(text, filename=filename)
    if name is not None:
        program.name = name
    return program
