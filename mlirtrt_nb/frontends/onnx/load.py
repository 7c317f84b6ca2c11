"""`from_onnx`: a path, bytes or a ModelProto to a Program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidModelError, SourceError
from ...files import checked_path, map_file, near_files
from ...program import Program

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch_mlir.dialects import builtin

    from .weights import TensorReader

__all__ = ["from_onnx", "read_module"]

_NAMED_STARTS = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch it with `git lfs pull`"),
    (b"PK\x03\x04", "a zip archive", "unpack it and load the .onnx file in it"),
    (b"\x1f\x8b", "a gzip archive", "unpack it and load the .onnx file in it"),
    (b"\x89HDF", "an HDF5 file", "convert the model to ONNX first"),
    (b"ORTM", "a model in ONNX Runtime's own format", "load the .onnx file it was made from"),
)


def from_onnx(
    model: str | os.PathLike[str] | bytes | memoryview | ModelProto,
    *,
    base_dir: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> Program:
    """Read an ONNX model into a Program of the onnx dialect.

    Args:
        model: a path, a serialised model, or a ModelProto.
        base_dir: the folder of external weight files; a path's own folder if None.
        name: the program's name; the file's stem or the graph's name if None.

    Weights stay in the file: `Program.weights` are views of a memory map of it (and of external files).
    Raises InvalidModelError for what is not a valid model, ExternalDataError for its weight files.
    """
    if isinstance(model, str | os.PathLike):
        path = checked_path(model, SourceError)
        buffer = _map(path)
        folder = checked_path(base_dir, SourceError) if base_dir is not None else path.parent
        real = path.resolve().parent if base_dir is None else None
        return _import(buffer, str(path), name or path.stem, folder, real)
    base = None if base_dir is None else checked_path(base_dir, SourceError)
    if isinstance(model, bytes | bytearray | memoryview):
        return _import(memoryview(model), "<bytes>", name, base, None)
    if hasattr(model, "SerializeToString"):
        return _import(memoryview(model.SerializeToString()), "<ModelProto>", name, base, None)
    raise SourceError(
        f"an ONNX model is a path, bytes or a ModelProto, not {type(model).__name__}",
    )


def _map(path: Path) -> memoryview:
    if os.path.isdir(path):  # pathlib's own raises for a name that is too long
        inside = sorted(p.name for p in path.glob("*.onnx"))
        raise SourceError(
            f"{path} is a folder",
            hint=f"it holds {', '.join(inside[:3])}" if inside else "give the path of a .onnx file",
        )
    try:
        return map_file(path)
    except FileNotFoundError:
        raise SourceError(f"no such file: {path}", hint=near_files(path)) from None
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from None


def _refuse_other_formats(buffer: memoryview, source: str) -> None:
    if not len(buffer):
        raise InvalidModelError("the file is empty; an ONNX model was expected", where=source)
    start = bytes(buffer[:64])
    for magic, what, hint in _NAMED_STARTS:
        if start.startswith(magic):
            raise InvalidModelError(f"not an ONNX model: this is {what}", where=source, hint=hint)
    text = start.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise InvalidModelError(
            "not an ONNX model: this is a web page", where=source, hint="the download failed; fetch it again"
        )
    if text.startswith((b"{", b"module", b"func.func", b"//", b"#", b"import ")):
        raise InvalidModelError("not an ONNX model: this is text", where=source)


def _import(
    buffer: memoryview, source: str, name: str | None, folder: Path | None, real: Path | None
) -> Program:
    from torch_mlir import ir

    from ...ir.context import context_of_ops
    from .importer import Importer, op_names

    _refuse_other_formats(buffer, source)
    try:
        model, reader = _checked(buffer, folder, real)
        weights: dict[str, np.ndarray] = {}
        with context_of_ops("onnx", op_names(model)), ir.Location.unknown():
            module = Importer(model, reader, weights).module()
    except SourceError as error:
        error.where = error.where or source
        raise
    except (AttributeError, TypeError, ValueError) as error:  # a UnicodeDecodeError is one of these
        if isinstance(error, UnicodeDecodeError) or _names_are_damaged(buffer):
            what = "the ONNX model is damaged: a name in it is not text"
            raise InvalidModelError(what, where=source) from None
        raise
    return Program(module, weights, name=name or model.graph.name or "program", source=source)


def _names_are_damaged(buffer: memoryview) -> bool:
    from .texts import has_damaged_text
    from .wire import strip

    return has_damaged_text(_parse(strip(buffer)[0]))


def read_module(model: ModelProto, weights: dict[str, np.ndarray]) -> builtin.ModuleOp:
    """A model as a module of the current context, for passes. Large constants are put into `weights`."""
    from .importer import Importer

    checked, reader = _checked(memoryview(model.SerializeToString()), None, None)
    return Importer(checked, reader, weights).module()


def _checked(buffer: memoryview, folder: Path | None, real: Path | None) -> tuple[ModelProto, TensorReader]:
    """The model without its weights and with all types that can be inferred, and what reads the weights."""
    from .checks import check, normalise
    from .infer import infer_types
    from .weights import TensorReader
    from .wire import strip

    small, spans = strip(buffer)
    model = normalise(_parse(small))
    reader = TensorReader(buffer, spans, folder, real)
    reader.adopt(model)
    check(model)
    return infer_types(model), reader


def _parse(data: bytes) -> ModelProto:
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise InvalidModelError(f"not a valid ONNX model: {error}") from None
    if not model.HasField("graph"):
        raise InvalidModelError("not an ONNX model: it holds no graph")
    return model
