"""Whether the types that an op's results are declared to have can be those that ONNX gives them.

Only contradictions count: a type that says less than inference knows, or more, stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.verifier import reject
from .inference import TypeInference
from .ops import constant_value, opset
from .schemas import identity

__all__ = ["check_declared"]

# Runtimes give these other shapes than the rules say, or inference counts windows that are left out.
_NOT_COMPARED: Final = frozenset({"Range", "AveragePool", "MaxPool", "LpPool"})
_ENTRY: Final = "func.func"


def check_declared(op: Op) -> None:
    """Raise VerificationError where a result's declared type contradicts the inferred one.

    In branches and loops only element types are looked at: one for other shapes may never run.
    """
    operation = op.operation
    if operation is None or any(len(region.blocks) for region in operation.regions):
        return
    if all(isinstance(result.type, ir.NoneType) for result in operation.results):
        return
    domain, kind = identity(operation.name)
    imports = {"": opset(operation), domain: opset(operation, domain)}
    with operation.location:
        inferred = TypeInference(imports, _constant).by_schema(operation)
    parent = operation.parent
    is_outside = parent is not None and parent.operation.name == _ENTRY
    for number, (result, found) in enumerate(zip(operation.results, inferred, strict=True)):
        if found is not None and not _agree(result.type, found, is_outside and kind not in _NOT_COMPARED):
            declared: Sequence[str] = [entry.name for entry in op.definition.results]
            name = declared[min(number, len(declared) - 1)]
            reject(op, f"{name} is declared {result.type} but inferred {found}")


def _constant(value: ir.Value) -> np.ndarray | None:
    """The elements of a constant that are written in the program's text."""
    try:
        return constant_value(value, {})
    except KeyError:  # a weight
        return None


def _agree(declared: ir.Type, found: ir.Type, with_shapes: bool) -> bool:
    if not isinstance(declared, ir.RankedTensorType | ir.UnrankedTensorType):
        return isinstance(declared, ir.NoneType)
    element = declared.element_type
    if element != found.element_type and str(element) != "!onnx.any":
        return False
    if not with_shapes or not (
        isinstance(declared, ir.RankedTensorType) and isinstance(found, ir.RankedTensorType)
    ):
        return True
    return shapes.compatible(declared.shape, found.shape)
