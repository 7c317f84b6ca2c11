"""quantize, dequantize and dynamic_quantize."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from ....ir.builder import Op
from ..scope import Constant, Scope, element_type
from .dims import dims_of, rank_of, refuse
from .integer_kernels import (
    form_of,
    gives_integers,
    is_integer_kernel,
    is_integer_product,
    is_rounded_again,
    source_kind,
)
from .integer_weights import has_integer_weights
from .registry import emits

__all__ = ["dequantized_kernel", "dequantized_matrix"]

_UNHELD = {"f4E2M1FN", "f8E8M0FNU"}


@emits("quantize")
def quantize(op: Op, scope: Scope) -> None:
    result = op.operation.results[0]
    small = element_type(result)
    _check(small)
    if is_rounded_again(result, scope):
        return  # whoever reads it takes what was to be rounded
    if small == "i8":
        scope.bind(result, _quantize_to_integers(op, scope))
        return
    # In f32: ONNX Runtime fuses what surrounds a pair in f16 too, into kernels that take f32 only.
    inputs = [scope.cast(name, "f32") for name in (scope.tensor(op.operand("input")), _scale(op, scope))]
    kind = dtypes.by_mlir(small).onnx
    scope.set(result, scope.block("QuantizeLinear", inputs, [small], output_dtype=kind, **_granularity(op))[0])


def _quantize_to_integers(op: Op, scope: Scope) -> str:
    """The rounded numbers in the form that suits those who read them."""
    form = form_of(op, scope)
    if form.kind != "i8" and source_kind(op, scope) == "i8":
        # The kernel wants one type for what it reads and gives.
        form = replace(form, kind="i8", zero=0)
    value = form.rectifies if form.rectifies is not None else op.operand("input")
    zero = _zeros(op, scope, form.zero, form.kind)
    inputs = [scope.cast(name, "f32") for name in (scope.tensor(value), _scale(op, scope))]
    # The zero point says the type too; where there is none, ONNX Runtime's fusions take u8.
    rounded = scope.block("QuantizeLinear", [*inputs, zero], [form.kind], **_granularity(op))[0]
    scope.zeros[op.operation.results[0]] = form.zero
    if not form.bounded:
        return rounded
    if form.kind == "i8":
        return scope.op("Clip", [rounded, scope.literal(0, "i8")])
    return scope.op("Clip", [rounded, None, scope.literal(127, "ui8")])


@emits("dequantize")
def dequantize(op: Op, scope: Scope) -> None:
    value, result = op.operation.operands[0], op.operation.results[0]
    _check(element_type(value))
    if is_rounded_again(value, scope):
        scope.bind(result, scope.tensor(value.owner.operation.operands[0]))
        return
    if _is_shared_matrix(op, scope):
        return  # whoever reads it asks for a matrix
    if is_integer_kernel(result, scope):
        return  # the convolutions that read it write it in the form of what they multiply it by
    if has_integer_weights(result, scope):
        return  # the products that read it multiply integers
    small = scope.tensor(value)
    if _is_real_kernel(op, scope):
        scale = scope.constant(op.operand("scale"))
        assert scale is not None
        scope.set(result, _multiplied(small, scale, op.attr("axis"), rank_of(value), scope))
        return
    home = _home(op, scope)
    zero = _zero(op, home, home.dtype(small))
    inputs = [small, home.cast(_scale(op, home), "f32"), zero]
    scope.set(result, home.block("DequantizeLinear", inputs, ["f32"], **_granularity(op))[0])


def _home(op: Op, scope: Scope) -> Scope:
    """The graph that a dequantization stands in: its own, or around all branches and loops for 4-bit weights.

    ONNX Runtime joins those with the product behind them, but does not find weights outside of a branch, where
    all initializers are, and refuses the model. In a loop they are dequantized once this way.
    """
    parts = (op.operand("input"), op.operand("scale"))
    if element_type(parts[0]) == "i4" and all(scope.constant(part) is not None for part in parts):
        while scope.outer is not None:
            label, scope = scope.label, scope.outer
            scope.label = label
    return scope


@emits("dynamic_quantize")
def dynamic_quantize(op: Op, scope: Scope) -> None:
    """TensorRT's results are f4 with f8 scales, or f8 with exponents as scales."""
    for value in op.operation.results:
        _check(element_type(value))
    raise refuse("dynamic_quantize to these types has no ONNX form")


def _check(kind: str) -> None:
    if kind in _UNHELD:
        raise refuse(f"ONNX Runtime's CPU kernels do not hold {kind}")


def _scale(op: Op, scope: Scope) -> str:
    _check(element_type(op.operand("scale")))
    return scope.tensor(op.operand("scale"))


def _is_shared_matrix(op: Op, scope: Scope) -> bool:
    """Whether an op gives the weights of products only, the same for a whole batch: [1, K, N]."""
    constant = scope.constant(op.operand("input"))
    shape = () if constant is None else constant.array.shape
    if len(shape) < 3 or any(size != 1 for size in shape[:-2]):
        return False
    uses = [(use.owner.operation, use.operand_number) for use in op.operation.results[0].uses]
    return all(number == 1 and _takes_matrix(reader) for reader, number in uses)


def _takes_matrix(operation: ir.Operation) -> bool:
    """Whether an op is a product whose second operand is a matrix; a vector would be a row of one."""
    return operation.name == "tensorrt.matrix_multiply" and Op.of(operation).attr("op1") != "kVECTOR"


