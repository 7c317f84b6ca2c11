"""A row of real numbers times a large matrix of i8 weights, multiplied as integers and as exact as in f32.

The product of one row takes as long as its weights take to be read, and as f32 they are four times as long; a
`DequantizeLinear` would even make them anew in each run. The row is therefore written as four digits of base
254, of which the first holds 7 bits and each other 8, seven more in all than a number of f32 has:
`x = s * (d0 + d1 / 254 + d2 / 254**2 + d3 / 254**3)`, all digits from -127 to 127 and `s` the largest magnitude
over 127. The weights are read once for all four; the sums of their products are exact in i32, and are put
together in f32. Four rows are also what ONNX Runtime's kernels multiply at once.
"""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Constant, Scope, element_type
from .dims import dims_of

__all__ = ["has_integer_weights", "product_of_digits"]

_LARGE = 1 << 21  # of fewer weights reading saves less than the roundings of the row take
_LONGEST = (2**31 - 1) // (127 * 128)  # terms whose sum i32 holds
_DIGITS = 4
_BASE = 254.0
_LEAST = 1e-28  # below this the last digit's scale would be denormal


def has_integer_weights(value: ir.Value, scope: Scope) -> bool:
    """Whether a value is the dequantized i8 weights that only products of one row read, each computed by
    `product_of_digits`."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tensorrt.dequantize":
        return False
    readers = [use.owner.operation for use in value.uses]
    products = [Op.of(reader) for reader in readers if reader.name == "tensorrt.matrix_multiply"]
    return bool(readers) and len(products) == len(readers) and all(_is_taken(p, value, scope) for p in products)


def _is_taken(product: Op, weights: ir.Value, scope: Scope) -> bool:
    row = product.operand("input0")
    if product.operand("input1") != weights or row == weights or product.attr("op0") != "kNONE":
        return False
    if dims_of(row)[:-1] != [1] or product.attr("op1") not in ("kNONE", "kTRANSPOSE"):
        return False
    if element_type(row) != "f32" or _is_dequantized(row):
        return False  # two matrices of integers have a kernel of their own
    dequantize = Op.of(weights.owner.operation)
    matrix, scale = (scope.constant(dequantize.operand(name)) for name in ("input", "scale"))
    if matrix is None or matrix.array.dtype != np.int8 or matrix.array.ndim != 2:
        return False
    if scale is None or scale.array.dtype != np.float32 or scale.array.ndim > 1:
        return False
    turned = product.attr("op1") == "kTRANSPOSE"
    length = matrix.array.shape[1 if turned else 0]
    by_column = not scale.array.ndim or (dequantize.attr("axis") or 0) == (0 if turned else 1)
    return by_column and matrix.array.size >= _LARGE and length <= _LONGEST


def _is_dequantized(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == "tensorrt.dequantize"


def product_of_digits(product: Op, scope: Scope) -> str:
    """The f32 product [1, N] of a row and a matrix of which `has_integer_weights` is true."""
    value, weights = product.operand("input0"), product.operand("input1")
    assert value is not None and weights is not None
    row = scope.tensor(value)
    step = _step(row, scope)
    dequantize = Op.of(weights.owner.operation)
    matrix = _unsigned(scope.tensor(dequantize.operand("input")), product.attr("op1") == "kTRANSPOSE", scope)
    zero = scope.literal(128, "ui8")
    sums = scope.op("MatMulInteger", [_digits(row, step, scope), matrix, zero, zero])
    places = scope.literal([[_BASE**-place for place in range(_DIGITS)]], "f32")
    whole = scope.op("MatMul", [places, scope.cast(sums, "f32")])
    scale = scope.constant(dequantize.operand("scale"))
    assert scale is not None
    # First by the scale of the weights: in the row's units alone the sums may be beyond f32.
    scaled = scope.op("Mul", [whole, scope.initializer(Constant(scale.array, scale.handle))])
    return scope.op("Mul", [scaled, scope.op("Add", [step, _not_finite(row, scope)])])


def _step(row: str, scope: Scope) -> str:
    """What the first digit counts: a scalar."""
    largest = scope.op("ReduceMax", [scope.op("Abs", [row])], keepdims=0)
    bounded = scope.op("Max", [largest, scope.literal(_LEAST, "f32")])
    return scope.op("Mul", [bounded, scope.literal(1 / 127, "f32")])


def _digits(row: str, step: str, scope: Scope) -> str:
    """The digits of a row as u8 around 128, one row each: what a digit leaves, the next one rounds."""
    zero = scope.literal(128, "ui8")
    digits: list[str] = []
    for place in range(_DIGITS):
        digits.append(scope.block("QuantizeLinear", [row, step, zero], ["ui8"])[0])
        if place == _DIGITS - 1:
            break
        row = scope.op("Sub", [row, scope.block("DequantizeLinear", [digits[-1], step, zero], ["f32"])[0]])
        step = scope.op("Mul", [step, scope.literal(1 / _BASE, "f32")])
    return scope.op("Concat", digits, axis=0)


def _unsigned(matrix: str, turned: bool, scope: Scope) -> str:
    """The weights as u8 around 128, which every processor multiplies by u8 exactly. ONNX Runtime folds this
    when it opens the model; the weights lie in the file once, as i8."""
    moved = scope.cast(scope.op("Add", [scope.cast(matrix, "i32"), scope.literal(128, "i32")]), "ui8")
    return scope.op("Transpose", [moved], perm=[1, 0]) if turned else moved


def _not_finite(row: str, scope: Scope) -> str:
    """0, or NaN if the row holds a NaN or an infinity, which have no digits.

    In f32 an infinity gives infinities in the columns where such products have one sign, which sums of digits
    do not tell.
    """
    nothing = scope.op("Mul", [row, scope.literal(0.0, "f32")])
    return scope.op("ReduceSum", [nothing], keepdims=0)
