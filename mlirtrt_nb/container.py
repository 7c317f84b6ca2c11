"""The file that Plans, Programs and cached engines are saved in: named, checksummed sections behind a header.

    header (64 bytes) | section | padding | section | padding | ... | index (JSON)

The header says what the file is, its format version, its size, and where the index lies; the index lists each
section's place and CRC-32, and carries a dictionary of the caller's own. The file is read by memory map: a
section costs nothing until it is touched. Every byte is covered by a check, padding included.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from .errors import InvalidModelError, MlirTrtError, PlanFileError
from .files import SharedMap, check_unchanged, checked_path, near_files, refuse_special, replacing
from .ir import dtypes
from .ir.nibbles import pack, unpack
from .same_bytes import SameBytes

__all__ = ["ENGINE", "PLAN", "PROGRAM", "Container", "Kind", "kind_of", "read", "write"]

_MAGIC = b"\x89MLIRTRT"
_HEADER = struct.Struct(
    "<8s4sIQQQII"
)  # magic, kind, version, file size, index offset, index size, index CRC, header CRC
_HEADER_BYTES = 64
_ALIGN = 64
_PAGE = 4096
_LARGE = 1 << 20  # sections from here on start on a page, so that a map of one covers nothing else
_CHUNK = 8 << 20  # read, write and check this much at a time


@dataclass(frozen=True)
class Kind:
    """What a file holds. `tag` is four bytes; `version` counts up when the layout of its content changes."""

    tag: bytes
    noun: str
    version: int
    error: type[MlirTrtError]


PLAN = Kind(b"PLAN", "Plan", 1, PlanFileError)
PROGRAM = Kind(b"PROG", "Program", 1, InvalidModelError)
ENGINE = Kind(b"ENGI", "cached engine", 1, PlanFileError)
_KINDS = {kind.tag: kind for kind in (PLAN, PROGRAM, ENGINE)}

Buffer = bytes | bytearray | memoryview


@dataclass
class Container:
    """An opened file. Sections and arrays are read-only views of the memory map."""

    meta: dict[str, Any]
    sections: dict[str, memoryview] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def json(self, name: str) -> Any:
        """The section `name` decoded as JSON."""
        return json.loads(bytes(self.sections[name]))

    def text(self, name: str) -> str:
        """The section `name` decoded as UTF-8."""
        return bytes(self.sections[name]).decode()


def write(
    path: str | os.PathLike[str],
    kind: Kind,
    meta: Mapping[str, Any],
    sections: Mapping[str, Buffer],
    arrays: Mapping[str, np.ndarray] | None = None,
) -> int:
    """Write a file and return its size in bytes. It appears whole under its name, or not at all.

    Args:
        meta: comes back as `Container.meta`; what JSON cannot hold comes back as its text.
        sections: name -> bytes.
        arrays: name -> array, written without a copy; comes back as `Container.arrays`.

    Raises:
        PlanFileError or InvalidModelError: the file cannot be written.
        SourceError: a file that arrays are mapped from was written to since.
    """
    check_unchanged((arrays or {}).values())
    with replacing(path, kind.error) as file:
        return _write(file, kind, meta, sections, arrays or {})


def _write(
    file: IO[bytes],
    kind: Kind,
    meta: Mapping[str, Any],
    sections: Mapping[str, Buffer],
    arrays: Mapping[str, np.ndarray],
) -> int:
    file.write(bytes(_HEADER_BYTES))
    entries = [_write_section(file, name, memoryview(data)) for name, data in sections.items()]
    described, written = [], SameBytes()
    for name, array in arrays.items():
        data, entry = _array_bytes(array)
        place = written.find(data)
        if place is None:
            _, *place = _write_section(file, name, data)
            if array.flags.c_contiguous:  # else it is a copy, which need not be kept
                written.add(data, place)
        described.append([name, *place, *entry])
    listed = {"meta": meta, "sections": entries, "arrays": described}
    index = json.dumps(listed, ensure_ascii=False, default=str).encode()
    offset = file.tell()
    file.write(index)
    size = file.tell()
    file.seek(0)
    file.write(_header(kind, kind.version, size, offset, index))
    return size


def _header(kind: Kind, version: int, size: int, offset: int, index: bytes) -> bytes:
    packed = _HEADER.pack(_MAGIC, kind.tag, version, size, offset, len(index), zlib.crc32(index), 0)
    checked = packed[:-4]
    return (checked + struct.pack("<I", zlib.crc32(checked))).ljust(_HEADER_BYTES, b"\0")


def _write_section(file: IO[bytes], name: str, data: memoryview) -> list[Any]:
    """Write one section; its index entry is [name, offset, size, CRC]."""
    align = _PAGE if data.nbytes >= _LARGE else _ALIGN
    file.write(bytes(-file.tell() % align))
    offset, crc = file.tell(), 0
    flat = data.cast("B") if data.nbytes else memoryview(b"")
    for start in range(0, len(flat), _CHUNK):
        chunk = flat[start : start + _CHUNK]
        crc = zlib.crc32(chunk, crc)
        file.write(chunk)
    return [name, offset, len(flat), crc]


def _array_bytes(array: np.ndarray) -> tuple[memoryview, list[Any]]:
    """An array's bytes in C order and [dtype, shape]; strings are a JSON list, 4-bit numbers two to a byte."""
    shape = list(array.shape)
    if array.dtype.kind in "OUS":
        texts = [
            text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else str(text)
            for text in array.flat
        ]
        return memoryview(json.dumps(texts).encode()), ["str", shape]
    if dtypes.by_numpy(array.dtype).bits == 4:
        return pack(array).data, [dtypes.by_numpy(array.dtype).mlir, shape]
    flat = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(-1)
    return flat.view(np.uint8).data, [dtypes.by_numpy(array.dtype).mlir, shape]


