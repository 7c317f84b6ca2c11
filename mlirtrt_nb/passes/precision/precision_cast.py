"""precision-cast: compute in f16 or bf16 what is in f32, with casts where the type changes."""

from __future__ import annotations

from ...errors import PrecisionError
from ...precision import ELEMENTS
from ...program import Program
from ..base import Pass, PassContext, option, register

__all__ = ["PrecisionCast"]


@register
class PrecisionCast(Pass):
    """Give f32 ops the type `to`, except those marked with another one or that TensorRT takes in f32 only.
    Constants are cast here, once; inputs and outputs of the program keep their types unless `io` is set."""

    name = "precision-cast"
    phase = "precision"

    to: str = option("fp16", "fp16 or bf16")
    io: bool = option(False, "whether inputs and outputs of the program get the type too")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from ...ir.constants import forget_unnamed
        from .casting import Caster

        if self.to not in ("fp16", "bf16"):
            raise PrecisionError(f"precision-cast cannot cast to {self.to!r}", hint="give fp16 or bf16")
        with program.context, ir.Location.unknown():
            caster = Caster(program, ELEMENTS[self.to])
            if self.io:
                caster.interface()
            caster.body()
            forget_unnamed(program.module.operation, program.weights)
