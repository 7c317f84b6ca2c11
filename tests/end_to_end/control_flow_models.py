"""Small ONNX models whose branches and loops no TensorRT engine holds whole, with work for engines inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, parser

__all__ = ["CASES", "model"]

RNG = np.random.default_rng(0)
W = (RNG.standard_normal((4, 4)) / 2).astype(np.float32)
X = RNG.standard_normal((2, 4)).astype(np.float32)

Feeds = list[dict[str, np.ndarray]]

# An op that no layer does, and that makes a number of `h` which is not its shape.
COUNT = "nz = NonZero(h) ns = Size(nz) nf = Cast<to = 1>(ns)"


def model(signature: str, body: str, constants: Mapping[str, Any] | None = None) -> onnx.ModelProto:
    """A model in ONNX's text form; `w` is a matrix of 4 by 4."""
    text = f'<ir_version: 8, opset_import: ["" : 17]> main {signature} {{ {body} }}'
    proto = parser.parse_model(text)
    for name, array in {"w": W, **(constants or {})}.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return proto


def _counted() -> tuple[onnx.ModelProto, Feeds]:
    proto = model(
        "(int64 m, float[2,4] x) => (float[2,4] y, float[K,2,4] s)",
        f"""y, s = Loop(m, , x) <body = b (int64 i, bool go, float[2,4] v)
            => (bool out, float[2,4] u, float[2,4] z) {{
                h = MatMul(v, w) {COUNT} z = Tanh(h) u = Add(z, nf) out = Identity(go)
            }}>""",
    )
    return proto, [{"m": np.array(m), "x": X} for m in (3, 0, 1)]


def _conditional() -> tuple[onnx.ModelProto, Feeds]:
    proto = model(
        "(int64 m, bool c, float[2,4] x) => (float[2,4] y, int64 n)",
        f"""y, n = Loop(m, c, x, zero) <body = b (int64 i, bool go, float[2,4] v, int64 k)
            => (bool out, float[2,4] u, int64 k2) {{
                h = MatMul(v, w) {COUNT} u = Add(h, x) nk = Sub(ns, ns) k1 = Add(k, one) k2 = Add(k1, nk)
                out = Less(k2, three)
            }}>""",
        {"zero": 0, "one": 1, "three": 3},
    )
    return proto, [
        {"m": np.array(5), "c": np.array(True), "x": X},
        {"m": np.array(5), "c": np.array(False), "x": X},
        {"m": np.array(2), "c": np.array(True), "x": X},
    ]


def _swapping() -> tuple[onnx.ModelProto, Feeds]:
    proto = model(
        "(int64 m, float[2,4] x, float[2,4] x2) => (float[2,4] y, float[2,4] y2)",
        f"""y, y2 = Loop(m, , x, x2) <body = b (int64 i, bool go, float[2,4] v, float[2,4] v2)
            => (bool out, float[2,4] u, float[2,4] u2) {{
                h = MatMul(v, w) {COUNT} t = Add(h, nf) u = Identity(v2) u2 = Identity(t) out = Identity(go)
            }}>""",
    )
    return proto, [{"m": np.array(m), "x": X, "x2": X + 1} for m in (3, 4, 0)]


def _nested() -> tuple[onnx.ModelProto, Feeds]:
    proto = model(
        "(int64 m, bool[4] cs, float[2,4] x) => (float[2,4] y, float[K,2,4] s)",
        f"""y, s = Loop(m, , x) <body = b (int64 i, bool go, float[2,4] v)
            => (bool out, float[2,4] u, float[2,4] z) {{
                c = Gather(cs, i)
                u = If(c) <
                    then_branch = t () => (float[2,4] a) {{ h = MatMul(v, w) {COUNT} a = Add(h, nf) }},
                    else_branch = e () => (float[2,4] b2) {{ h2 = MatMul(x, w) b2 = Sub(v, h2) }}>
                z = Mul(u, u) out = Identity(go)
            }}>""",
    )
    chosen = np.array([1, 0, 0, 1], bool)
    return proto, [{"m": np.array(m), "cs": chosen, "x": X} for m in (4, 0)]


def _scanned() -> tuple[onnx.ModelProto, Feeds]:
    proto = model(
        "(float[4] st, float[2,3,4] xs) => (float[4] y, float[2,4,3] o)",
        f"""y, o = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [2],
                scan_output_directions = [1], scan_input_directions = [1],
                body = b (float[4] s, float[2,4] v) => (float[4] s2, float[2,4] q) {{
                    h = MatMul(v, w) {COUNT} q = Add(h, nf) r = ReduceSum<keepdims = 0>(q, ax) s2 = Add(s, r)
                }}>(st, xs)""",
        {"ax": [0]},
    )
    return proto, [{"st": X[n], "xs": RNG.standard_normal((2, 3, 4)).astype(np.float32)} for n in (0, 1)]


def _ranks() -> tuple[onnx.ModelProto, Feeds]:
    proto = model(
        "(bool c, float[2,4] x) => (float[M] q)",
        """y = If(c) <then_branch = t () => (float[2,4] a) { a = MatMul(x, w) },
                else_branch = e () => (float[8] b) { h = MatMul(x, w2) b = Reshape(h, eight) }>
            r = Reshape(y, m1) q = Relu(r)""",
        {"w2": W.T.copy(), "eight": [8], "m1": [-1]},
    )
    return proto, [{"c": np.array(c), "x": X} for c in (True, False)]


def _passed_through() -> tuple[onnx.ModelProto, Feeds]:
    """A branch that gives what is outside, twice, and a constant; used after, by an engine and by the host."""
    proto = model(
        "(bool c, float[2,4] x) => (float[2,4] a, float[2,4] b, int64[N] n)",
        f"""p, a, k = If(c) <
                then_branch = t () => (float[2,4] o1, float[2,4] o2, float[4] o3) {{
                    h = MatMul(x, w) {COUNT} o1 = Add(h, nf) o2 = Identity(o1) o3 = Identity(ones) }},
                else_branch = e () => (float[2,4] q1, float[2,4] q2, float[4] q3) {{
                    q1 = Identity(x) q2 = Identity(x) q3 = Identity(twos) }}>
            m = MatMul(p, w) b = Add(m, k) z = NonZero(p) n = Shape(z)""",
        {"ones": np.ones(4, np.float32), "twos": np.full(4, 2, np.float32)},
    )
    return proto, [{"c": np.array(c), "x": X} for c in (True, False)]


def _growing() -> tuple[onnx.ModelProto, Feeds]:
    """Each turn adds a row. What reads the rows runs on the host, what reads the last one in an engine."""
    proto = model(
        "(int64 m, float[1,4] x) => (float[N,4] rows, float[1,4] last)",
        """rows, last = Loop(m, , x, x) <body = b (int64 i, bool go, float[P,4] v, float[1,4] l)
            => (bool out, float[P2,4] u, float[1,4] t) {
                h = MatMul(l, w) t = Tanh(h) u = Concat<axis = 0>(v, t) out = Identity(go)
            }>""",
    )
    return proto, [{"m": np.array(m), "x": X[:1]} for m in (3, 0)]


CASES = {
    "counted": _counted,
    "conditional": _conditional,
    "swapping": _swapping,
    "nested": _nested,
    "scanned": _scanned,
    "ranks": _ranks,
    "passed_through": _passed_through,
    "growing": _growing,
}
