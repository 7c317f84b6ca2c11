"""Latency on the CPU of models with branches and loops, whole and opened, beside ONNX Runtime.

Compiled for the CPU alone a construct stays whole, and must cost what it costs in ONNX Runtime. Compiled for a
GPU as well, the same Plan runs the opened form on the CPU: what each step of each turn costs shows here.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import onnx
from onnx import numpy_helper, parser

import mlirtrt_nb as mt

from .cpu_latency import THREADS, peer_session
from .table import Benchmark, Row
from .timing import alternate

__all__ = ["run"]

_TURNS = 10
_WIDTH = 256
# The count of what is not zero: no layer does it, so no engine holds the loop whole.
_LOOP = f"""<ir_version: 8, opset_import: ["" : 17]>
main (int64 m, float[8,{_WIDTH}] x) => (float[8,{_WIDTH}] y) {{
    y = Loop(m, , x) <body = b (int64 i, bool go, float[8,{_WIDTH}] v) => (bool out, float[8,{_WIDTH}] u) {{
        h = MatMul(v, w) t = Tanh(h) nz = NonZero(t) n = Size(nz) f = Cast<to = 1>(n) d = Div(f, f)
        u = Mul(t, d) out = Identity(go)
    }}>
}}"""
_IF = f"""<ir_version: 8, opset_import: ["" : 17]>
main (bool c, float[8,{_WIDTH}] x) => (float[N] y) {{
    r = If(c) <then_branch = t () => (float[A,B] a) {{ h = MatMul(x, w) a = Tanh(h) }},
               else_branch = e () => (float[K] k) {{ g = MatMul(x, w) k = Reshape(g, flat) }}>
    y = Reshape(r, flat)
}}"""


def run() -> list[Benchmark]:
    """A loop of ten turns and a branch, each as compiled for the CPU alone and for a GPU too."""
    whole = Benchmark("control flow, whole", f"onnxruntime.InferenceSession, {THREADS} threads", None, 1.2)
    opened = Benchmark("control flow, opened", f"onnxruntime.InferenceSession, {THREADS} threads")
    x = np.random.default_rng(0).standard_normal((8, _WIDTH), dtype=np.float32)
    cases = {
        f"loop of {_TURNS} turns": (_model(_LOOP), {"m": np.array(_TURNS), "x": x}),
        "branches of two ranks": (_model(_IF), {"c": np.array(True), "x": x}),
    }
    for name, (model, inputs) in cases.items():
        whole.rows.append(_row(name, model, inputs, ["cpu"]))
        opened.rows.append(_row(name, model, inputs, ["cpu", "sm89"]))
    return [whole, opened]


def _model(text: str) -> onnx.ModelProto:
    proto = parser.parse_model(text)
    weight = np.random.default_rng(1).standard_normal((_WIDTH, _WIDTH), dtype=np.float32) / 16
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([-1]), "flat"))
    return proto


def _row(name: str, model: onnx.ModelProto, inputs: dict[str, np.ndarray], targets: list[str]) -> Row:
    plan = mt.compile(model, target=targets, cache=False)
    session, peer = plan.session("cpu", threads=THREADS), peer_session(model.SerializeToString())
    steps = sum(1 for _ in plan.schedules["cpu"].all_steps())
    ours, theirs = alternate(partial(session.run, inputs), partial(peer.run, None, inputs), seconds=1.0)
    return Row(name, "latency", ours * 1e3, theirs * 1e3, "ms", f"{steps} steps in the schedule")
