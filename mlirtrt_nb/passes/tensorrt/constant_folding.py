"""constant-folding: ops whose operands are constants become the constant that they compute."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op, create
from ...ir.constants import attribute_of
from ...program import Program
from ..base import Pass, PassContext, option, register
from .evaluation import EVALUATED, evaluate
from .matching import constant, operations, replace

__all__ = ["ConstantFolding"]


@register
class ConstantFolding(Pass):
    """Compute tensorrt ops on constants, and `shape` of a static tensor: arithmetic, casts, and moves of data.
    An op stays where its result is larger than the limit, its type is not static, or NaN is compared."""

    name = "constant-folding"
    phase = "tensorrt"

    size_limit: int = option(65536, "elements that a result may have")

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            # In program order, so that what an op reads has been folded before it is.
            for operation in operations(program, *EVALUATED):
                self._fold(program, operation)

    def _fold(self, program: Program, operation: ir.Operation) -> None:
        kind = ir.RankedTensorType(operation.results[0].type)
        if not shapes.is_static(kind.shape) or np.prod(kind.shape, dtype=np.int64) > self.size_limit:
            return

        def find(value: ir.Value | None) -> np.ndarray | None:
            return None if value is None else constant(value, program.weights)

        array = evaluate(Op.of(operation), find)
        if array is None:
            return
        weights = attribute_of(np.ascontiguousarray(array).reshape(array.shape), program.weights, "folded")
        made = create(
            "tensorrt.constant",
            [],
            {"weights": weights},
            [kind],
            loc=operation.location,
            ip=ir.InsertionPoint(operation),
        )
        replace(operation, made.results[0])
