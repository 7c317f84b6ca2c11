"""Types of the block arguments of Loop, Scan and SequenceMap bodies, which files often leave out."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

__all__ = ["argument_types"]

_FIXED = {"onnx.loop": 2, "onnx.scan": 0, "onnx.sequencemap": 0}


def argument_types(op: ir.Operation, region: str, declared: Sequence[ir.Type]) -> list[ir.Type]:
    """The declared types, made more precise by the op's operands where that is safe.

    A declared type that says more than its element type stands. A loop's counter and condition are scalars.
    A carried value may change its shape from turn to turn, so of its initial value only the element type is
    taken; a scanned one is a slice of its sequence.
    """
    types = list(declared)
    if op.name == "onnx.loop":
        if types:
            types[0] = ir.RankedTensorType.get([], ir.IntegerType.get_signless(64))
        if len(types) > 1:
            types[1] = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    operands = list(op.operands)
    scanned = _scanned_from(op, len(types))
    for index in range(_FIXED.get(op.name, len(types)), len(types)):
        if isinstance(types[index], ir.RankedTensorType) or index >= len(operands):
            continue
        types[index] = _of_operand(op, operands[index].type, types[index], index >= scanned)
    return types


def _scanned_from(op: ir.Operation, count: int) -> int:
    if op.name != "onnx.scan" or "num_scan_inputs" not in op.attributes:
        return count
    return count - int(ir.IntegerAttr(op.attributes["num_scan_inputs"]).value)


def _of_operand(op: ir.Operation, operand: ir.Type, declared: ir.Type, scanned: bool) -> ir.Type:
    if op.name == "onnx.sequencemap":
        text = str(operand)
        inside = text.removeprefix("!onnx.seq<").removesuffix(">")
        return ir.Type.parse(inside) if inside != text else operand
    if not isinstance(operand, ir.RankedTensorType):
        return declared if "!onnx.any" not in str(declared) else operand
    ranked = ir.RankedTensorType(operand)
    if scanned and "scan_input_axes" not in op.attributes and ranked.rank:
        dynamic = ir.ShapedType.get_dynamic_size()
        dims = [dynamic if ranked.is_dynamic_dim(i) else ranked.get_dim_size(i) for i in range(ranked.rank)]
        return ir.RankedTensorType.get(dims[1:], ranked.element_type)
    return ir.UnrankedTensorType.get(ranked.element_type)
