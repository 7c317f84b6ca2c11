"""One op of MLIR's own dialects as native code of its own, beside ops that ONNX Runtime runs alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np
from torch_mlir import ir
from torch_mlir.dialects import builtin, func

from ..engine.host.kernel import Kernel
from ..engine.host.lowering import lower
from ..errors import EngineBuildError
from ..ir.bytecode import write_module
from ..passes.clustering.values import captured_values, is_constant, replace_operands

__all__ = ["HostOp"]

_NAME = "one_op"
_MOST_KERNELS = 1024

_kernels: dict[bytes, Kernel] = {}
_lock = Lock()


class HostOp:
    """An op that is compiled for this processor and ready to run on arrays and numbers.

    It computes in its own types, as the native code of a Plan does. Constants that it reads are compiled in.

    Args:
        operation: an op of a dialect that is compiled for the host; its program must stay alive.
        weights: the program's table.
        text: what the user wrote, for carets.

    Raises EngineBuildError for an op that cannot be compiled, or not by itself: one on memory.
    """

    def __init__(
        self, operation: ir.Operation, weights: Mapping[str, np.ndarray], text: str | None = None
    ) -> None:
        read = captured_values(operation)
        known = [
            value for value in read if isinstance(value, ir.OpResult) and is_constant(value.owner.operation)
        ]
        self.operands = [value for value in read if value not in known]
        if any(isinstance(value.type, ir.MemRefType) for value in (*read, *operation.results)):
            raise EngineBuildError(
                f"{operation.name} works on memory, and cannot be run by itself",
                hint="op by op, only values can be followed: write it with tensors",
            )
        with operation.context, operation.location:
            module = self._module(operation, known)
            function = next(op for op in module.body.operations if op.operation.name == "func.func")
            self._kernel = _compiled(module, function.operation, weights, text)

    def _module(self, operation: ir.Operation, known: Sequence[ir.Value]) -> builtin.ModuleOp:
        """A module with the op in a function of its own, and with the functions that it may call."""
        module = builtin.ModuleOp()
        kinds = [value.type for value in self.operands], [value.type for value in operation.results]
        with ir.InsertionPoint(module.body):
            made = func.FuncOp(_NAME, kinds)
        with ir.InsertionPoint(made.add_entry_block()):
            places = dict(zip(self.operands, made.entry_block.arguments, strict=True))
            for value in known:
                places[value] = value.owner.operation.clone().operation.results[value.result_number]  # type: ignore[attr-defined, union-attr]
            copy = operation.clone().operation
            replace_operands([copy], places)
            func.ReturnOp(list(copy.results))
        for other in _siblings(operation):
            module.body.append(other.clone())
        return module

    def run(self, operands: Sequence[Any]) -> list[Any]:
        """The results on values for `self.operands`. Raises InputError for a check that does not hold."""
        return self._kernel([np.asarray(value, order="C") for value in operands])


def _siblings(operation: ir.Operation) -> list[ir.Operation]:
    """The other functions of the op's module."""
    inside = operation.parent
    while inside is not None and inside.operation.parent.operation.parent is not None:
        inside = inside.operation.parent
    if inside is None:
        return []
    block = inside.operation.parent.operation.regions[0].blocks[0]
    return [op.operation for op in block.operations if op.operation != inside.operation]


def _compiled(
    module: builtin.ModuleOp, function: ir.Operation, weights: Mapping[str, np.ndarray], text: str | None
) -> Kernel:
    """The kernel of an op, kept for the other variants of its program if it reads no weights."""
    key = write_module(module)
    with _lock:
        found = _kernels.get(key)
    if found is not None:
        return found
    lowered = lower(function, weights, text)
    made = Kernel(lowered, weights, _NAME)
    if not lowered.weights:
        with _lock:
            if len(_kernels) >= _MOST_KERNELS:
                _kernels.pop(next(iter(_kernels)))
            _kernels[key] = made
    return made
