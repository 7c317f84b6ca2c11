"""What TensorRT did not take, read from an outlined program: which ops, why, and what runs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .engine.base import Engine
from .plan import Fallback
from .program import Program

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["fallbacks_of"]

_NOT_CONVERTED = "the pipeline did not convert it"


def fallbacks_of(program: Program, engines: Iterable[Engine]) -> list[Fallback]:
    """One row per op, reason and runtime among the ops of host functions, most frequent first."""
    from torch_mlir import ir

    from .ir.context import shown_name
    from .ir.locations import sources_of
    from .ir.symbols import functions

    backends = {engine.name: engine.kind for engine in engines}
    counts: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], str] = {}
    with program.context, ir.Location.unknown():
        for path, function in functions(program.module):
            if "plan.backend" not in function.attributes:
                continue
            for op in function.regions[0].blocks[0].operations:
                operation = op.operation
                if _is_work(operation):
                    key = (shown_name(operation.name), _reason(operation), backends[path])
                    counts[key] += 1
                    first.setdefault(key, ", ".join(sources_of(operation.location)[:1]))
    return [
        Fallback(op, count, reason, first[op, reason, backend], backend)
        for (op, reason, backend), count in counts.most_common()
    ]


def _is_work(operation: ir.Operation) -> bool:
    from .passes.clustering.values import is_constant

    return not is_constant(operation) and operation.name != "func.return"


def _reason(operation: ir.Operation) -> str:
    if "plan.fallback" in operation.attributes:
        return str(operation.attributes["plan.fallback"].value)
    if operation.name.startswith("tensorrt."):
        return "its cluster is smaller than min-cluster-size"
    return _NOT_CONVERTED
