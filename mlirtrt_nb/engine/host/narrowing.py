"""f64 to f16 or bf16, rounded once.

LLVM does the first by a function that no library here has, and MLIR the second by way of f32, which rounds
twice. On the way through f32 the number is rounded to odd instead: what was cut off then still shows, and the
second rounding comes out as a single one would.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith, math

from ...ir.walking import ops_where

__all__ = ["narrow_by_way_of_f32"]


def narrow_by_way_of_f32(module: ir.Operation) -> None:
    """Replace every `arith.truncf` of an f64 to 16 bits by one of an f32 that holds enough of it."""
    for operation in ops_where(module, _is_narrowing):
        with ir.InsertionPoint(operation), operation.location:
            made = arith.TruncFOp(operation.results[0].type, _rounded_to_odd(operation.operands[0]))
        operation.results[0].replace_all_uses_with(made.result)
        operation.erase()


def _is_narrowing(operation: ir.Operation) -> bool:
    if operation.name != "arith.truncf" or not isinstance(operation.operands[0].type, ir.F64Type):
        return False
    return isinstance(operation.results[0].type, ir.F16Type | ir.BF16Type)


def _rounded_to_odd(wide: ir.Value) -> ir.Value:
    """An f32 next to `wide` toward zero, its last bit set if it is not the same number."""
    f32, f64, i32 = ir.F32Type.get(), ir.F64Type.get(), ir.IntegerType.get_signless(32)
    one = arith.ConstantOp(i32, 1).result
    near = arith.TruncFOp(f32, wide).result
    back = arith.ExtFOp(f64, near).result
    larger = arith.CmpFOp(arith.CmpFPredicate.OGT, math.AbsFOp(back).result, math.AbsFOp(wide).result).result
    differs = arith.CmpFOp(arith.CmpFPredicate.ONE, back, wide).result
    bits = arith.BitcastOp(i32, near).result
    # In magnitude the bits of an f32 count up, so the number before it is one less.
    toward_zero = arith.SubIOp(bits, arith.ExtUIOp(i32, larger).result).result
    odd = arith.SelectOp(differs, arith.OrIOp(toward_zero, one).result, bits).result
    return arith.BitcastOp(f32, odd).result
