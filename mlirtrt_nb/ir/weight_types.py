"""Whether a program's weights are those that its IR names: each is there, with the dtype and shape of its type.

Only names, dtypes and shapes are looked at, never values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from torch_mlir import ir

from ..errors import VerificationError
from ..kind_name import kind_name
from . import dtypes
from .locations import sources_of
from .rejoin import HandleReader

__all__ = ["broken_weights", "check_weights", "problem_of"]

_NAMED = 3
_LOST = "set program.weights[name], or load the model, or what Program.save wrote: text holds no weights"


def check_weights(module: ir.Operation, weights: Mapping[str, np.ndarray]) -> None:
    """Raise VerificationError for the first weight that is missing, or of another dtype or shape than its type
    says, with all further ones in its `others`."""
    found = [error for _, error in broken_weights(module, weights)]
    if found:
        found[0].others = tuple(found[1:])
        raise found[0]


def broken_weights(
    module: ir.Operation, weights: Mapping[str, np.ndarray]
) -> Iterator[tuple[ir.Operation, VerificationError]]:
    """What is wrong with the weights that the ops of `module` name, each with the first op that names it; those
    that are missing are one error. Call with the program's context entered."""
    missing: dict[str, ir.Operation] = {}
    seen: set[ir.Attribute] = set()
    for operation, _, attribute, name in HandleReader().handles(module):
        if attribute in seen:
            continue
        seen.add(attribute)
        if name not in weights:
            missing.setdefault(name, operation)
            continue
        problem = problem_of(weights[name], attribute.type)  # type: ignore[attr-defined]
        if problem is not None:
            what, hint = problem
            yield operation, _error(operation, f"the weight {name!r} {what}", hint)
    if missing:
        named = ", ".join(list(missing)[:_NAMED])
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        first = next(iter(missing.values()))
        yield first, _error(first, f"the program names weights that it does not have: {named}{more}", _LOST)


def _error(operation: ir.Operation, what: str, hint: str | None) -> VerificationError:
    return VerificationError(what, where=", ".join(sources_of(operation.location)) or None, hint=hint)


def problem_of(array: object, kind: ir.Type) -> tuple[str, str | None] | None:
    """Why `array` cannot be the weight of a tensor type, and what to do about it; None if it can."""
    if not isinstance(array, np.ndarray):
        return f"is {kind_name(array)}, not an array", "give a NumPy array"
    if not isinstance(kind, ir.RankedTensorType):
        return None
    shaped = ir.RankedTensorType(kind)
    try:
        dtype = dtypes.by_mlir(shaped.element_type).np
    except KeyError:  # a type of the IR alone, such as quantized ones
        return None
    if array.dtype != dtype:
        what = f"is an array of {array.dtype}; its type in the IR is {shaped}"
        return what, f"write .astype({_spelled(dtype)})"
    if list(array.shape) != list(shaped.shape):
        what = f"is an array of shape {array.shape}; its type in the IR is {shaped}"
        fits = array.size == int(np.prod(shaped.shape, dtype=np.int64))
        return what, f"write .reshape({tuple(shaped.shape)})" if fits else None
    return None


def _spelled(dtype: np.dtype) -> str:
    if dtype == np.bool_:
        return "bool"
    return f"{'np' if hasattr(np, dtype.name) else 'ml_dtypes'}.{dtype.name}"
