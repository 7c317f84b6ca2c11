"""What the advice on an op hangs on: whether fp16 keeps it in fp32 by itself, if scaling its input helps."""

from __future__ import annotations

from torch_mlir import ir

from ..passes.precision.exceptions import mark_floating
from ..passes.precision.marks import REASON
from ..passes.tensorrt.matching import kind_of, maker
from .interpreter import Interpreter, Step, read_values

__all__ = ["default_reasons", "is_proportional", "is_read_in_f16"]

_LINEAR = {
    "convolution",
    "deconvolution",
    "matrix_multiply",
    "pooling",
    "shuffle",
    "slice",
    "concatenation",
    "gather",
}
_KINDS = {
    "element_wise": {"kSUM", "kSUB", "kMAX", "kMIN"},
    "reduce": {"kSUM", "kAVG", "kMAX", "kMIN"},
    "activation": {"kRELU", "kLEAKY_RELU"},
    "unary": {"kNEG", "kABS"},
}


def default_reasons(program: Interpreter) -> list[str]:
    """Per step, why fp16 computes it in fp32 where nothing is said of it; "" where it does not."""
    marked = program.program.clone()
    with marked.context, ir.Location.unknown():
        mark_floating(marked, "f16")
        found = [step.operation.attributes for step in Interpreter(marked).steps]
        return [str(ir.StringAttr(each[REASON]).value) if REASON in each else "" for each in found]


def is_proportional(operation: ir.Operation) -> bool:
    """Whether results grow and shrink with what comes in, as those of a sum do and those of an exponential do
    not."""
    name = operation.name.removeprefix("tensorrt.")
    if name == "element_wise" and kind_of(operation) in ("kPROD", "kDIV"):
        return maker(operation.operands[1], "constant") is not None or (
            kind_of(operation) == "kPROD" and operation.operands[0] != operation.operands[1]
        )
    return name in _LINEAR or (name in _KINDS and kind_of(operation) in _KINDS[name])


def is_read_in_f16(program: Interpreter, reasons: list[str]) -> list[bool]:
    """Per step, whether fp16 rounds its first result for an op that reads it.

    A product with what a softmax gives does not count: values that vanish beside a sum of 1 change no mean.
    """
    made = {value: step for step in program.steps for value in list(step.operation.results)[:1]}
    found = [False] * len(program.steps)
    for reader in program.steps:
        for value in read_values(reader.operation):
            maker_step: Step | None = made.get(value)
            if maker_step is not None and not reasons[reader.index]:
                weighs = (maker_step.op, reader.op) == ("tensorrt.softmax", "tensorrt.matrix_multiply")
                found[maker_step.index] |= not weighs
    return found
