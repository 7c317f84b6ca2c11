"""In which element type an op computes, read off the strongly typed IR."""

from __future__ import annotations

from torch_mlir import ir

from ..dialects.tensorrt.number_flow import MOVES
from ..passes.precision.marks import REASON

__all__ = ["CONVERSIONS", "compute_type", "kept_reason"]

# What precision passes add; these ops change the type, not the value.
CONVERSIONS = frozenset({"tensorrt.cast", "tensorrt.identity", "tensorrt.quantize", "tensorrt.dequantize"})


def compute_type(operation: ir.Operation) -> str | None:
    """The MLIR element type that an op computes in; None for conversions and for what has no float in it.

    An op whose operands are dequantized computes in their small type, as TensorRT fuses it; one of whose
    operands the weight alone is dequantized computes in its own type, whatever the weights are stored in.
    """
    if operation.name in CONVERSIONS or operation.name.endswith(".constant"):
        return None
    if _is_constant(operation):
        return None
    own = next((name for value in operation.results if (name := _float_element(value))), None)
    if own is None:
        return None
    first = _quantized_element(operation.operands[0]) if len(operation.operands) else None
    return first or own


def _is_constant(operation: ir.Operation) -> bool:
    """Whether an op only prepares constants, so that nothing is computed at run time."""
    if operation.name not in MOVES or not len(operation.operands):
        return False
    value = operation.operands[0]
    while isinstance(value, ir.OpResult):
        owner = value.owner.operation
        if owner.name.endswith(".constant"):
            return True
        if owner.name not in MOVES and owner.name not in CONVERSIONS:
            return False
        value = owner.operands[0]
    return False


def kept_reason(operation: ir.Operation) -> str:
    """Why an op was left out of the program's precision; "" if it was not."""
    attributes = operation.attributes
    return ir.StringAttr(attributes[REASON]).value if REASON in attributes else ""


def _float_element(value: ir.Value) -> str | None:
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return None
    element = str(kind.element_type)
    return element if element.startswith(("f", "bf")) else None


def _quantized_element(value: ir.Value) -> str | None:
    """The small type behind a value that is dequantized, seen through what only moves it."""
    while isinstance(value, ir.OpResult):
        owner = value.owner.operation
        if owner.name == "tensorrt.dequantize":
            return str(ir.RankedTensorType(owner.operands[0].type).element_type)
        if owner.name not in MOVES and owner.name != "tensorrt.cast":
            return None
        value = owner.operands[0]
    return None
