"""What the passes over tensorrt ops share: finding ops, seeing what makes or reads a value, replacing them."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

import numpy as np
from torch_mlir import ir

from ...dialects.tensorrt.limits import refusal
from ...errors import VerificationError
from ...ir.attributes import to_python
from ...ir.constants import value_of
from ...ir.values import is_read
from ...ir.verifier import verify_op
from ...program import Program
from ..firing import report
from ..input.rewriting import fused, only_user

__all__ = [
    "binary",
    "constant",
    "erase_unused",
    "fused",
    "is_taken",
    "kind_of",
    "maker",
    "only_user",
    "operations",
    "other_operand",
    "replace",
    "replace_all",
    "scalar",
]

# The attribute that says which function of its family an op is.
_KINDS = {
    "tensorrt.element_wise": "elementwiseOperation",
    "tensorrt.unary": "unaryOperation",
    "tensorrt.activation": "activationType",
    "tensorrt.reduce": "reduceOperation",
}


def operations(program: Program, *mnemonics: str) -> list[ir.Operation]:
    """The tensorrt ops of these mnemonics, in program order, those in regions included."""
    wanted = {f"tensorrt.{mnemonic}" for mnemonic in mnemonics}
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in wanted:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    program.module.operation.walk(visit)
    return found


def kind_of(operation: ir.Operation) -> str:
    """Which function an element_wise, unary, activation or reduce op is ("kSUM"); "" for other ops."""
    attribute = _KINDS.get(operation.name)
    return to_python(operation.attributes[attribute]) if attribute else ""


def maker(value: ir.Value, mnemonic: str, kind: str = "") -> ir.Operation | None:
    """The op that makes `value`, if it is `tensorrt.<mnemonic>` and, where given, of that `kind`."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    operation = owner.operation
    if operation.name != f"tensorrt.{mnemonic}" or (kind and kind_of(operation) != kind):
        return None
    return operation


def binary(value: ir.Value, kind: str) -> tuple[ir.Value, ir.Value] | None:
    """The operands of the element_wise op of `kind` that makes `value`; None if something else does."""
    operation = maker(value, "element_wise", kind)
    return None if operation is None else (operation.operands[0], operation.operands[1])


def other_operand(operation: ir.Operation, value: ir.Value) -> ir.Value:
    """The operand of a binary op that is not `value`; `value` itself if it is both."""
    first, second = operation.operands
    return second if first == value else first


def constant(value: ir.Value, weights: MutableMapping[str, np.ndarray]) -> np.ndarray | None:
    """The array of a `tensorrt.constant`; None for any other value."""
    operation = maker(value, "constant")
    return None if operation is None else value_of(operation.attributes["weights"], weights)


def scalar(value: ir.Value, weights: MutableMapping[str, np.ndarray]) -> float | None:
    """The number that a constant of one element holds; None for any other value."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or any(d != 1 for d in kind.shape):
        return None
    array = constant(value, weights)
    return None if array is None else float(array.reshape(()))


def is_taken(operation: ir.Operation) -> bool:
    """Whether an op that a pass made has this form: its rules hold and the builder does not refuse it."""
    try:
        verify_op(operation)
    except VerificationError:
        return False
    return refusal(operation) is None


def replace(operation: ir.Operation, value: ir.Value, rule: str = "") -> None:
    """Let readers of the op's one result read `value`, and erase what nobody reads any more. `rule` is what
    did it, where a pass has several."""
    replace_all(operation, [value], rule)


def replace_all(operation: ir.Operation, values: Sequence[ir.Value], rule: str = "") -> None:
    """`replace` for each result."""
    report(operation, rule)
    for result, value in zip(operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase_unused(operation)


def erase_unused(operation: ir.Operation) -> None:
    """Erase a tensorrt op that nobody reads, then the ops that only it read."""
    waiting = [operation]
    while waiting:
        current = waiting.pop()
        if not current.name.startswith("tensorrt.") or is_read(current):
            continue
        sources = [value.owner.operation for value in current.operands if not isinstance(value.owner, ir.Block)]
        # An op may wait twice, as the source of two; it must not be looked at once it is gone.
        waiting = [other for other in waiting if other != current]
        current.erase()
        waiting += [op for n, op in enumerate(sources) if op not in sources[:n] and op not in waiting]
