"""MLIR text to a `Program`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from torch_mlir import ir

from ..errors import ParseError, SourceSpan
from ..ir import dtypes
from ..ir.assembly import parse_module
from ..ir.assembly.attributes import ELIDED_PREFIX as ELIDED
from ..ir.assembly.sourcemap import Lines
from ..ir.assembly.tokens import BLANK, IDENT, STRING, TYPE, unquote
from ..ir.context import load_chlo, new_context
from ..ir.verifier import verify
from ..kind_name import kind_name
from ..program import Program

__all__ = ["from_mlir", "weights_of"]

_HANDLE = re.compile(rf"dense_resource<\s*({STRING}|[^\s>\"]+)\s*>{BLANK}:{BLANK}({TYPE})", re.ASCII)
_TRAILER = re.compile(r"\{-#(.*?)#-\}", re.DOTALL)
_RESOURCE = re.compile(rf"({STRING}|{IDENT}|[\w.$-]+)\s*:\s*\"0x([0-9A-Fa-f]*)\"", re.ASCII)
# A blob begins with its alignment, in 4 bytes.
_ALIGNMENT = 4


def from_mlir(
    text: str, *, filename: str = "<cell>", name: str | None = None, unregistered: bool = False
) -> Program:
    """The program that `text` describes, in a context of its own.

    Args:
        unregistered: take ops of unknown dialects, in generic form. Passes leave them alone; such a program
            cannot be saved, nor compiled.

    The text may have ops of any registered dialect, the package's own in custom or generic form. The bytes of
    resources at its end become the program's weights; `dense_resource<__elided__>` stands for zeros.
    Raises ParseError for text that is not valid, VerificationError for ops that break their rules; both with
    the place in the text, and with all further errors in `others`.
    """
    _refuse_path(text)
    context = new_context()
    if "chlo." in text:
        load_chlo(context)
    context.allow_unregistered_dialects = unregistered
    module = parse_module(text, filename, context)
    verify(module, text, filename)
    with context:
        weights = weights_of(module.operation, text, filename)
    return Program(module, weights, name=name or "program", source=filename, text_source=text)


def _refuse_path(text: str) -> None:
    """Raise ParseError for what is no text, and for the name of a file where its text was expected."""
    if not isinstance(text, str):
        raise ParseError(
            f"from_mlir takes the text of a program, not {kind_name(text)}",
            hint="mt.load takes files, bytes and models",
        )
    if "\n" not in text and text.strip().endswith((".mlir", ".mlirbc", ".onnx")):
        raise ParseError(
            f"{text.strip()} is the name of a file, not MLIR", hint=f"mt.load({text.strip()!r}) opens files"
        )


def weights_of(module: ir.Operation, text: str, filename: str) -> dict[str, np.ndarray]:
    """The arrays of the handles in `module`: from the blobs in `text`, zeros for elided ones."""
    if "dense_resource" not in text:
        return {}
    blobs = _blobs(text)
    weights: dict[str, np.ndarray] = {}
    for handle, tensor in _handles(module):
        if handle.startswith(ELIDED):
            weights[handle] = _zeros(tensor)
        elif handle in blobs:
            weights[handle] = _array(handle, blobs[handle], tensor, text, filename)
    return weights


def _handles(module: ir.Operation) -> Iterator[tuple[str, ir.RankedTensorType]]:
    """Name and type of every weight in the module whose elements a weight can have."""
    # As MLIR prints it: with every type written out.
    printed = module.get_asm(assume_verified=True)
    for match in _HANDLE.finditer(printed):
        name, kind = match.groups()
        tensor = ir.Type.parse(kind)
        if isinstance(tensor, ir.RankedTensorType) and _has_dtype(tensor):
            yield unquote(name) if name[0] == '"' else name, tensor


def _has_dtype(tensor: ir.RankedTensorType) -> bool:
    try:
        dtypes.by_mlir(tensor.element_type)
    except KeyError:
        return False
    return True


def _blobs(text: str) -> dict[str, bytes]:
    trailer = _TRAILER.search(text)
    if trailer is None:
        return {}
    found = {}
    for name, digits in _RESOURCE.findall(trailer.group(1)):
        found[unquote(name) if name[0] == '"' else name] = bytes.fromhex(digits)[_ALIGNMENT:]
    return found


def _zeros(tensor: ir.RankedTensorType) -> np.ndarray:
    """Zeros that take no memory."""
    return np.broadcast_to(np.zeros((), dtypes.by_mlir(tensor.element_type).np), tensor.shape)


def _array(name: str, blob: bytes, tensor: ir.RankedTensorType, text: str, filename: str) -> np.ndarray:
    kind = dtypes.by_mlir(tensor.element_type)
    count = int(np.prod(tensor.shape, dtype=np.int64))
    if kind.bits < 8 and len(blob) == kind.nbytes(count):
        return _unpacked(blob, count, kind).reshape(tensor.shape)
    if len(blob) != count * kind.np.itemsize:
        lines = Lines(text)
        line, column = lines.locate(max(text.find(f"dense_resource<{name}>"), 0))
        raise ParseError(
            f"resource {name} has {len(blob)} bytes; {tensor} needs {count * kind.np.itemsize}",
            span=SourceSpan(filename, line, column, lines.line(line)),
        )
    return np.frombuffer(blob, kind.np).reshape(tensor.shape)


def _unpacked(blob: bytes, count: int, kind: dtypes.DType) -> np.ndarray:
    """Values of 4 bits, two in a byte, the low half first."""
    packed = np.frombuffer(blob, np.uint8)
    halves = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)[:count]
    if kind.mlir.startswith("f"):
        return halves.view(kind.np)
    signed = (halves.astype(np.int8) ^ 8) - 8
    return (signed if kind.mlir.startswith("i") else halves).astype(kind.np)
