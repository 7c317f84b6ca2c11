"""What the worker process costs: small and real pipelines and compilations there and in this process, in turn.

The overhead of a small cell is to stay below 30 ms; the rest says how it grows, and what a start takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import mlirtrt_nb as mt
from mlirtrt_nb.worker import Isolation, call, prewarm, shut_down

from .cases import case
from .table import Benchmark, Row
from .timing import alternate

__all__ = ["run"]

BUDGET_MS = 30.0

SMALL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def run(seconds: float = 3.0) -> list[Benchmark]:
    """The overhead of small cells against the budget; that of a real model, and the start, beside no peer."""
    budget = Benchmark("worker overhead", f"a budget of {BUDGET_MS:g} ms", None, 1.0)
    small, default = mt.from_mlir(SMALL), mt.Pipeline.default()
    cells: list[tuple[str, Callable[[bool], Any]]] = [
        ("small cell, pipeline", lambda isolate: default.run(small, isolate=isolate).program.text()),
        ("small cell, compile for cpu", lambda isolate: str(mt.compile(small, cache=False, isolate=isolate))),
    ]
    for name, cell in cells:
        budget.rows.append(Row(name, "overhead", _overhead(cell, seconds), BUDGET_MS, "ms"))
    other = Benchmark("worker, other figures", "none")
    path, _, _ = case("resnet50")
    resnet = mt.load(path)
    overhead = _overhead(lambda isolate: default.run(resnet, isolate=isolate).program.text(), seconds)
    other.rows.append(Row("resnet50, pipeline", "overhead", overhead, None, "ms"))
    other.rows.append(Row("first call", "start", _start(warm=False), None, "ms"))
    other.rows.append(Row("first call after load_ext", "start", _start(warm=True), None, "ms", "2 s later"))
    return [budget, other]


def _overhead(cell: Callable[[bool], Any], seconds: float) -> float:
    """Milliseconds that one call takes longer in the worker; not below a hundredth."""
    there, here = alternate(lambda: cell(True), lambda: cell(False), seconds=seconds)
    return max((there - here) * 1e3, 0.01)


def _start(*, warm: bool) -> float:
    """Milliseconds of the first call that starts a worker, or finds one that had time to start."""
    shut_down()
    if warm:
        prewarm()
        time.sleep(2)
    started = time.perf_counter()
    call(int, what="nothing", isolation=Isolation())
    return (time.perf_counter() - started) * 1e3
