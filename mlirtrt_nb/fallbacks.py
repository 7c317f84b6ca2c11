"""What TensorRT did not take, read from an outlined program: which ops, why, and what runs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .engine.base import Engine
from .plan import Fallback
from .program import Program

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["fallbacks_of", "run_by"]

_RUNTIMES = {
    "onnxruntime": "ONNX Runtime",
    "onnx_reference": "ONNX's reference evaluator",
    "mlir_host": "native code made by MLIR",
    "plan": "the Plan itself",
}


def run_by(rows: Iterable[Fallback]) -> str:
    """What runs the ops: "ONNX Runtime runs it", "ONNX Runtime runs 2, the Plan itself runs 1"."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[_RUNTIMES.get(row.backend, row.backend)] += row.count
    if len(counts) == 1:
        ((name, count),) = counts.items()
        return f"{name} runs {'it' if count == 1 else 'them'}"
    return ", ".join(f"{name} runs {count}" for name, count in counts.most_common())


def fallbacks_of(program: Program, engines: Iterable[Engine]) -> list[Fallback]:
    """One row per op, reason and runtime among the ops of host functions, and among the branches and loops that
    the Plan itself runs, most frequent first."""
    from torch_mlir import ir

    from .ir.locations import sources_of
    from .ir.symbols import functions
    from .passes.clustering.reasons import why_not_tensorrt

    backends = {engine.name: engine.kind for engine in engines}
    counts: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], str] = {}
    with program.context, ir.Location.unknown():
        for path, function in functions(program.module):
            block = function.regions[0].blocks[0]
            if "plan.backend" in function.attributes:
                found = [(op.operation, backends[path]) for op in block.operations if _is_work(op.operation)]
            else:
                found = [(op, "plan") for op in _opened(block)]
            for operation, backend in found:
                key = (_name(operation), why_not_tensorrt(operation), backend)
                counts[key] += 1
                first.setdefault(key, ", ".join(sources_of(operation.location)[:1]))
    return [
        Fallback(op, count, reason, first[op, reason, backend], backend)
        for (op, reason, backend), count in counts.most_common()
    ]


def _opened(block: ir.Block) -> Iterator[ir.Operation]:
    """The branches and loops that the Plan runs itself, as no engine holds them whole."""
    from .passes.clustering.values import CONTROL_FLOW

    for op in block.operations:
        operation = op.operation
        if operation.name in CONTROL_FLOW:
            if "plan.fallback" in operation.attributes:
                yield operation
            for region in operation.regions:
                yield from _opened(region.blocks[0])


def _is_work(operation: ir.Operation) -> bool:
    from .passes.clustering.values import is_constant

    return not is_constant(operation) and operation.name != "func.return"


def _name(operation: ir.Operation) -> str:
    """The op's name; of one without a schema its domain and type ("com.microsoft.MatMulNBits")."""
    from .ir.context import shown_name

    if operation.name != "onnx.custom":
        return shown_name(operation.name)
    return ".".join(str(operation.attributes[key].value) for key in ("domain", "op_type"))
