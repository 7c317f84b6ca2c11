"""Assertions."""

from __future__ import annotations

from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand
from .common import check_rank, example

__all__ = ["OPS"]


def _verify_assertion(op: Op) -> None:
    check_rank(op, "condition", 0, 1)


OPS = (
    OpDef(
        "tensorrt.assertion",
        "Fails with a message where a condition does not hold.",
        operands=(Operand("condition", "i1", doc="Rank 0 or 1."),),
        attrs=(Attr("message", "str", doc="What the failure says."),),
        results=(),
        assembly="attr-dict `ins` `(` operands `:` type(operands) `)`",
        # Not pure: it must survive although nothing uses it.
        traits=frozenset(),
        verify=_verify_assertion,
        layer="addAssertion",
        example=example(
            "%c: tensor<i1>",
            'tensorrt.assertion {message = "batch is odd"} ins(%c : tensor<i1>)',
        ),
    ),
)
