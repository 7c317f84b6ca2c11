"""Which tensors need not be looked at for a NaN, because it would show in another one that is looked at."""

from __future__ import annotations

from collections.abc import Collection

from torch_mlir import ir

from ..dialects.tensorrt.number_flow import MOVES, is_relu
from ..ir.builder import Op
from ..passes.tensorrt.matching import kind_of

__all__ = ["shown_later"]

# Each number that these read is in a number that they make, and what is made of a NaN is NaN.
_SHOWING = MOVES - {"tensorrt.slice"} | {"tensorrt.matrix_multiply", "tensorrt.concatenation"}
_SHOWING_SUMS = ("kSUM", "kSUB", "kPROD", "kDIV")


def shown_later(watched: Collection[ir.Value], block: ir.Block) -> set[ir.Value]:
    """Those of `watched`, which are made in `block`, whose NaNs would be in another one of `watched` that is
    not among those returned.

    A ReLU of a NaN is taken to be NaN, as ONNX Runtime has it; what follows a largest value is not, for it
    passes a NaN over.
    """
    wanted = set(watched)
    shown: set[ir.Value] = set()
    for op in reversed(list(block.operations)):
        operation = op.operation
        if any(result in wanted or result in shown for result in operation.results):
            shown.update(value for value in operation.operands if _shows(operation, value))
    return wanted & shown


def _shows(user: ir.Operation, value: ir.Value) -> bool:
    """Whether a NaN of `value`, which `user` reads, is in what that makes."""
    if user.name == "tensorrt.element_wise":
        return kind_of(user) in _SHOWING_SUMS
    if user.name == "tensorrt.convolution":
        return user.operands[0] == value and _reads_all(user)
    return user.name in _SHOWING or is_relu(user)


def _reads_all(convolution: ir.Operation) -> bool:
    """Whether a convolution leaves out nothing of its input, as one with a stride may."""
    op = Op.of(convolution)
    steps = [*(op.attr("stride") or ()), *(op.attr("dilation") or ())]
    padding = [*(op.attr("pre_padding") or ()), *(op.attr("post_padding") or ())]
    return all(step == 1 for step in steps) and all(size >= 0 for size in padding)
