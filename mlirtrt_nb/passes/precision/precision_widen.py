"""precision-widen: what a model has in f16 or bf16 becomes f32, so that it can be quantized like any other."""

from __future__ import annotations

from ...program import Program
from ..base import Pass, PassContext, register

__all__ = ["PrecisionWiden", "widen"]

_NARROW = ("f16", "bf16")


@register
class PrecisionWiden(Pass):
    """Give ops that a model has in f16 or bf16, and their constants, the type f32, which is exact. What is not
    quantized afterwards becomes the type that `precision-cast` gives; inputs and outputs keep theirs."""

    name = "precision-widen"
    phase = "precision"

    def apply(self, program: Program, context: PassContext) -> None:
        widen(program)


def widen(program: Program) -> None:
    """Let a program of tensorrt ops compute in f32 where it computes in f16 or bf16."""
    from torch_mlir import ir

    from ...ir.constants import forget_unnamed
    from .casting import Caster

    with program.context, ir.Location.unknown():
        for narrow in _NARROW:
            Caster(program, "f32", narrow).body()
        forget_unnamed(program.module.operation, program.weights)
