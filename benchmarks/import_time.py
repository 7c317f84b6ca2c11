"""Time of `import mlirtrt_nb`, beside `import numpy`, each in fresh processes in turn."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from .table import Benchmark, Row

__all__ = ["run"]


def run(repeats: int = 15) -> list[Benchmark]:
    """Process time less that of an empty process, median of `repeats`."""
    times: dict[str, list[float]] = {"pass": [], "import mlirtrt_nb": [], "import numpy": []}
    for _ in range(repeats):
        for code, kept in times.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            kept.append(time.perf_counter() - start)
    empty, ours, peer = (statistics.median(kept) for kept in times.values())
    benchmark = Benchmark("import time", "import numpy", None, 2.0)
    benchmark.rows.append(Row("import", "seconds", max(ours - empty, 1e-6) * 1e3, (peer - empty) * 1e3, "ms"))
    return [benchmark]
