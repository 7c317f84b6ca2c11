"""Latency of a `Session` on the CPU, and of one call of a one-op model, beside ONNX Runtime."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter, process_time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

import mlirtrt_nb as mt

from .cases import SPINE, case
from .table import Benchmark, Row
from .timing import Cores, alternate, interval, middle, rounds

__all__ = ["THREADS", "peer_session", "run", "session_rows"]

THREADS = 2
# Two sessions of one and the same model can differ for as long as they live, by where their memory happens to
# lie. So several pairs are made, in turn ours and the peer first, and all their rounds count alike. More are
# made until the ratio is known to within PRECISION, with 95 % confidence, or there are MOST_PAIRS.
PAIRS = 8
MOST_PAIRS = 36
SECONDS = 3.0
PRECISION = 0.02

Open = Callable[[int], Callable[[], object]]  # a session with so many threads, as a call of it


def run(names: Sequence[str] = SPINE) -> list[Benchmark]:
    """Batch 1 at the optimum shapes, the same inputs and the same number of threads for both.

    Latency on a shared machine differs by some percent from one run to the next, as the interval of each row
    says. What one thread computes, in time of the processor, is disturbed far less, and stands beside it.
    """
    latency = Benchmark("cpu latency", "onnxruntime.InferenceSession", 1.00, 1.05)
    for name in names:
        latency.rows += _model(name)
        gc.collect()
    call = Benchmark("call overhead", "onnxruntime.InferenceSession.run", None, 1.2)
    call.rows.append(_one_op())
    return [latency, call]


def peer_session(model: str | bytes, threads: int = THREADS) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _model(name: str) -> list[Row]:
    path, shapes, inputs = case(name)
    plan = mt.compile(path, target="cpu", shapes=shapes, cache=False)
    ours, peer = plan.session("cpu", threads=THREADS), peer_session(path)
    error = _error(list(ours.run(inputs).values()), peer.run(None, inputs))
    del ours, peer
    return session_rows(
        name,
        lambda threads: partial(plan.session("cpu", threads=threads).run, inputs),
        lambda threads: partial(peer_session(path, threads).run, None, inputs),
        f"max error {error:.1e}",
    )


def session_rows(name: str, open_ours: Open, open_peer: Open, note: str = "") -> list[Row]:
    """Latency of sessions that are opened in pairs, and what one thread computes."""
    measures = {f"latency, {THREADS} threads": (THREADS, perf_counter), "CPU time, 1 thread": (1, process_time)}
    rows = []
    for measure, (threads, clock) in measures.items():
        found: list[tuple[float, float]] = []
        for n in range(MOST_PAIRS):
            found += _pair(partial(open_ours, threads), partial(open_peer, threads), bool(n % 2), clock)
            low, high = interval(found)
            if n + 1 >= PAIRS and high - low <= 2 * PRECISION:
                break
        ours, theirs = middle(found)
        words = f"ratio {low:.3f} to {high:.3f} (95 %)"
        rows.append(Row(name, measure, ours * 1e3, theirs * 1e3, "ms", "; ".join(filter(None, (words, note)))))
    return rows


def _pair(
    open_ours: Callable[[], Callable[[], object]],
    open_peer: Callable[[], Callable[[], object]],
    peer_first: bool,
    clock: Callable[[], float],
) -> list[tuple[float, float]]:
    """Rounds of one new session of each."""
    with Cores() as cores:
        early = cores.spread(open_peer) if peer_first else None
        ours = cores.spread(open_ours)
        return rounds(ours, early or cores.spread(open_peer), seconds=SECONDS, least=1, clock=clock)


def _error(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> float:
    """Largest absolute error over the largest absolute value, over all outputs."""
    return max(
        float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in zip(ours, theirs, strict=True)
    )


def _one_op() -> Row:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "y"], ["z"], name="add")],
        "one_op",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [16]) for name in "xy"],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [16])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    x, y = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    session = mt.compile(model, target="cpu", cache=False).session("cpu", threads=THREADS)
    peer = peer_session(model.SerializeToString())
    np.testing.assert_array_equal(session(x, y), peer.run(None, {"x": x, "y": y})[0])
    ours, theirs = alternate(
        lambda: session(x, y), lambda: peer.run(None, {"x": x, "y": y}), inner=2000, seconds=4
    )
    return Row("one Add of 16 floats", "call", ours * 1e6, theirs * 1e6, "us")
