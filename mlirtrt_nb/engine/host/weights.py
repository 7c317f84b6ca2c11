"""Weights in compiled functions: read where they lie, through a descriptor that is set before the first call.

A constant whose bytes are in the program's weight table becomes the load of a memref from a global variable;
a function beside it, the binder, stores one there. So no weight is copied into the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
from torch_mlir import ir
from torch_mlir.dialects import bufferization, memref

from ...errors import EngineBuildError
from ...ir.constants import handle_name, handles_in
from .fragments import append_text
from .runtime_ir import PREFIX

__all__ = ["binder", "binders_of", "take_weights"]

_BINDER = re.compile(rf"{PREFIX}bind(\d+)")


def binder(number: int) -> str:
    """The name of the function that sets weight `number`."""
    return f"{PREFIX}bind{number}"


def binders_of(names: Iterable[str]) -> list[str]:
    """Those of `names` that are binders, in order."""
    found = [name for name in names if _BINDER.fullmatch(name)]
    return sorted(found, key=lambda name: int(name.removeprefix(f"{PREFIX}bind")))


def take_weights(root: ir.Operation, weights: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Replace every constant that is a handle; the names of the weights, in the order of their binders.

    Raises EngineBuildError for a handle that the table lacks.
    """
    numbers: dict[tuple[str, str], int] = {}
    constants: list[tuple[ir.Operation, str]] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "arith.constant":
            name = handle_name(operation.attributes["value"])
            if name is not None:
                constants.append((operation, name))
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    for operation, name in constants:
        if name not in weights:
            raise EngineBuildError(f"weight {name!r} is not in the table")
        kind = ir.RankedTensorType(operation.results[0].type)
        number = numbers.setdefault((name, str(kind)), len(numbers))
        _load_instead(operation, kind, number)
    for (_, kind), number in numbers.items():
        _add_binder(root, ir.RankedTensorType(ir.Type.parse(kind)), number)
    rest = handles_in(root)
    if rest:
        raise EngineBuildError(
            f"weight {min(rest)!r} is used by an op whose constants cannot be bound on the host"
        )
    return tuple(name for name, _ in numbers)


def _memref(kind: ir.RankedTensorType) -> ir.MemRefType:
    return ir.MemRefType.get(kind.shape, kind.element_type)


def _load_instead(operation: ir.Operation, kind: ir.RankedTensorType, number: int) -> None:
    inner = _memref(kind)
    with ir.InsertionPoint(operation), operation.location:
        slot = memref.GetGlobalOp(ir.MemRefType.get([], inner), f"{PREFIX}weight{number}")
        loaded = memref.LoadOp(slot.result, [])
        tensor = bufferization.ToTensorOp(kind, loaded.result, restrict=True)
    operation.results[0].replace_all_uses_with(tensor.result)
    operation.erase()


def _add_binder(root: ir.Operation, kind: ir.RankedTensorType, number: int) -> None:
    inner, slot = _memref(kind), f"{PREFIX}weight{number}"
    text = f"""
      memref.global "private" @{slot} : memref<{inner}> = uninitialized
      func.func @{binder(number)}(%array: {inner}) {{
        %slot = memref.get_global @{slot} : memref<{inner}>
        memref.store %array, %slot[] : memref<{inner}>
        return
      }}"""
    append_text(root, text)