def kind_of(path: Path) -> Kind | None:
    """What the file says it holds, by its first bytes; None for a file of another format."""
    with open(path, "rb") as file:
        head = file.read(len(_MAGIC) + 4)
    return _KINDS.get(head[len(_MAGIC) :]) if head.startswith(_MAGIC) else None


def read(path: str | os.PathLike[str], kind: Kind, *, verify: bool = True) -> Container:
    """Open a file by memory map.

    Args:
        verify: check every section against its CRC now (about 2.5 GB a second); False checks only the header
            and the index, for a file that has been checked before.

    Raises:
        PlanFileError or InvalidModelError: missing, of another kind or version, truncated, or damaged; the
            message says what was found and what was expected.
    """
    target = checked_path(path, kind.error)
    try:
        refuse_special(target)
        with open(target, "rb") as file:
            # A cached engine is touched when it is used, and written by nobody else.
            mapped = SharedMap.of(file.fileno(), "" if kind is ENGINE else str(target))
    except ValueError:
        raise kind.error(f"{target} is empty; expected a {kind.noun} file") from None
    except OSError as error:
        hint = near_files(target) if isinstance(error, FileNotFoundError) else None
        raise kind.error(f"cannot open {target}: {error.strerror or error}", hint=hint) from error
    return _parse(mapped, kind, str(target), verify)


def _parse(mapped: mmap.mmap, kind: Kind, where: str, verify: bool) -> Container:
    offset, size = _check_header(mapped, kind, where)
    view = memoryview(mapped)
    try:
        index = json.loads(bytes(view[offset : offset + size]))
        container, sections, arrays = Container(index["meta"]), index["sections"], index["arrays"]
        if verify:
            _check_sections(mapped, view, [*sections, *arrays], offset, kind, where)
        for name, start, length, _ in sections:
            container.sections[name] = view[start : start + length]
        for name, start, length, _, dtype, shape in arrays:
            container.arrays[name] = _array(view[start : start + length], dtype, shape)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise kind.error(f"{where}: the index cannot be read: {error}") from error
    return container