def dequantized_matrix(value: ir.Value, scope: Scope) -> str | None:
    """Quantized weights of products as the two-dimensional matrix that ONNX Runtime's kernels want; None for
    any other value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tensorrt.dequantize":
        return None
    op = Op.of(owner.operation)
    if not _is_shared_matrix(op, scope):
        return None
    constant, scale = (scope.constant(op.operand(name)) for name in ("input", "scale"))
    if constant is None or scale is None:
        raise refuse("weights in blocks whose scales are not constant have no ONNX form")
    matrix = constant.reshaped(constant.array.shape[-2:])
    lead = constant.array.ndim - 2
    attributes = _granularity(op)
    if attributes:
        attributes["axis"] = (attributes["axis"] or 0) - lead
    steps = scale.reshaped(scale.array.shape[lead:]) if scale.array.ndim > 2 else scale
    small = element_type(op.operand("input"))
    if _is_real_kernel(op, scope):
        real = _multiplied(scope.initializer(matrix), steps, attributes.get("axis"), 2, scope)
        return scope.cast(real, element_type(value))
    zero = scope.literal(np.zeros(steps.array.shape), "i8") if small == "i8" else None
    inputs = [scope.initializer(matrix), scope.cast(scope.initializer(steps), "f32"), zero]
    name = _home(op, scope).block("DequantizeLinear", inputs, ["f32"], **attributes)[0]
    return scope.cast(name, element_type(value))


def dequantized_kernel(value: ir.Value, by: ir.Value, scope: Scope) -> str | None:
    """The i8 kernel of a convolution of integers in the form that suits the numbers `by`: as u8 around 128 if
    those are; None for any other value."""
    if not is_integer_kernel(value, scope):
        return None
    op = Op.of(value.owner.operation)
    kernel, scale = scope.tensor(op.operand("input")), scope.tensor(op.operand("scale"))
    number = scope.zeros.get(by.owner.operation.operands[0], 0) if not isinstance(by.owner, ir.Block) else 0
    if number:
        # ONNX Runtime folds these when it opens the model; the kernel lies in the file once.
        kernel = scope.cast(scope.op("Add", [scope.cast(kernel, "i32"), scope.literal(number, "i32")]), "ui8")
    zero = _zeros(op, scope, number, scope.dtype(kernel))
    return scope.block("DequantizeLinear", [kernel, scale, zero], ["f32"], **_granularity(op))[0]


def _is_real_kernel(op: Op, scope: Scope) -> bool:
    """Whether an op gives the i8 weights of convolutions or products that are computed in f32 all the same."""
    constant, scale = (scope.constant(op.operand(name)) for name in ("input", "scale"))
    if constant is None or constant.array.dtype != np.int8 or scale is None or scale.array.dtype != np.float32:
        return False
    uses = [(use.owner.operation, use.operand_number) for use in op.operation.results[0].uses]
    return scale.array.ndim <= 1 and all(number == 1 and _is_real(reader) for reader, number in uses)


def _is_real(operation: ir.Operation) -> bool:
    """Whether a convolution or product is computed in f32, whatever its weights are stored as."""
    if operation.name == "tensorrt.matrix_multiply":
        return not is_integer_product(operation.results[0])
    return operation.name == "tensorrt.convolution" and not gives_integers(operation)


def _multiplied(small: str, scale: Constant, axis: int | None, rank: int, scope: Scope) -> str:
    """The same numbers as a product, which ONNX Runtime folds when it opens the model: a `DequantizeLinear` it
    would compute anew in each run."""
    shape = [1] * rank
    if scale.array.ndim:
        shape[axis or 0] = scale.array.size
    return scope.op("Mul", [scope.cast(small, "f32"), scope.initializer(scale.reshaped(shape))])


def _zero(op: Op, scope: Scope, kind: str) -> str | None:
    """The zero point with which 8-bit integers were written."""
    if kind not in ("i8", "ui8"):
        return None
    return _zeros(op, scope, scope.zeros.get(op.operand("input"), 0), kind)


def _zeros(op: Op, scope: Scope, number: int, kind: str) -> str:
    """One zero point throughout, in the shape of the scale."""
    shape = dims_of(op.operand("scale"))
    if -1 not in shape:
        return scope.literal(np.full(shape, number), kind)
    return scope.op(
        "Expand", [scope.literal(number, kind), scope.op("Shape", [scope.tensor(op.operand("scale"))])]
    )


def _granularity(op: Op) -> dict[str, int | None]:
    """Axis and block size: none for one scale, an axis for one per channel, both for blocks."""
    value, scale = op.operand("input"), op.operand("scale")
    if rank_of(scale) == 0:
        return {}
    if rank_of(scale) == 1 and (op.attr("axis") is not None or rank_of(value) == 1):
        return {"axis": op.attr("axis") or 0}
    dims, blocks = dims_of(value), dims_of(scale)
    blocked = [n for n, (size, count) in enumerate(zip(dims, blocks, strict=True)) if size != count]
    if not blocked:
        return {"axis": len(dims) - 1, "block_size": 1}
    if len(blocked) != 1 or -1 in (dims[blocked[0]], blocks[blocked[0]]):
        raise refuse("blocks along more than one dimension, or a dynamic one, have no ONNX form")
    axis = blocked[0]
    return {"axis": axis, "block_size": -(-dims[axis] // blocks[axis])}
