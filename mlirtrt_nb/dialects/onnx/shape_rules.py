"""Shapes that an op cannot take, where ONNX's inference does not look: channels of convolutions, reshapes.

Runtimes find these only as they run. Matrix products are here too, as inference does not look at an op whose
result's shape is declared.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from torch_mlir import ir

from ...ir.shapes import DYNAMIC
from .ops import is_absent

__all__ = ["RULES", "misfit"]

Known = Callable[[ir.Value], np.ndarray | None]


def misfit(operation: ir.Operation, known: Known) -> str | None:
    """Why the op cannot run on operands of these shapes; None where it can, or nothing is known against it.

    `known(value)` gives the array of a value that is constant, or None.
    """
    rule = RULES.get(operation.name)
    return None if rule is None else rule(operation, known)


def _dims(operation: ir.Operation, index: int) -> list[int] | None:
    """The dimensions of an operand, DYNAMIC where they vary; None for one that is absent or of unknown rank."""
    if index >= len(operation.operands) or is_absent(operation.operands[index]):
        return None
    kind = operation.operands[index].type
    return list(kind.shape) if isinstance(kind, ir.RankedTensorType) else None


def _integer(operation: ir.Operation, name: str, default: int) -> int:
    found = operation.attributes.get(name, None)
    return found.value if isinstance(found, ir.IntegerAttr) else default


def _differ(a: int, b: int) -> bool:
    return DYNAMIC not in (a, b) and a != b


def _convolution(kernel: int, bias: int | None) -> Callable[[ir.Operation, Known], str | None]:
    def rule(operation: ir.Operation, known: Known) -> str | None:
        data, weights = _dims(operation, 0), _dims(operation, kernel)
        if data is None or weights is None or len(data) < 3 or len(weights) != len(data):
            return None
        group = _integer(operation, "group", 1)
        if weights[1] != DYNAMIC and _differ(data[1], weights[1] * group):
            groups = f" in each of {group} groups" if group > 1 else ""
            return f"the input has {data[1]} channels, the kernel is for {weights[1]}{groups}"
        if group > 1 and weights[0] != DYNAMIC and weights[0] % group:
            return f"the kernel has {weights[0]} outputs, which do not divide into {group} groups"
        return None if bias is None else _bias(operation, bias, weights[0])

    return rule


def _bias(operation: ir.Operation, index: int, channels: int) -> str | None:
    bias = _dims(operation, index)
    if bias is not None and len(bias) == 1 and _differ(bias[0], channels):
        return f"the bias has {bias[0]} elements for {channels} output channels"
    return None


def _transposed_convolution(operation: ir.Operation, known: Known) -> str | None:
    data, weights = _dims(operation, 0), _dims(operation, 1)
    if data is None or weights is None or len(data) < 3 or len(weights) != len(data):
        return None
    if _differ(data[1], weights[0]):
        return f"the input has {data[1]} channels, the kernel is for {weights[0]}"
    group = _integer(operation, "group", 1)
    return _bias(operation, 2, weights[1] * group) if weights[1] != DYNAMIC else None


def _product(operation: ir.Operation, known: Known) -> str | None:
    a, b = _dims(operation, 0), _dims(operation, 1)
    if not a or not b:
        return None
    inner = b[-2] if len(b) > 1 else b[0]
    if _differ(a[-1], inner):
        return f"the last dimension of the first, {a[-1]}, is not that which it meets in the second, {inner}"
    for x, y in zip(reversed(a[:-2]), reversed(b[:-2]), strict=False):
        if _differ(x, y) and 1 not in (x, y):
            return f"the batch dimensions {x} and {y} do not broadcast"
    return None


def _reshape(operation: ir.Operation, known: Known) -> str | None:
    data = _dims(operation, 0)
    array = known(operation.operands[1]) if len(operation.operands) > 1 else None
    if data is None or DYNAMIC in data or array is None or array.ndim != 1:
        return None
    target = [int(size) for size in array]
    if not _integer(operation, "allowzero", 0):
        if any(size == 0 and axis >= len(data) for axis, size in enumerate(target)):
            return f"a 0 in the shape {target} keeps a dimension that {data} does not have"
        target = [data[axis] if size == 0 else size for axis, size in enumerate(target)]
    have, rest = prod(data), prod(size for size in target if size != -1)
    fits = rest != 0 and have % rest == 0 if -1 in target else rest == have
    if fits or (rest == 0 and have == 0):
        return None
    return f"{have} elements do not fit the shape {target}"


RULES: dict[str, Callable[[ir.Operation, Known], str | None]] = {
    "onnx.conv": _convolution(1, 2),
    "onnx.convinteger": _convolution(1, None),
    "onnx.qlinearconv": _convolution(3, 8),
    "onnx.convtranspose": _transposed_convolution,
    "onnx.matmul": _product,
    "onnx.reshape": _reshape,
}
