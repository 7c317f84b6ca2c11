"""precision-quantize: weights become i8, f8 or i4, and activations are rounded where engines fuse it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import PrecisionError
from ...precision import ELEMENTS
from ...program import Program
from ..base import Pass, PassContext, option, register

if TYPE_CHECKING:
    from ...activation_ranges import Calibration

__all__ = ["PrecisionQuantize"]


@register
class PrecisionQuantize(Pass):
    """Store the weights of convolutions and products in i8 (a scale per channel), f8 (one scale) or i4 (a scale
    per block), and, but for i4, round their activations to the same type with a scale per tensor, by
    `tensorrt.quantize` and `tensorrt.dequantize`. Marked ops, and what a model quantizes itself, stay."""

    name = "precision-quantize"
    phase = "precision"

    base: str = option("int8", "int8, fp8 or int4")
    rest: str = option("fp16", "type of what is not quantized: fp32, fp16 or bf16")
    calibration: Any = option(None, "ranges of activations, or the file of saved ones; none: made-up inputs")
    method: str = option("percentile", "how ranges are found where none are given")
    block: int = option(128, "for int4, how many weights share a scale")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from ...ir.constants import forget_unnamed
        from .quantizing import Quantizer

        if self.base not in ("int8", "fp8", "int4"):
            raise PrecisionError(f"precision-quantize cannot quantize to {self.base!r}")
        ranges = None if self.base == "int4" else self._ranges(program)
        with program.context, ir.Location.unknown():
            quantizer = Quantizer(program, ELEMENTS[self.base], ELEMENTS[self.rest], self.block)
            if ranges is None:
                quantizer.weights_only()
            else:
                quantizer.with_activations(ranges.ranges)
            forget_unnamed(program.module.operation, program.weights)

    def _ranges(self, program: Program) -> Calibration:
        from ...activation_ranges import Calibration

        if isinstance(self.calibration, Calibration):
            return self.calibration
        if isinstance(self.calibration, str) and not self.calibration.startswith("<"):
            return Calibration.load(self.calibration)
        if self.calibration is not None:
            raise PrecisionError(
                "precision-quantize takes ranges that were found before",
                hint="calibration = mt.calibrate(program, inputs)",
            )
        # By name, since passes must not import what runs programs; asked for only where no ranges are given.
        from importlib import import_module

        collect = import_module("mlirtrt_nb.calibration.collect")
        made: Calibration = collect.synthetic_ranges(program, self.method)
        return made
