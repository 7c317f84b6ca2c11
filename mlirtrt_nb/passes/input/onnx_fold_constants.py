"""onnx-fold-constants: compute ops whose operands are all constants."""

from __future__ import annotations

from functools import partial

from ...program import Program
from ..base import Pass, PassContext, option, register

__all__ = ["OnnxFoldConstants"]


@register
class OnnxFoldConstants(Pass):
    """Compute onnx ops whose operands are constants, shapes that are known in spite of dynamic inputs, and
    If ops whose condition is known. Random ops stay, and quantisation other than of int32 biases."""

    name = "onnx-fold-constants"
    phase = "input"

    max_bytes: int = option(1 << 26, "leave ops whose result is larger than this and than their operands")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from ...dialects.onnx.evaluate import evaluate
        from ...dialects.onnx.export import opset_import
        from .propagation import Sweep
        from .rewriting import erase_dead, functions

        with program.context, ir.Location.unknown():
            for function in functions(program):
                compute = partial(evaluate, weights=program.weights, opset_import=opset_import(function))
                Sweep(program, function, max_bytes=self.max_bytes, evaluate=compute).run()
                erase_dead(function)
