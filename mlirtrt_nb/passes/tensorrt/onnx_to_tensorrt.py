"""onnx-to-tensorrt: rewrite what TensorRT can take in the tensorrt dialect, and say why the rest stays."""

from __future__ import annotations

from ...program import Program
from ..base import Pass, PassContext, option, register

__all__ = ["OnnxToTensorrt"]


@register
class OnnxToTensorrt(Pass):
    """Convert onnx ops to the tensorrt dialect. An op that TensorRT cannot take stays, with the reason
    in its attribute `plan.fallback`; so does every op named in `keep`."""

    name = "onnx-to-tensorrt"
    phase = "tensorrt"

    keep: list[str] = option([], "ONNX op types that stay as they are, to run on ONNX Runtime")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir
        from torch_mlir.dialects import func

        from ...ir.constants import handles_in
        from . import conversions

        with program.context, ir.Location.unknown():
            for operation in program.module.body.operations:
                if isinstance(operation, func.FuncOp) and not operation.is_external:
                    conversions.convert_function(operation.operation, program.weights, frozenset(self.keep))
            named = handles_in(program.module.operation)
        # Weights that no op names any more, such as those that were folded into others.
        for name in [name for name in program.weights if name not in named]:
            del program.weights[name]
