"""Modules to and from MLIR bytecode. Weights are not part of it: a handle is a name."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ..errors import MlirTrtError

if TYPE_CHECKING:
    from torch_mlir import ir
    from torch_mlir.dialects.builtin import ModuleOp

__all__ = ["parse_module", "read_module", "write_module"]


def write_module(module: ModuleOp) -> bytes:
    """The module as bytecode, locations included."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def read_module(data: bytes | memoryview, error: type[MlirTrtError]) -> ModuleOp:
    """The module in a context of its own. Raises `error` where this version of MLIR cannot read it."""
    from .context import new_context

    return parse_module(data, new_context(), error)


def parse_module(data: bytes | memoryview, context: ir.Context, error: type[MlirTrtError]) -> ModuleOp:
    """The module in `context`, as `read_module`."""
    from torch_mlir import ir

    with context, ir.Location.unknown():
        try:
            return ir.Module.parse(bytes(data)).operation.opview
        except ir.MLIRError as problem:
            reason = " ".join(str(problem).split())[:300]
            raise error(
                f"the IR in the file cannot be read: {reason}", hint="compile again with this version and save"
            ) from problem
