"""expand-recurrent: lstm, gru and rnn become the loops that TensorRT runs."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

import numpy as np
from torch_mlir import ir

from ...ir.builder import Op
from ...program import Program
from ..base import Pass, PassContext, register
from ..firing import report
from .conversions.emitter import Emitter
from .recurrent import expand

__all__ = ["ExpandRecurrent", "expanded"]

_NAMES = frozenset({"tensorrt.lstm", "tensorrt.gru", "tensorrt.rnn"})


@register
class ExpandRecurrent(Pass):
    """Spell lstm, gru and rnn as a loop over matrix products and element-wise ops. The TensorRT builder does
    so by itself, and ONNX Runtime is faster with the whole ops: it serves to see or run what TensorRT gets."""

    name = "expand-recurrent"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            _expand_in(program.module.operation, program.weights)


def expanded(
    function: ir.Operation, weights: Mapping[str, np.ndarray]
) -> tuple[ir.Operation, Mapping[str, np.ndarray]]:
    """A function without lstm, gru and rnn, and the weights with those it names anew.

    `function` itself, which stays as it is, where there are none.
    """
    if not _found(function):
        return function, weights
    with function.context, ir.Location.unknown():
        copy, table = function.clone(), dict(weights)
        _expand_in(copy, table)
    return copy.operation, table


def _found(root: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in _NAMES:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def _expand_in(root: ir.Operation, weights: MutableMapping[str, np.ndarray]) -> None:
    for operation in _found(root):
        emit = Emitter(weights)
        emit.begin(operation)
        values = expand(Op.of(operation), emit, weights)
        for result, value in zip(operation.results, values, strict=True):
            if value is not None:
                result.replace_all_uses_with(value)
        report(operation)
        operation.erase()
