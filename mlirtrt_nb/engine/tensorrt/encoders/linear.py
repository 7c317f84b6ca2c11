"""Matrix products."""

from __future__ import annotations

from typing import Any

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes, member


@encodes("matrix_multiply")
def matrix_multiply(s: Scope, op: Op) -> Any:
    first, second = (member(s.trt.MatrixOperation, op.attr(name)) for name in ("op0", "op1"))
    return s.out(s.net.add_matrix_multiply(s.input(op, "input0"), first, s.input(op, "input1"), second))


@encodes("einsum")
def einsum(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_einsum(s.inputs(op, "inputs"), op.attr("equation")))
