"""Functions by symbol, and the module that holds the TensorRT engine functions.

MLIR lets functions live only in an op with a symbol table, a trait that an op defined at run time cannot have.
So `tensorrt.module @name` is, underneath, a `builtin.module @name` marked with the unit attribute
`tensorrt.module`; the text layer reads and writes it by its own name.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir
from torch_mlir.dialects import builtin, func

__all__ = ["ENGINES_MARK", "engines_module", "functions", "is_engines_module", "lookup"]

ENGINES_MARK = "tensorrt.module"


def is_engines_module(operation: ir.Operation | ir.OpView) -> bool:
    """Whether the op is what the text layer shows as `tensorrt.module`."""
    return operation.operation.name == "builtin.module" and ENGINES_MARK in operation.operation.attributes


def engines_module(module: builtin.ModuleOp, name: str) -> ir.Block:
    """The block of `tensorrt.module @name`, made at the end of `module` if there is none."""
    for op in module.body.operations:
        if is_engines_module(op) and ir.StringAttr(op.operation.attributes["sym_name"]).value == name:
            return op.operation.regions[0].blocks[0]
    with ir.InsertionPoint(module.body), ir.Location.unknown():
        made = builtin.ModuleOp()
        made.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        made.operation.attributes[ENGINES_MARK] = ir.UnitAttr.get()
    return made.body


def functions(module: builtin.ModuleOp) -> Iterator[tuple[str, func.FuncOp]]:
    """Every function of the module and of its engine modules, with its path ("trt_engines::main_0")."""
    for op in module.body.operations:
        if isinstance(op, func.FuncOp):
            yield op.name.value, op
        elif is_engines_module(op):
            prefix = ir.StringAttr(op.operation.attributes["sym_name"]).value
            for inner in op.operation.regions[0].blocks[0].operations:
                if isinstance(inner, func.FuncOp):
                    yield f"{prefix}::{inner.name.value}", inner


def lookup(module: builtin.ModuleOp, path: str) -> func.FuncOp:
    """The function at `path` ("main", "trt_engines::main_0"). Raises KeyError if there is none."""
    for name, function in functions(module):
        if name == path:
            return function
    raise KeyError(path)
