"""What ONNX Runtime's 8-bit kernels want to see of rounded numbers: their type, and integer biases.

The fast kernels multiply u8 by i8, and on processors without dot-product instructions they add pairs of
products in 16 bits, which overflow unless the u8 numbers stay below 128. Numbers that are never negative, as
after a ReLU, are written as u8 of at most 127: the same numbers as i8, and exact on every processor. All
others are written as u8 around 128, and the kernels of the convolutions that read them too: u8 by u8 is exact
everywhere as well, and takes a sixth of the time of i8 by i8, for which such processors have no fast kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from ....dialects.tensorrt.number_flow import is_nonnegative, is_relu
from ....ir.builder import Op
from ....ir.constants import value_of
from ..scope import Constant, Scope, element_type
from .dims import rank_of

__all__ = [
    "Form",
    "form_of",
    "gives_integers",
    "integer_bias",
    "integer_row",
    "is_integer_kernel",
    "is_integer_product",
    "is_rounded_again",
    "is_rounded_relu",
    "source_kind",
]


_INTEGER_OPS = ("tensorrt.convolution", "tensorrt.matrix_multiply", "tensorrt.element_wise")


@dataclass(frozen=True)
class Form:
    """How the i8 results of a `quantize` are written: as `kind`, with a zero point, and bounded to 0 to 127 or
    not.

    `rectifies` is what the ReLU before it reads, where the bounds of u8 do its work.
    """

    kind: str = "i8"
    zero: int = 0
    bounded: bool = False
    rectifies: ir.Value | None = None


def form_of(op: Op, scope: Scope) -> Form:
    """The form of the results of a `quantize` to i8 with one scale."""
    value, result = op.operand("input"), op.operation.results[0]
    assert value is not None
    if rank_of(op.operand("scale")) or not all(r.name == "tensorrt.dequantize" for r in _readers(result)):
        return Form()
    if is_nonnegative(value):
        owner = value.owner
        relu = None if isinstance(owner, ir.Block) or not is_rounded_relu(owner.operation) else owner.operation
        return Form("ui8", 0, True, None if relu is None else relu.operands[0])
    reals = (real for reader in _readers(result) for real in _readers(reader.results[0]))
    return Form("ui8", 128) if all(_takes_unsigned(real, scope) for real in reals) else Form()


def _takes_unsigned(operation: ir.Operation, scope: Scope) -> bool:
    """Whether an op may read numbers around 128: products only with a kernel that can be written so too."""
    if operation.name == "tensorrt.convolution":
        return not gives_integers(operation) or is_integer_kernel(operation.operands[1], scope)
    return operation.name not in ("tensorrt.matrix_multiply", "tensorrt.deconvolution")


def is_integer_kernel(value: ir.Value, scope: Scope) -> bool:
    """Whether a value is the constant i8 kernel of convolutions that all multiply integers: each of them writes
    it as it needs it."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tensorrt.dequantize":
        return False
    constant, scale = (scope.constant(operand) for operand in owner.operation.operands)
    if constant is None or constant.array.dtype != np.int8 or scale is None or scale.array.ndim > 1:
        return False
    return scale.array.dtype == np.float32 and all(
        use.owner.name == "tensorrt.convolution"
        and use.operand_number == 1
        and gives_integers(use.owner.operation)
        for use in value.uses
    )


def source_kind(op: Op, scope: Scope) -> str | None:
    """How the rounded numbers are written that go into the convolution, product or sum before a `quantize`, if
    any."""
    producer = _maker(op.operand("input"))
    if producer is not None and is_relu(producer):
        producer = _maker(producer.operands[0])
    if producer is not None and producer.name == "tensorrt.element_wise":
        producer = next((_maker(part) for part in producer.operands if _is_product(part)), producer)
    if producer is None or producer.name not in _INTEGER_OPS:
        return None
    source = _maker(producer.operands[0])
    if source is None or source.name != "tensorrt.dequantize":
        return None
    return scope.dtype(scope.tensor(source.operands[0]))


def _maker(value: ir.Value | None) -> ir.Operation | None:
    return None if value is None or isinstance(value.owner, ir.Block) else value.owner.operation


def is_rounded_relu(operation: ir.Operation) -> bool:
    """Whether an op is a ReLU in f32 whose results are only rounded to i8, and read again as real numbers."""
    if not is_relu(operation) or element_type(operation.results[0]) != "f32":
        return False
    readers = _readers(operation.results[0])
    return bool(readers) and all(_rounds(reader) for reader in readers)


def is_rounded_again(value: ir.Value, scope: Scope) -> bool:
    """Whether a value is the result of a `quantize` of real numbers, of which then only the largest of each
    window are, by the same scale, rounded again: this changes nothing, and ONNX Runtime pools real numbers
    faster."""
    operation = _maker(value)
    if operation is None or not _rounds(operation):
        return False
    producer = _maker(operation.operands[0])
    if producer is None or producer.name in (*_INTEGER_OPS, "tensorrt.activation"):
        return False  # what they give may be rounded as it is made
    again = _readers(operation.results[0])
    pools = [pool for reader in again for pool in _readers(reader.results[0])]
    if not all(map(_pools_largest, pools)) or element_type(operation.operands[0]) != "f32":
        return False
    rounded = [reader for pool in pools for reader in _readers(pool.results[0])]
    same = (_same_scale(reader, operation, scope) for reader in (*again, *rounded))
    return bool(rounded) and all(map(_rounds, rounded)) and all(same)


