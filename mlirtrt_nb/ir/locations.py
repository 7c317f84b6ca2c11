"""Which source names an op came from: ONNX node names, cell lines."""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

__all__ = ["sources_of"]


def sources_of(location: ir.Location) -> tuple[str, ...]:
    """Source names of a location, in order, each once. A location without a name gives "file:line:column"."""
    return tuple(dict.fromkeys(_walk(location)))


def _walk(location: ir.Location) -> Iterator[str]:
    if isinstance(location, ir.NameLoc):
        yield location.name_str
    elif isinstance(location, ir.FusedLoc):
        for part in location.locations:
            yield from _walk(part)
    elif isinstance(location, ir.CallSiteLoc):
        yield from _walk(location.callee)
    elif isinstance(location, ir.FileLineColLoc):
        yield f"{location.filename}:{location.start_line}:{location.start_col}"
