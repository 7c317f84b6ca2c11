"""specialize-shapes: make dimensions static that the profiles fix, and fold the shape arithmetic on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ShapeError
from ...program import Program
from ..base import Pass, PassContext, option, register

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["SpecializeShapes"]

_MAX_BYTES = 1 << 20


@register
class SpecializeShapes(Pass):
    """Give the entry function's arguments the dimensions that every profile fixes (min = max), infer all
    types anew, and replace shapes that are then known by constants."""

    name = "specialize-shapes"
    phase = "input"

    fold: bool = option(True, "replace shapes that are known by constants")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from ...ir.inspect import entry_function
        from .propagation import Sweep, settle_signature
        from .rewriting import erase_dead

        function = entry_function(program.module.operation)
        if function is None:
            return
        with program.context, ir.Location.unknown():
            untouched = function.clone(ip=ir.InsertionPoint(function))
            _set_arguments(function, program, context)
            keep = function
            if self.fold:
                sweep = Sweep(program, function, max_bytes=_MAX_BYTES, shapes_only=True)
                sweep.run()
                if sweep.failure is not None and context.profiles:
                    raise _contradiction(*sweep.failure, given=_has_open_inputs(program))
                # A branch for other shapes than these, which is never taken: engines that check types would
                # refuse the whole function for it, so its shapes stay open.
                keep = untouched if sweep.impossible_region else function
            (function if keep is untouched else untouched).erase()
            settle_signature(keep)
            erase_dead(keep)


def _has_open_inputs(program: Program) -> bool:
    """Whether there are dimensions that the profiles choose; else all shapes are the model's own."""
    return any(
        spec.shape is None or not all(isinstance(size, int) for size in spec.shape) for spec in program.inputs
    )


def _contradiction(operation: ir.Operation, message: str, *, given: bool) -> ShapeError:
    """The error about an op that cannot run; `given` where input shapes were given, which then are at fault."""
    from ...dialects.onnx.schemas import identity
    from ...ir.locations import sources_of

    name = next(iter(sources_of(operation.location)), "")
    shapes = ", ".join(str(value.type) for value in operation.operands if str(value.type) != "none")
    reason = message.removeprefix("[ShapeInferenceError] ").removeprefix("[TypeInferenceError] ")
    what = "the input shapes do not suit the model" if given else "the model's own shapes contradict each other"
    hint = "check shapes= (--shape) against what the model was made for"
    return ShapeError(
        f"{what}: {reason}",
        where=f"node {name!r} ({identity(operation.name)[1]}) of {shapes}",
        hint=hint if given else "correct the node or what it is given, or export the model again",
    )


def _set_arguments(function: ir.Operation, program: Program, context: PassContext) -> None:
    from torch_mlir import ir

    from ...dialects.onnx.inference import merge

    dynamic = ir.ShapedType.get_dynamic_size()
    arguments = function.regions[0].blocks[0].arguments
    for spec, argument in zip(program.inputs, arguments, strict=True):
        fixed = _fixed(context, spec.name)
        kind = argument.type
        if fixed is None or not isinstance(kind, ir.RankedTensorType | ir.UnrankedTensorType):
            continue
        dims = [dynamic if d is None else d for d in fixed]
        made = merge(kind, ir.RankedTensorType.get(dims, kind.element_type))
        if made != kind:
            argument.set_type(made)


def _fixed(context: PassContext, name: str) -> tuple[int | None, ...] | None:
    """The dimensions that are one number throughout all profiles; None where no profile names the input."""
    shapes = [shape for profile in context.profiles for shape in profile.get(name, ())]
    if not shapes:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True))
