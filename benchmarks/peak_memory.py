"""Peak memory of loading and compiling VGG-19 (550 MB of weights) for the CPU, beside ONNX Runtime.

Each side runs alone in a process of its own; the figure is the kernel's account of its peak resident set,
file pages included. The worker process that compiles is added with its own peak, although the two peaks need
not come at the same time, and although what both have mapped of the model counts twice.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

from .cases import case
from .table import Benchmark, Row
from .timing import in_process

__all__ = ["run"]


def run(names: Sequence[str] = ("vgg19",)) -> list[Benchmark]:
    """One row per model."""
    benchmark = Benchmark("peak memory", "onnxruntime.InferenceSession creation", None, 1.3)
    for name in names:
        path, _, _ = case(name)
        ours = in_process("benchmarks.peak_memory", ["ours", path])["bytes"]
        peer = in_process("benchmarks.peak_memory", ["peer", path])["bytes"]
        benchmark.rows.append(Row(name, "peak resident", ours / 1e6, peer / 1e6, "MB"))
    return [benchmark]


def _peak_of_children() -> int:
    """The peak resident sets of this process's children, added up, in bytes."""
    pids = [pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def _main(side: str, path: str) -> None:
    if side == "ours":
        import mlirtrt_nb as mt

        kept = mt.compile(mt.load(path), target="cpu", cache=False).session("cpu")
    else:
        import onnxruntime as ort

        kept = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + _peak_of_children()  # Linux counts in kB
    print(json.dumps({"bytes": peak, "kept": type(kept).__name__}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
