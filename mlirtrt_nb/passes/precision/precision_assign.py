"""precision-assign: say which ops are exceptions to the precision of the program, and why."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ...errors import PrecisionError
from ...precision import ELEMENTS, Keep
from ...program import Program
from ..base import Pass, PassContext, option, register

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["PrecisionAssign"]


@register
class PrecisionAssign(Pass):
    """Mark the ops that stay in a higher precision: those that `keep` names, and the default exceptions
    (statistics of normalizations, softmax, exponentials, large sums; where activations are quantized, depthwise
    and very small convolutions, the first and the last layer).
    The mark and its reason stay on the op: `precision.type`, `precision.reason`."""

    name = "precision-assign"
    phase = "precision"

    base: str = option("fp16", "precision of the program: fp16, bf16, fp8, int8 or int4")
    rest: str = option("fp16", "type of what is not quantized: fp32, fp16 or bf16")
    keep: list[str | Keep] = option([], "ops, or regular expressions on source nodes; pattern->type for a type")
    defaults: bool = option(True, "whether the default exceptions hold")

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from .exceptions import mark_depthwise, mark_ends, mark_floating, mark_pooled, mark_shallow

        keeps = [entry if isinstance(entry, Keep) else Keep.parse(entry) for entry in self.keep]
        rest = ELEMENTS[self.rest]
        with program.context, ir.Location.unknown():
            _mark_kept(program, keeps)
            if not self.defaults:
                return
            if self.base in ("int8", "fp8"):
                mark_depthwise(program, rest)
            if self.base == "int8":
                mark_ends(program, rest, "i8")
            if self.base in ("int8", "fp8"):
                mark_pooled(program, rest)
                if rest != "f32":
                    mark_shallow(program, rest)
            if rest != "f32":
                mark_floating(program, rest)


def _mark_kept(program: Program, keeps: list[Keep]) -> None:
    """Mark the ops that each entry names. Raises PrecisionError for an entry that names none."""
    from torch_mlir import ir

    if not keeps:
        return
    listed: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("tensorrt.") and operation.name != "tensorrt.constant":
            listed.append(operation)
        return ir.WalkResult.ADVANCE

    program.module.operation.walk(visit)
    for keep in keeps:
        found = _matching(keep, listed)
        if not found:
            raise _nothing(keep, listed)
        for operation in found:
            _mark(operation, keep)


def _mark(operation: ir.Operation, keep: Keep) -> None:
    from .marks import mark

    shown = (
        keep.pattern if isinstance(keep.pattern, str) else f"{getattr(keep.pattern, '__name__', 'function')}()"
    )
    mark(operation, ELEMENTS[keep.type], f"kept by {shown}")


def _matching(keep: Keep, listed: list[ir.Operation]) -> list[ir.Operation]:
    from ...ir.builder import Op
    from ...ir.locations import sources_of

    pattern = keep.pattern
    if not isinstance(pattern, str):
        return [operation for operation in listed if keep.takes(Op.of(operation))]
    named = [op for op in listed if pattern in (op.name, op.name.removeprefix("tensorrt."))]
    if named:
        return named
    expression = re.compile(pattern)
    return [op for op in listed if any(expression.fullmatch(name) for name in sources_of(op.location))]


def _nothing(keep: Keep, listed: list[ir.Operation]) -> PrecisionError:
    """The error for a pattern that matches no op, with the names that are near."""
    from ...ir.locations import sources_of

    if not isinstance(keep.pattern, str):
        return PrecisionError(
            "the function given as keep= takes no op", hint="it is called with each tensorrt op, as an Op"
        )
    sources = list(dict.fromkeys(name for op in listed for name in sources_of(op.location)))
    kinds = sorted({op.name.removeprefix("tensorrt.") for op in listed})
    containing = [name for name in sources if keep.pattern.lower() in name.lower()]
    near = get_close_matches(keep.pattern, [*kinds, *sources], 3) or containing[:3]
    return PrecisionError(
        f"keep={keep.pattern!r} matches no op",
        hint=f"near names: {', '.join(near)}; a regular expression has to match a whole name"
        if near
        else f"ops are {', '.join(kinds[:12])}; source nodes are {', '.join(sources[:4])}, ...",
    )
