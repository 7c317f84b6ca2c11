"""onnx-to-tensorrt: rewrite what TensorRT can take in the tensorrt dialect, and say why the rest stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import OptionError
from ...program import Program
from ..base import Pass, PassContext, option, register

if TYPE_CHECKING:
    from .conversions.function import Split

__all__ = ["OnnxToTensorrt"]

_SPLITS = ("auto", "always", "never")


@register
class OnnxToTensorrt(Pass):
    """Convert onnx ops to the tensorrt dialect. An op that TensorRT cannot take stays, with the reason
    in its attribute `plan.fallback`; so does every op named in `keep`. An If, Loop or Scan that no engine can
    hold whole becomes control flow of the Plan, with engines inside, where that is worth it."""

    name = "onnx-to-tensorrt"
    phase = "tensorrt"

    keep: list[str] = option([], "ONNX op types that stay as they are, to run on ONNX Runtime")

    split: str = option(
        "auto",
        "which If, Loop and Scan that TensorRT does not take whole become control flow of the Plan: those with "
        "work for an engine inside unless all runs on the CPU (auto), all that can (always), or none (never)",
    )

    def __post_init__(self) -> None:
        if self.split not in _SPLITS:
            raise OptionError(
                f"pass {self.name}: split={self.split} is not known", hint=f"one of {', '.join(_SPLITS)}"
            )

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir
        from torch_mlir.dialects import func

        from ...ir.constants import forget_unnamed
        from . import conversions
        from .workarounds import can_be_worked_around

        split: Split = "always" if self.split == "always" else "never"
        if self.split == "auto" and any(target != "cpu" for target in context.targets):
            split = "worth"
        with program.context, ir.Location.unknown():
            for operation in program.module.body.operations:
                if isinstance(operation, func.FuncOp) and not operation.is_external:
                    function, keep = operation.operation, frozenset(self.keep)
                    conversions.convert_function(
                        function, program.weights, keep, can_be_worked_around, split, context.whole
                    )
            forget_unnamed(program.module.operation, program.weights)
