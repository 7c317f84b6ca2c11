"""Takes large tensors out of a serialised ONNX model without decoding it.

The protobuf wire format is walked over the mapped file; where a tensor holds many bytes, these are left
behind and the tensor points to them as "external data" at `location(index)`. The rest, a few hundred
kilobytes even where the file has gigabytes, is what the protobuf library then decodes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from ...errors import InvalidModelError

__all__ = ["LARGE_BYTES", "Span", "location", "span_index", "strip"]

# Tensors with fewer bytes stay in the message: they may be shapes, which inference wants to see.
LARGE_BYTES: Final = 4096

# Which length-delimited fields hold messages that may hold tensors: message -> field number -> message.
_INSIDE: Final[dict[str, dict[int, str]]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
# Fields of TensorProto whose bytes are the values themselves: float_data, raw_data, double_data.
_DATA_FIELDS: Final = (4, 9, 10)
_MAX_DEPTH: Final = 90
# Unguessable, so that a file cannot point into itself; the checker takes any location after a "#".
_PREFIX: Final = f"#{os.urandom(8).hex()}:"
_EXTERNAL: Final = b"\x70\x01"  # data_location: EXTERNAL


@dataclass(frozen=True)
class Span:
    """Where a tensor's little-endian bytes lie in the buffer."""

    offset: int
    size: int


def location(index: int) -> str:
    """The external location that stands for the `index`-th span."""
    return f"{_PREFIX}{index}"


def span_index(location: str) -> int | None:
    """The index in `location(index)`; None for the location of a real file."""
    return int(location[len(_PREFIX) :]) if location.startswith(_PREFIX) else None


def strip(buffer: memoryview, *, large: int = LARGE_BYTES) -> tuple[bytes, list[Span]]:
    """Split a serialised ModelProto into a small one and the places of its large tensors.

    The n-th span belongs to the tensor whose external location is `location(n)`. Raises InvalidModelError
    where the bytes are not well-formed or end early.
    """
    walker = _Walker(buffer, large)
    pieces = walker.message(0, len(buffer), "model", 0)
    return (bytes(buffer) if pieces is None else b"".join(pieces)), walker.spans


class _Walker:
    def __init__(self, buffer: memoryview, large: int) -> None:
        self.buffer = buffer
        self.large = large
        self.spans: list[Span] = []

    def message(self, start: int, end: int, kind: str, depth: int) -> list[bytes] | None:
        """The pieces of the message's new bytes, or None if nothing in it changes."""
        if depth > _MAX_DEPTH:
            raise InvalidModelError("the model's subgraphs are nested too deeply")
        if kind == "tensor":
            return self._tensor(start, end)
        buffer, large, inside = self.buffer, self.large, _INSIDE[kind]
        pieces: list[bytes] = []
        position = copied = start
        while position < end:
            field_start = position
            tag = buffer[position]
            position += 1
            if tag & 0x80:
                tag, position = self._varint(field_start, end)
            if tag & 7 != 2:
                position = self._skip(tag, position, end)
                continue
            length, position = self._varint(position, end)
            stop = position + length
            if stop > end:
                raise self._truncated(position, length, end)
            child = inside.get(tag >> 3)
            if child is not None and length > large:
                changed = self.message(position, stop, child, depth + 1)
                if changed is not None:
                    pieces.append(bytes(buffer[copied:field_start]))
                    pieces.append(_varint_bytes(tag) + _varint_bytes(sum(map(len, changed))))
                    pieces += changed
                    copied = stop
            position = stop
        if not pieces:
            return None
        pieces.append(bytes(buffer[copied:end]))
        return pieces

    def _tensor(self, start: int, end: int) -> list[bytes] | None:
        data: list[tuple[int, Span, int]] = []
        position = start
        while position < end:
            field_start = position
            tag, position = self._varint(position, end)
            if tag & 7 != 2:
                if tag >> 3 in _DATA_FIELDS:
                    return None  # values one by one, in the unpacked encoding
                position = self._skip(tag, position, end)
                continue
            length, position = self._varint(position, end)
            if position + length > end:
                raise self._truncated(position, length, end)
            if tag >> 3 in _DATA_FIELDS and length:
                data.append((field_start, Span(position, length), position + length))
            position += length
        if len(data) != 1 or data[0][1].size <= self.large:
            return None
        before, span, after = data[0]
        place = location(len(self.spans)).encode()
        self.spans.append(span)
        entry = b"\x0a\x08location\x12" + _varint_bytes(len(place)) + place
        pointer = b"\x6a" + _varint_bytes(len(entry)) + entry + _EXTERNAL
        return [bytes(self.buffer[start:before]), bytes(self.buffer[after:end]), pointer]

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        value = shift = 0
        while position < end and shift < 70:
            byte = self.buffer[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value, position
            shift += 7
        raise self._malformed(position)

    def _skip(self, tag: int, position: int, end: int) -> int:
        """The position after a field that is not length-delimited."""
        kind = tag & 7
        if kind == 0:
            return self._varint(position, end)[1]
        stop = position + {1: 8, 5: 4}.get(kind, end)
        if tag >> 3 == 0 or kind not in (1, 5) or stop > end:
            raise self._malformed(position)
        return stop

    def _malformed(self, position: int) -> InvalidModelError:
        return InvalidModelError(
            f"not a valid ONNX model: the bytes at offset {position} are no protobuf field"
        )

    def _truncated(self, position: int, length: int, end: int) -> InvalidModelError:
        return InvalidModelError(
            f"the ONNX model is truncated or damaged: {length} bytes are announced at offset {position}, "
            f"{end - position} are there",
            hint="download or export the file again",
        )


def _varint_bytes(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
