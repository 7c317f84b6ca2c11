"""Comparisons, and choosing by a condition."""

from __future__ import annotations

from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter

__all__: list[str] = []

_PLAIN = {"Equal": "kEQUAL", "Greater": "kGREATER", "Less": "kLESS"}
_OR_EQUAL = {"GreaterOrEqual": "kGREATER", "LessOrEqual": "kLESS"}


@converter(*_PLAIN)
def _compare(node: Node, emit: Emitter) -> ir.Value:
    if node.attr("broadcast"):
        raise Refused("broadcasting by the attribute axis, of opset 6 and older")
    return emit.binary(_PLAIN[node.name], node[0], node[1])


@converter(*_OR_EQUAL)
def _compare_or_equal(node: Node, emit: Emitter) -> ir.Value:
    """Not the negation of the opposite comparison, which differs where a value is NaN."""
    strict = emit.binary(_OR_EQUAL[node.name], node[0], node[1])
    return emit.binary("kOR", strict, emit.binary("kEQUAL", node[0], node[1]))


@converter("Where")
def _where(node: Node, emit: Emitter) -> ir.Value:
    return emit.select(node[0], node[1], node[2])
