"""MLIR bytecode, StableHLO's portable artifacts among it, to a `Program`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torch_mlir import ir
from torch_mlir.dialects.builtin import ModuleOp

from ..errors import InvalidModelError, SourceError
from ..files import checked_path, near_files, refuse_special
from ..ir.constants import handles_in
from ..ir.context import load_chlo, new_context, shown_name
from ..kind_name import kind_name
from ..program import Program
from .text import from_mlir, weights_of

__all__ = ["from_bytecode", "from_stablehlo", "is_bytecode"]

_MAGIC = b"ML\xefR"
_ONNX = b"\x08"  # the field that a ModelProto starts with
# Who wrote it stands right after the magic number and the version of the format.
_ARTIFACT, _HEAD = b"StableHLO_v", 64


def is_bytecode(data: bytes | memoryview) -> bool:
    """Whether `data` begins as MLIR bytecode does."""
    return bytes(data[: len(_MAGIC)]) == _MAGIC


def from_bytecode(data: bytes | memoryview, *, filename: str = "<bytes>", name: str | None = None) -> Program:
    """The program in MLIR bytecode of any registered dialect, or in a portable artifact of StableHLO.

    Resources that it carries become the program's weights. Raises InvalidModelError: damaged, cut off, or
    written by a newer version than this one reads; VerificationError for ops that break their rules.
    """
    if not is_bytecode(data):
        raise InvalidModelError(f"{filename} is not MLIR bytecode", hint=_meant(data))
    raw = bytes(data)
    context = new_context()
    if b"chlo" in raw:
        load_chlo(context)
    with context, ir.Location.unknown():
        module = _parsed(raw, context, filename)
        # The bindings give a resource's bytes only as text.
        carried = bool(handles_in(module))
        weights = weights_of(module, module.get_asm(assume_verified=True), filename) if carried else {}
    program = Program(module.opview, weights, name=name or "program", source=filename)
    program.verify()
    return program


def _meant(data: bytes | memoryview) -> str:
    """What bytes that are no bytecode may be, and how bytecode begins."""
    begins = bytes(data[: len(_MAGIC)])
    found = f"this with {begins.hex(' ').upper()}" if begins else "this is empty"
    own = f"bytecode begins with the bytes {_MAGIC.hex(' ').upper()}, {found}"
    return f"mt.load takes ONNX models; {own}" if begins.startswith(_ONNX) else own


def _parsed(raw: bytes, context: ir.Context, filename: str) -> ir.Operation:
    messages: list[str] = []
    with _listening(context, messages):
        try:
            if _ARTIFACT in raw[:_HEAD]:
                from torch_mlir._mlir_libs import _stablehlo

                module = _stablehlo.deserialize_portable_artifact(context, raw)
            else:
                module = ir.Module.parse(raw)
        except (ir.MLIRError, ValueError) as error:
            diagnostics = getattr(error, "error_diagnostics", [])
            found = [*messages, *(entry.message for entry in diagnostics), str(error)]
            reason = " ".join(found[0].split())[:200]
            raise InvalidModelError(f"{filename} cannot be read: {reason}") from None
    operation = module.operation
    if not isinstance(operation.opview, ModuleOp):
        raise InvalidModelError(f"{filename} holds {shown_name(operation.name)}, not a module")
    return operation


@contextmanager
def _listening(context: ir.Context, messages: list[str]) -> Iterator[None]:
    """Keep MLIR's messages off the terminal."""

    def hear(diagnostic: ir.Diagnostic) -> bool:
        messages.append(diagnostic.message)
        return True

    handler = context.attach_diagnostic_handler(hear)
    try:
        yield
    finally:
        handler.detach()


def from_stablehlo(source: str | os.PathLike[str] | bytes, *, name: str | None = None) -> Program:
    """The StableHLO program in text, in the bytes of a portable artifact or of MLIR bytecode, or in a file of
    either.

    Args:
        source: MLIR text, bytes, or a path.
        name: the program's name; by default the file's stem.

    Raises ParseError, VerificationError, or InvalidModelError for what is not valid; SourceError for a file
    that cannot be read.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return from_bytecode(memoryview(source), name=name)
    if isinstance(source, str) and "\n" in source:
        return _named(from_mlir(source, filename="<text>"), name)
    if isinstance(source, str) and "{" in source and not os.path.exists(source):
        return _named(from_mlir(source, filename="<text>"), name)
    if not isinstance(source, str | os.PathLike):
        raise SourceError(
            f"from_stablehlo takes text, bytes or a path, not {kind_name(source)}",
            hint="serialize it first, for instance by jax.export's mlir_module()",
        )
    return read_file(checked_path(source, SourceError), name)


def read_file(path: Path, name: str | None = None) -> Program:
    """The program of a file of MLIR, text or bytecode."""
    try:
        refuse_special(path)
        data = path.read_bytes()
    except FileNotFoundError:
        raise SourceError(f"no such file: {path}", hint=near_files(path)) from None
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from None
    if is_bytecode(data):
        return from_bytecode(data, filename=str(path), name=name or path.stem)
    try:
        text = data.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except UnicodeDecodeError:
        raise SourceError(f"cannot read {path}: it is not UTF-8 text, nor MLIR bytecode") from None
    return _named(from_mlir(text, filename=str(path)), name or path.stem)


def _named(program: Program, name: str | None) -> Program:
    if name is not None:
        program.name = name
    return program
