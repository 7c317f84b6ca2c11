"""onnx-eliminate-identity: drop ops that give back what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...program import Program
from ..base import Pass, PassContext, register
from ..firing import report

if TYPE_CHECKING:
    import numpy as np
    from torch_mlir import ir

__all__ = ["OnnxEliminateIdentity"]


@register
class OnnxEliminateIdentity(Pass):
    """Drop onnx ops that change nothing: Identity, Dropout at inference, casts to the same type, pads by
    nothing, slices of everything, transposes and reshapes to the same shape, sums and concats of one value."""

    name = "onnx-eliminate-identity"
    phase = "input"

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from .rewriting import erase_dead, functions

        with program.context, ir.Location.unknown():
            for function in functions(program):
                _Eliminator(program).run(function)
                erase_dead(function)


class _Eliminator:
    def __init__(self, program: Program) -> None:
        self._weights = program.weights

    def run(self, operation: ir.Operation) -> None:
        for region in operation.regions:
            for block in region.blocks:
                for op in list(block.operations):
                    self._visit(op.operation)

    def _visit(self, operation: ir.Operation) -> None:
        if len(operation.regions):
            self.run(operation)
            return
        check = _CHECKS.get(operation.name)
        if check is None or not len(operation.operands):
            return
        source, result = operation.operands[0], operation.results[0]
        if check(self, operation) and _keeps_type(source.type, result.type):
            report(operation)
            result.replace_all_uses_with(source)

    def known(self, operation: ir.Operation, index: int) -> np.ndarray | None:
        """The value of an operand that is constant."""
        from ...dialects.onnx.ops import constant_value

        if index >= len(operation.operands):
            return None
        return constant_value(operation.operands[index], self._weights)

    def absent(self, operation: ir.Operation, index: int) -> bool:
        from ...dialects.onnx.ops import is_absent

        return index >= len(operation.operands) or is_absent(operation.operands[index])


def _keeps_type(source: Any, result: Any) -> bool:
    """Whether a value of type `source` may stand for one of type `result`: at least as precise, same kind."""
    from torch_mlir import ir

    if source == result:
        return True
    if not isinstance(source, ir.ShapedType) or not isinstance(result, ir.ShapedType):
        return False
    if source.element_type != result.element_type:
        return False
    if isinstance(result, ir.UnrankedTensorType):
        return True
    if not isinstance(source, ir.RankedTensorType) or source.rank != result.rank:
        return False
    return all(result.is_dynamic_dim(i) or source.shape[i] == result.shape[i] for i in range(result.rank))


def _same_static_shape(self: _Eliminator, operation: ir.Operation) -> bool:
    from torch_mlir import ir

    source, result = operation.operands[0].type, operation.results[0].type
    return isinstance(source, ir.RankedTensorType) and source.has_static_shape and source == result


def _identity(self: _Eliminator, operation: ir.Operation) -> bool:
    return True


def _dropout(self: _Eliminator, operation: ir.Operation) -> bool:
    """At inference: no training mode, and nobody reads the mask."""
    from .rewriting import has_uses

    if has_uses(operation.results[1]):
        return False
    mode = self.known(operation, 2)
    return self.absent(operation, 2) or (mode is not None and not mode.any())


def _cast(self: _Eliminator, operation: ir.Operation) -> bool:
    return operation.operands[0].type.element_type == operation.results[0].type.element_type  # type: ignore[attr-defined]


def _pad(self: _Eliminator, operation: ir.Operation) -> bool:
    from ...ir.builder import Op

    given = Op.of(operation).attr("pads")
    pads = self.known(operation, 1)
    return not any(given) if given is not None else pads is not None and not pads.any()


def _slice(self: _Eliminator, operation: ir.Operation) -> bool:
    """Everything, forwards: by its static shape, or from 0 to a bound that no dimension reaches."""
    if _same_static_shape(self, operation):
        steps = self.known(operation, 4)
        return self.absent(operation, 4) or (steps is not None and bool((steps == 1).all()))
    starts, ends, steps = (self.known(operation, index) for index in (1, 2, 4))
    if starts is None or ends is None or (steps is None and not self.absent(operation, 4)):
        return False
    forwards = steps is None or bool((steps == 1).all())
    return forwards and not starts.any() and bool((ends >= 2**31 - 1).all())


def _transpose(self: _Eliminator, operation: ir.Operation) -> bool:
    from torch_mlir import ir

    from ...ir.builder import Op

    order = Op.of(operation).attr("perm")
    if order is None:
        kind = operation.results[0].type
        return isinstance(kind, ir.RankedTensorType) and kind.rank < 2
    return order == sorted(order)


def _single(self: _Eliminator, operation: ir.Operation) -> bool:
    return len(operation.operands) == 1


def _clip(self: _Eliminator, operation: ir.Operation) -> bool:
    bounds = {"min", "max"} & set(_attribute_names(operation))
    return not bounds and self.absent(operation, 1) and self.absent(operation, 2)


def _attribute_names(operation: ir.Operation) -> list[str]:
    from torch_mlir import ir

    return [e.name if isinstance(e, ir.NamedAttribute) else e for e in operation.attributes]


def _scaled_by_one(self: _Eliminator, operation: ir.Operation) -> bool:
    """A Resize or Upsample by 1 on every axis."""
    return any(
        scales is not None and scales.size and bool((scales == 1).all()) and scales.dtype.kind == "f"
        for scales in (self.known(operation, 1), self.known(operation, 2))
    ) and _same_static_shape(self, operation)


_CHECKS: dict[str, Callable[[_Eliminator, Any], bool]] = {
    "onnx.identity": _identity,
    "onnx.dropout": _dropout,
    "onnx.cast": _cast,
    "onnx.pad": _pad,
    "onnx.slice": _slice,
    "onnx.transpose": _transpose,
    "onnx.reshape": _same_static_shape,
    "onnx.flatten": _same_static_shape,
    "onnx.expand": _same_static_shape,
    "onnx.squeeze": _same_static_shape,
    "onnx.unsqueeze": _same_static_shape,
    "onnx.tile": _same_static_shape,
    "onnx.concat": _single,
    "onnx.sum": _single,
    "onnx.max": _single,
    "onnx.min": _single,
    "onnx.mean": _single,
    "onnx.clip": _clip,
    "onnx.resize": _scaled_by_one,
}
