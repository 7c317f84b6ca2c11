"""Which rule helps an op that the builder refuses."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping, Sequence

import numpy as np
from torch_mlir import ir

from ....ir.builder import Op
from ..conversions.emitter import Emitter
from ..conversions.node import Refused
from ..matching import is_taken, replace_all
from . import attention, bytes, forms, ranks, types

__all__ = ["WORKAROUNDS", "can_be_worked_around", "worked_around"]

# In the order in which they are tried.
WORKAROUNDS = (
    *ranks.WORKAROUNDS,
    *forms.WORKAROUNDS,
    *attention.WORKAROUNDS,
    *bytes.WORKAROUNDS,
    *types.WORKAROUNDS,
)


def worked_around(operation: ir.Operation, weights: MutableMapping[str, np.ndarray]) -> bool:
    """Replace an op that the builder refuses by ops that it takes. False if no rule has such; then it stays."""
    for name, values, _ in _attempts(operation, weights):
        replace_all(operation, values, name)
        return True
    return False


def can_be_worked_around(operation: ir.Operation, weights: MutableMapping[str, np.ndarray]) -> bool:
    """Whether `worked_around` would replace the op. It stays as it is."""
    for _, _, emit in _attempts(operation, ChainMap({}, weights)):
        emit.undo()
        return True
    return False


def _attempts(
    operation: ir.Operation, weights: MutableMapping[str, np.ndarray]
) -> Iterator[tuple[str, Sequence[ir.Value], Emitter]]:
    """The rules that help: name, the values for the op's results, and what made them."""
    op = Op.of(operation)
    for entry in WORKAROUNDS:
        if entry.mnemonics and op.definition.mnemonic not in entry.mnemonics:
            continue
        emit = Emitter(weights)
        emit.begin(operation)
        try:
            values = entry.rule(op, emit)
        except Refused:
            values = None
        if values is not None and all(is_taken(made) for made in emit.created):
            yield entry.name, values, emit
        else:
            emit.undo()
