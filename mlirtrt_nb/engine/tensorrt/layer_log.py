"""Reads the builder's own report out of its VERBOSE log: the layers it made, and the memory they take.

With detailed profiling verbosity the builder logs one message that starts "Layers:", one line per layer
of the finished engine, and single messages for memory. This works on a machine with no GPU, where the
engine inspector does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from ..base import LayerRow
from .sources import names_in

__all__ = ["MemoryNumbers", "layer_count", "parse_layers", "parse_memory"]

# Kinds that only order streams: they run no code on the device.
_ORDERING = frozenset({"signal", "wait"})

_LAYER_START = re.compile(r"(?:^|\n)Name: (?=.*?, LayerType: \w+, Inputs: \[)", re.DOTALL)
_END = re.compile(r"\n\n(?:I/O Tensors|Bindings|Engine Metadata):", re.DOTALL)
_KIND = re.compile(r", LayerType: (\w+), Inputs: \[")
_LIST = re.compile(r", (Constants|Outputs): \[")
# Reluctant names between fixed fields: a name may hold commas, brackets, quotes or line breaks.
_TENSOR = re.compile(
    r" ?\{ Name: (?P<name>.*?), (?:Location: \w+, )?Dimensions: \[(?P<dims>[-\d,]*)\]"
    r"(?:, Strides: \[[^\]]*\])?(?:, StrideOrder: \[[^\]]*\])?"
    r"(?:, Datatype: (?P<dtype>\w+))?, Format(?:/Datatype)?: (?P<format>.*?) ?\}(?:, |(?=\]))",
    re.DOTALL,
)
_FIELD = re.compile(r"(?:, |\A)(Tactic(?:Name|Value)|StreamId): ([^,]*)")
_METADATA = re.compile(r", Metadata: (.*)\Z", re.DOTALL)

_BYTES = re.compile(r"(-?\d+) bytes")

# The builder's spelling of element types -> (MLIR's, bits).
_DTYPES = {
    "Float": ("f32", 32),
    "Half": ("f16", 16),
    "BFloat16": ("bf16", 16),
    "Bfloat16": ("bf16", 16),
    "BF16": ("bf16", 16),
    "Int8": ("i8", 8),
    "UInt8": ("ui8", 8),
    "Uint8": ("ui8", 8),
    "Int32": ("i32", 32),
    "Int64": ("i64", 64),
    "Bool": ("i1", 8),
    "FP8": ("f8E4M3FN", 8),
    "Fp8": ("f8E4M3FN", 8),
    "INT4": ("i4", 4),
    "Int4": ("i4", 4),
    "FP4": ("f4E2M1FN", 4),
    "Fp4": ("f4E2M1FN", 4),
    "E8M0": ("f8E8M0FNU", 8),
}


@dataclass(frozen=True)
class MemoryNumbers:
    """Bytes, as the builder reports them; None where it does not."""

    weights_bytes: int | None = None
    activation_bytes: int | None = None
    scratch_bytes: int | None = None


@dataclass(frozen=True)
class _Tensor:
    name: str
    dims: tuple[int, ...]
    dtype: str
    bits: int | None
    format: str

    @property
    def shape(self) -> str:
        return "x".join("?" if d < 0 else str(d) for d in self.dims)

    @property
    def nbytes(self) -> int | None:
        if self.bits is None or any(d < 0 for d in self.dims):
            return None
        return (prod(self.dims) * self.bits + 7) // 8


def parse_layers(messages: Iterable[str]) -> tuple[LayerRow, ...]:
    """The rows of every "Layers:" message, in the builder's order, stream-ordering rows included.

    `shapes`, `dtypes` and `formats` are those of the outputs, one entry each. Byte counts come from the
    shapes and types that the builder lists; None where one of them varies.
    """
    rows: list[LayerRow] = []
    for message in messages:
        if message.startswith("Layers:"):
            rows += _rows(message)
    return tuple(rows)


def layer_count(layers: Iterable[LayerRow]) -> int:
    """Layers that run code on the device: all but the rows that only order streams."""
    return sum(row.kind not in _ORDERING for row in layers)


def parse_memory(messages: Iterable[str]) -> MemoryNumbers:
    """Weights, activation and scratch bytes of the engine."""
    labels = {
        "Total Weights Memory:": "weights_bytes",
        "Total Activation Memory:": "activation_bytes",
        "Max Scratch Memory:": "scratch_bytes",
    }
    found: dict[str, int] = {}
    for message in messages:
        for label, field in labels.items():
            if message.startswith(label) and (match := _BYTES.search(message)):
                found[field] = int(match.group(1))
    return MemoryNumbers(**found)


def _rows(message: str) -> list[LayerRow]:
    end = _END.search(message)
    text = message[: end.start()] if end else message
    starts = [match.end() for match in _LAYER_START.finditer(text)]
    ends = [start - len("\nName: ") for start in starts] + [len(text)]
    return [_row(text[start:stop]) for start, stop in zip(starts, ends[1:], strict=True)]


def _row(text: str) -> LayerRow:
    kind = _KIND.search(text)
    assert kind is not None  # the start pattern looked for it
    lists: dict[str, list[_Tensor]] = {"Constants": []}
    label, position = "Inputs", kind.end()
    while label:
        lists[label], position = _tensors(text, position)
        following = _LIST.match(text, position)
        label, position = (following.group(1), following.end()) if following else ("", position)
    inputs, constants, outputs = lists["Inputs"], lists["Constants"], lists.get("Outputs", [])
    rest = text[position:]
    metadata = _METADATA.search(rest)
    fields = dict(_FIELD.findall(rest[: metadata.start()] if metadata else rest))
    stream = fields.get("StreamId", "").strip()
    return LayerRow(
        name=text[: kind.start()],
        kind=kind.group(1),
        inputs=tuple(t.name for t in inputs),
        outputs=tuple(t.name for t in outputs),
        shapes=tuple(t.shape for t in outputs),
        dtypes=tuple(t.dtype for t in outputs),
        formats=tuple(t.format for t in outputs),
        tactic=fields.get("TacticName") or fields.get("TacticValue", ""),
        stream=int(stream) if stream.isdigit() else None,
        weights_bytes=_total(constants),
        output_bytes=_total(outputs),
        sources=names_in(metadata.group(1)) if metadata else (),
    )


def _tensors(text: str, position: int) -> tuple[list[_Tensor], int]:
    """The tensors of the list that opened just before `position`, and where the text goes on after it."""
    found: list[_Tensor] = []
    while match := _TENSOR.match(text, position):
        found.append(_tensor(match))
        position = match.end()
    close = text.find("]", position)
    return found, len(text) if close < 0 else close + 1


def _tensor(match: re.Match[str]) -> _Tensor:
    dims = match["dims"]
    shape = tuple(int(d) for d in dims.split(",")) if dims else ()
    dtype, bits = _DTYPES.get(match["dtype"] or "", (match["dtype"] or "", None))
    return _Tensor(match["name"], shape, dtype, bits, match["format"])


def _total(tensors: list[_Tensor]) -> int | None:
    total = 0
    for tensor in tensors:
        if tensor.nbytes is None:
            return None
        total += tensor.nbytes
    return total