def _check_header(mapped: mmap.mmap, kind: Kind, where: str) -> tuple[int, int]:
    """Check what the file says it is; the index's offset and size."""
    remedy = f"save the {kind.noun} again, or copy the file again"
    head = mapped[:_HEADER_BYTES]
    if head[:8] != _MAGIC[: len(head[:8])] or not head:
        other = _source_kind(Path(where), head)
        if other:
            opens = "mt.load opens it" + ("" if kind is PROGRAM else "; compile it first with mt.compile")
            shell = f", or python -m mlirtrt_nb compile {where}" if kind is PLAN else ""
            raise kind.error(f"{where} is {other}, not a {kind.noun} file", hint=opens + shell)
        raise kind.error(f"{where} is not a {kind.noun} file: it starts with {head[:8]!r}, expected {_MAGIC!r}")
    if len(head) < _HEADER_BYTES:
        raise kind.error(
            f"{where} is truncated: {len(head)} bytes, a header alone has {_HEADER_BYTES}", hint=remedy
        )
    _, tag, version, size, offset, length, index_crc, header_crc = _HEADER.unpack(head[: _HEADER.size])
    if zlib.crc32(head[: _HEADER.size - 4]) != header_crc or any(head[_HEADER.size :]):
        raise kind.error(f"{where} is damaged: its header does not match its checksum", hint=remedy)
    if tag != kind.tag:
        found = _KINDS[tag].noun if tag in _KINDS else repr(tag)
        raise kind.error(f"{where} holds a {found}, expected a {kind.noun}")
    if version != kind.version:
        age = "newer" if version > kind.version else "older"
        remedy = "update mlirtrt_nb" if version > kind.version else "compile again with this version and save"
        raise kind.error(
            f"{where} has format version {version}, {age} than this package's {kind.version}", hint=remedy
        )
    if len(mapped) != size:
        state = "truncated" if len(mapped) < size else "longer than it should be"
        raise kind.error(f"{where} is {state}: {len(mapped)} bytes, expected {size}", hint=remedy)
    if zlib.crc32(mapped[offset : offset + length]) != index_crc:
        raise kind.error(f"{where} is damaged: its index does not match its checksum", hint=remedy)
    return offset, length


def _source_kind(path: Path, head: bytes) -> str | None:
    """What a file is that a program is loaded from, in words."""
    if path.suffix.lower() == ".onnx":
        return "an ONNX model"
    return (
        "MLIR" if path.suffix.lower() in (".mlir", ".mlirbc", ".stablehlo") or head[:4] == b"ML\xefR" else None
    )


def _check_sections(
    mapped: mmap.mmap, view: memoryview, entries: list[list[Any]], end: int, kind: Kind, where: str
) -> None:
    """Check each section's CRC and that what lies between sections is zero."""
    position = _HEADER_BYTES
    checked = set()
    for name, start, length, crc, *_ in entries:
        if (start, length, crc) in checked and length:
            continue  # two arrays of the same bytes
        checked.add((start, length, crc))
        found = 0
        for at in range(start, start + length, _CHUNK):
            stop = min(at + _CHUNK, start + length)
            found = zlib.crc32(view[at:stop], found)
            _forget(mapped, at, stop)
        if found != crc or bytes(view[position:start]).strip(b"\0"):
            raise kind.error(
                f"{where} is damaged: section {name!r} has checksum {found:08x}, expected {crc:08x}",
                hint=f"save the {kind.noun} again, or copy the file again",
            )
        position = start + length
    if bytes(view[position:end]).strip(b"\0"):
        raise kind.error(f"{where} is damaged: there is data between the last section and the index")


def _forget(mapped: mmap.mmap, start: int, stop: int) -> None:
    """Let go of pages that were only checked, so that checking a large file does not hold it in memory."""
    first = -(-start // _PAGE) * _PAGE
    if stop - first >= _LARGE and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED, first, (stop - first) // _PAGE * _PAGE)


def _array(data: memoryview, dtype: str, shape: list[int]) -> np.ndarray:
    """A read-only array that aliases the memory map; 4-bit numbers are copied, one to a byte."""
    if dtype == "str":
        return np.array(json.loads(bytes(data)), dtype=object).reshape(shape)
    kind, count = dtypes.by_mlir(dtype), math.prod(shape)
    if kind.bits == 4 and len(data) != count:  # files of earlier versions have a byte for each
        return unpack(np.frombuffer(data, np.uint8), kind.np, count).reshape(shape)
    return np.frombuffer(data, dtypes.by_mlir(dtype).np).reshape(shape)
