"""onnx-qoperators-to-qdq: quantised products and convolutions become plain ones in quantised surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...program import Program
from ..base import Pass, PassContext, register

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["OnnxQoperatorsToQdq"]

_PER_AXIS = 13  # the opset in which the two ops got their axis


@register
class OnnxQoperatorsToQdq(Pass):
    """Write QLinearConv and QLinearMatMul as DequantizeLinear, Conv or MatMul, and QuantizeLinear, which an
    engine takes in a chain too. Where all runs on the CPU they stay: ONNX Runtime has kernels for them."""

    name = "onnx-qoperators-to-qdq"
    phase = "input"

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir

        from ...dialects.onnx.ops import opset
        from ..clustering.values import nested
        from .rewriting import functions

        if all(target == "cpu" for target in context.targets):
            return
        with program.context, ir.Location.unknown():
            for function in functions(program):
                version = opset(function)
                for op in list(nested(function.operation)):
                    if op.name in _REWRITES:
                        _rewrite(op, version)


def _rewrite(operation: ir.Operation, version: int) -> None:
    """Replace one op, unless its scales run along an axis that the opset's Dequantize cannot name."""
    from torch_mlir import ir

    from .rewriting import replace

    scales = [operation.operands[n].type for n in (1, 4, 6)]
    ranked = all(isinstance(kind, ir.RankedTensorType) for kind in scales)
    if not ranked or (version < _PER_AXIS and any(_count(kind) != 1 for kind in scales)):
        return
    if not all(isinstance(operation.operands[n].type, ir.RankedTensorType) for n in (0, 3)):
        return
    with ir.InsertionPoint(operation), operation.location:
        made = _REWRITES[operation.name](operation)
    if made is not None:
        replace(operation, [made])
        operation.erase()


def _convolution(operation: ir.Operation) -> ir.Value:
    from ...dialects.onnx.ops import is_absent

    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, *rest = operation.operands
    inputs = [_dequantize(x, x_scale, x_zero, 1), _dequantize(w, w_scale, w_zero, 0)]
    if rest and not is_absent(rest[0]):
        inputs.append(_bias(rest[0], x_scale, w_scale))
    kept = {name: operation.attributes[name] for name in _WINDOW if name in operation.attributes}
    return _between(operation, "Conv", inputs, kept, y_scale, y_zero, 1)


def _product(operation: ir.Operation) -> ir.Value | None:
    from torch_mlir import ir

    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = operation.operands
    ranks = [ir.RankedTensorType(value.type).rank for value in (a, b)]
    if min(ranks) < 2 and any(_count(scale.type) != 1 for scale in (a_scale, b_scale, y_scale)):
        return None
    # Rows of the first, columns of the second.
    inputs = [_dequantize(a, a_scale, a_zero, ranks[0] - 2), _dequantize(b, b_scale, b_zero, ranks[1] - 1)]
    return _between(operation, "MatMul", inputs, {}, y_scale, y_zero, max(ranks) - 2)


_REWRITES = {"onnx.qlinearconv": _convolution, "onnx.qlinearmatmul": _product}
_WINDOW = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def _count(kind: ir.Type) -> int:
    """How many scales there are; -1 if that is not known."""
    from torch_mlir import ir

    from ...ir.shapes import volume

    count = volume(ir.RankedTensorType(kind).shape)
    return -1 if count is None else count


def _dequantize(value: ir.Value, scale: ir.Value, zero: ir.Value, axis: int) -> ir.Value:
    from torch_mlir import ir

    from ...dialects.onnx.ops import make

    kind = ir.RankedTensorType.get(value.type.shape, scale.type.element_type)  # type: ignore[attr-defined]
    attributes = {"axis": axis} if _count(scale.type) != 1 else None
    return make("DequantizeLinear", [value, scale, zero], attributes, [kind]).results[0]


def _bias(bias: ir.Value, x_scale: ir.Value, w_scale: ir.Value) -> ir.Value:
    """The bias, whose scale is that of the input times that of the weights."""
    from torch_mlir import ir

    from ...dialects.onnx.ops import make

    element = w_scale.type.element_type  # type: ignore[attr-defined]
    dims = max((ir.RankedTensorType(scale.type).shape for scale in (x_scale, w_scale)), key=len)
    scale = make("Mul", [x_scale, w_scale], None, [ir.RankedTensorType.get(dims, element)]).results[0]
    kind = ir.RankedTensorType.get(bias.type.shape, element)  # type: ignore[attr-defined]
    attributes = {"axis": 0} if _count(scale.type) != 1 else None
    return make("DequantizeLinear", [bias, scale], attributes, [kind]).results[0]


def _between(
    operation: ir.Operation,
    name: str,
    inputs: list[ir.Value],
    attributes: dict[str, ir.Attribute],
    scale: ir.Value,
    zero: ir.Value,
    axis: int,
) -> ir.Value:
    """The plain op, and the rounding of what it gives."""
    from torch_mlir import ir

    from ...dialects.onnx.ops import make

    result, element = operation.results[0].type, inputs[0].type.element_type  # type: ignore[attr-defined]
    if isinstance(result, ir.RankedTensorType):
        kind: ir.Type = ir.RankedTensorType.get(result.shape, element)
    else:
        kind = ir.UnrankedTensorType.get(element)
    real = make(name, inputs, attributes, [kind]).results[0]
    along = {"axis": axis} if _count(scale.type) != 1 else None
    return make("QuantizeLinear", [real, scale, zero], along, [result]).results[0]
