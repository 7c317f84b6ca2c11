"""Loading the tensorrt and plan dialects into a fresh context, beside MLIR loading its own dialects into one.

The first load of a process reads the dialects' IRDL as text, further ones read it as bytecode. Both are to take
no longer than the limit. What `python -m benchmarks.dialect_loading` prints are the times in its own process.
"""

from __future__ import annotations

import json
import statistics
import time

from torch_mlir import ir

from mlirtrt_nb.ir import irdl
from mlirtrt_nb.ir.context import definitions

from .table import Benchmark, Row
from .timing import in_process

__all__ = ["run"]

_DIALECTS = ("tensorrt", "plan")
_LIMIT = 150.0  # ms
_FURTHER = 5


def run(processes: int = 5) -> list[Benchmark]:
    """Milliseconds of a load, in the fastest of some processes: beside MLIR's, and beside the limit."""
    beside = Benchmark("dialect loading", "MLIR's own dialects into a fresh context")
    limit = Benchmark("dialect loading limit", "its limit", None, 1.0)
    found = [in_process("benchmarks.dialect_loading", []) for _ in range(processes)]
    case = " and ".join(_DIALECTS)
    for measure in found[0]:
        ours, theirs = min(times[measure] for times in found)
        beside.rows.append(Row(case, measure, ours, theirs, "ms", f"limit {_LIMIT:.0f} ms"))
        limit.rows.append(Row(case, measure, ours, _LIMIT, "ms", "beside its limit"))
    return [beside, limit]


def _ours() -> float:
    """Milliseconds to load the dialects into a fresh context."""
    start = time.perf_counter()
    context = ir.Context()
    for name in _DIALECTS:
        irdl.load(definitions()[name], context)
    return (time.perf_counter() - start) * 1e3


def _theirs() -> float:
    """Milliseconds to load MLIR's own dialects into a fresh context."""
    start = time.perf_counter()
    ir.Context().load_all_available_dialects()
    return (time.perf_counter() - start) * 1e3


def _measured() -> dict[str, tuple[float, float]]:
    """Milliseconds of ours and of theirs, for the first load of this process and for a further one."""
    definitions()  # importing the definitions in Python is no part of it
    times = [(_ours(), _theirs()) for _ in range(1 + _FURTHER)]
    ours, theirs = (statistics.median(column) for column in zip(*times[1:], strict=True))
    return {"first load": times[0], "further load": (ours, theirs)}


if __name__ == "__main__":
    print(json.dumps(_measured()))
