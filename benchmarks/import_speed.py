"""Time of importing a model, beside `onnx.load`, `onnx.shape_inference` and creating an ONNX Runtime session.

Both sides end with a graph whose types are inferred and whose ops are checked; the peer's is ready to run as
well, ours holds every op as IR. A synthetic graph of up to 20,000 nodes shows how time and memory grow.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .cases import SPINE, case
from .table import Benchmark, Row
from .timing import alternate, in_process

__all__ = ["run", "synthetic"]

_SIZES = (5_000, 10_000, 20_000)
_LARGEST = 1 << 31  # bytes of a model that the peer takes as one message


def run(names: Sequence[str] = SPINE, sizes: Sequence[int] = _SIZES) -> list[Benchmark]:
    """Rows per model and per synthetic graph; how time and memory grow from one graph to the next."""
    benchmark = Benchmark("import speed", "onnx.load + infer_shapes + InferenceSession", 1.0)
    for name in names:
        benchmark.rows.append(_timed(name, case(name)[0], seconds=1.0))
    growth = Benchmark("import growth", "the smallest graph, times nodes", 1.25)
    with tempfile.TemporaryDirectory() as folder:
        first: tuple[int, float, float] | None = None
        for size in sizes:
            path = str(Path(folder) / f"{size}.onnx")
            onnx.save(synthetic(size), path)
            row = _timed(f"{size} nodes", path, seconds=4.0)
            benchmark.rows.append(row)
            megabytes = _memory(path)
            if first is None:
                first = size, row.ours, megabytes
                continue
            times = size / first[0]
            growth.rows.append(Row(row.case, "seconds", row.ours, first[1] * times, "ms"))
            growth.rows.append(Row(row.case, "memory", megabytes, first[2] * times, "MB"))
    return [benchmark, growth]


def synthetic(count: int) -> onnx.ModelProto:
    """A graph of `count` nodes of four kinds, a quarter with a weight, a quarter with two inputs."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for n in range(count):
        inputs: list[str] = [last]
        attributes: dict[str, Any] = {}
        if n % 4 == 0:
            weights.append(numpy_helper.from_array(rng.standard_normal(16).astype(np.float32), f"w{n}"))
            inputs.append(f"w{n}")
        elif n % 4 == 2:
            inputs.append(f"v{n - 2}")
        elif n % 4 == 3:
            attributes["perm"] = [1, 0]
        kind = ("Mul", "Relu", "Add", "Transpose")[n % 4]
        last = f"v{n}"
        nodes.append(helper.make_node(kind, inputs, [last], name=f"block{n // 100}/n{n}", **attributes))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [16, 16]) for name in ("x", last)]
    graph = helper.make_graph(nodes, "synthetic", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _timed(name: str, path: str, *, seconds: float) -> Row:
    import mlirtrt_nb as mt

    ours, peer = alternate(lambda: mt.load(path), lambda: _peer(path), seconds=seconds, least=2)
    return Row(name, "seconds", ours * 1e3, peer * 1e3, "ms")


def _peer(path: str) -> object:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    model = onnx.load(path)
    if Path(path).stat().st_size < _LARGEST:
        onnx.shape_inference.infer_shapes(model)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _memory(path: str) -> float:
    """MB that an import adds to the peak of a process that has imported a small model before."""
    return in_process("benchmarks.import_speed", [path])["bytes"] / 1e6


def _main(path: str) -> None:
    import mlirtrt_nb as mt

    mt.from_onnx(synthetic(8))
    # Else what the small model has freed, and its peak, would hide what the large one takes.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _peak()
    kept = mt.load(path)
    print(json.dumps({"bytes": _peak() - before, "kept": kept.name}))


def _peak() -> int:
    """The most bytes that this process has held. `getrusage` would count its parent before the start too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    _main(*sys.argv[1:])
