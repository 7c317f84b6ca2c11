"""The numbers that a program compares its integer inputs with, such as a sample rate that it knows."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ..ir.constants import value_of
from ..passes.input.rewriting import functions
from ..passes.plan.signature import dictionaries, name_of
from ..passes.tensorrt.matching import kind_of
from ..program import Program

__all__ = ["compared_values"]

# The attribute that holds the numbers of each dialect's constants.
_CONSTANTS = {"tensorrt.constant": "weights", "onnx.constant": "value"}


def compared_values(program: Program) -> dict[str, int]:
    """The first number that each integer input is tested for equality with, by input name; an input that is
    compared with none is left out."""
    found: dict[str, int] = {}
    with program.context:
        function = next(functions(program))
        attributes = dictionaries(function, "arg_attrs")
        for number, argument in enumerate(function.regions[0].blocks[0].arguments):
            for use in argument.uses:
                value = _other_side(use.owner.operation, argument, program)
                if value is not None:
                    found.setdefault(name_of(attributes, number, "arg"), value)
    return found


def _other_side(operation: ir.Operation, value: ir.Value, program: Program) -> int | None:
    """The one integer that an op tests `value` for equality with; None for any other op."""
    if operation.name != "onnx.equal" and kind_of(operation) != "kEQUAL":
        return None
    for operand in operation.operands:
        if operand == value or isinstance(operand.owner, ir.Block):
            continue
        maker = operand.owner.operation
        if maker.name in _CONSTANTS and _CONSTANTS[maker.name] in maker.attributes:
            array = value_of(maker.attributes[_CONSTANTS[maker.name]], program.weights)
            if array.size == 1 and np.issubdtype(array.dtype, np.integer):
                return int(array.reshape(()))
    return None