def _pools_largest(operation: ir.Operation) -> bool:
    return operation.name == "tensorrt.pooling" and Op.of(operation).attr("poolingType") == "kMAX"


def _same_scale(one: ir.Operation, other: ir.Operation, scope: Scope) -> bool:
    first, second = (scope.constant(operation.operands[1]) for operation in (one, other))
    return first is not None and second is not None and np.array_equal(first.array, second.array)


def gives_integers(convolution: ir.Operation) -> bool:
    """Whether all that a convolution gives is rounded to i8, at once or behind a ReLU: else ONNX Runtime, which
    multiplies integers only if integers come out, computes it in f32."""
    readers = _readers(convolution.results[0])
    return bool(readers) and all(_rounds(reader) or is_rounded_relu(reader) for reader in readers)


def is_integer_product(value: ir.Value) -> bool:
    """Whether a value is a product of two matrices that are dequantized from i8, or that and a sum."""
    operation = _maker(value)
    if operation is not None and operation.name == "tensorrt.element_wise":
        return any(is_integer_product(part) for part in operation.operands if _is_product(part))
    return _is_product(value) and all(_is_from_integers(part) for part in value.owner.operands)


def _is_product(value: ir.Value) -> bool:
    operation = _maker(value)
    return operation is not None and operation.name == "tensorrt.matrix_multiply"


def _is_from_integers(value: ir.Value) -> bool:
    operation = _maker(value)
    if operation is None or operation.name != "tensorrt.dequantize":
        return False
    return element_type(operation.operands[0]) == "i8"


def _rounds(operation: ir.Operation) -> bool:
    if operation.name != "tensorrt.quantize" or element_type(operation.results[0]) != "i8":
        return False
    if rank_of(operation.operands[1]) != 0:
        return False
    return all(reader.name == "tensorrt.dequantize" for reader in _readers(operation.results[0]))


def _readers(value: ir.Value) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses]


def integer_bias(op: Op, scope: Scope, names: tuple[str, str]) -> str | None:
    """The bias of a convolution of i8 numbers, see `_rounded_bias`; None if it computes in real numbers.

    `names` are those of the kernel and the bias.
    """
    bias = op.raw(f"{names[1]}Static")
    if bias is None or not gives_integers(op.operation):
        return None
    array = value_of(bias, scope.writer.weights)  # type: ignore[arg-type]
    return _rounded_bias(array, op.operand("input"), op.operand(names[0]), scope)


def integer_row(product: Op, bias: ir.Value, scope: Scope) -> str | None:
    """The same for a constant row that is added to a product of i8 matrices, whose second has a scale for each
    column of the result, or one scale."""
    weight, row = product.operand("input1"), scope.constant(bias)
    if row is None or weight is None or isinstance(weight.owner, ir.Block):
        return None
    axis = weight.owner.attributes["axis"].value if "axis" in weight.owner.attributes else None
    if axis is not None and axis != (0 if product.attr("op1") == "kTRANSPOSE" else 1):
        return None
    return _rounded_bias(row.array.reshape(-1), product.operand("input0"), weight, scope)


def _rounded_bias(
    array: np.ndarray, data: ir.Value | None, weight: ir.Value | None, scope: Scope
) -> str | None:
    """A bias rounded to i32 in the units of the products of `data` and `weight`, which are dequantized from i8;
    None if they are not. What is lost is less than one unit of the sum."""
    step, steps = _step(data, scope), _step(weight, scope)
    if step is None or step.ndim or steps is None:
        return None
    if array.dtype != np.float32 or steps.shape not in ((), array.shape):
        return None
    units = np.broadcast_to(step * steps, array.shape).astype(np.float32)
    whole = np.rint(array.astype(np.float64) / units)
    if not np.all(np.abs(whole) < 2**31):
        return None
    rounded = scope.initializer(Constant(whole.astype(np.int32)))
    scales = scope.initializer(Constant(np.ascontiguousarray(units)))
    return scope.block("DequantizeLinear", [rounded, scales], ["f32"], axis=0)[0]


def _step(value: ir.Value | None, scope: Scope) -> np.ndarray | None:
    """The constant scale of the `dequantize` of i8 numbers that makes `value`."""
    owner = None if value is None else value.owner
    if owner is None or isinstance(owner, ir.Block) or owner.operation.name != "tensorrt.dequantize":
        return None
    operation = owner.operation
    if element_type(operation.operands[0]) != "i8" or element_type(operation.results[0]) != "f32":
        return None
    scale = scope.constant(operation.operands[1])
    return None if scale is None else scale.array
