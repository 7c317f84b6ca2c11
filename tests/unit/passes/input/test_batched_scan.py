"""Scan of opset 8: a batch of sequences, each with a length of its own, as loops."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, parser
from onnx.backend.test.case.node.scan import Scan as ScanCases

import mlirtrt_nb as mt
from mlirtrt_nb.frontends.onnx import from_onnx
from tests.unit.frontends.onnx.onnx_models import counts, transformed

PASS = "onnx-expand-functions"
RNG = np.random.default_rng(5)


def scan(lengths: str = '""', states: str = "h0,", directions: str = "0, 0") -> ModelProto:
    """A Scan over two inputs whose body reads a value from outside and has names that others have too."""
    carried, given = ("float[3] a,", "float[3] n,") if states else ("", "")
    first = "Add(a, e)" if states else "Neg(e)"
    final = "h," if states else ""
    return parser.parse_model(
        f"""<ir_version: 3, opset_import: ["" : 8]>
        m (int64[2] l, float[2,3] h0, float[2,4,3] x, float[2,4,3] y, float[3] w)
            => (float[2,3] same, {"float[2,3] h, " if states else ""}float[P,Q,R] s, float[P,Q,R] scan_u) {{
          same = Identity(h0)
          {final} s, scan_u = Scan({lengths}, {states} x, y) <num_scan_inputs = 2, directions = [{directions}],
            body = b ({carried} float[3] e, float[3] f) => ({given} float[3] o, float[3] p) {{
              n0 = {first}  n = Tanh(n0)  o = Mul(n, f)  p = Add(f, w)
            }}>
        }}"""
    )


def check(proto: ModelProto, feeds: dict[str, np.ndarray]) -> mt.Plan:
    """Hold the compiled model against ONNX Runtime's own Scan."""
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    used = {i.name for i in session.get_inputs()}
    expected = session.run(None, {name: array for name, array in feeds.items() if name in used})
    plan = mt.compile(proto, cache=False, isolate=False)
    found = list(plan.session("cpu", threads=1).run(feeds).values())
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    return plan


def values(*lengths: int) -> dict[str, np.ndarray]:
    shapes = {"h0": (2, 3), "x": (2, 4, 3), "y": (2, 4, 3), "w": (3,)}
    feeds = {name: RNG.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return {"l": np.array(lengths), **feeds}


@pytest.mark.parametrize("directions", ["0, 0", "0, 1", "1, 1"])
def test_a_batch_of_sequences(directions: str) -> None:
    """Both sequences are scanned whole, forwards or backwards, and TensorRT takes every op."""
    plan = check(scan(directions=directions), values(4, 4))
    assert plan.fallbacks.empty


@pytest.mark.parametrize("directions", ["0, 1", "1, 0"])
@pytest.mark.parametrize("lengths", [(4, 4), (4, 2), (1, 3)])
def test_sequences_of_different_length(directions: str, lengths: tuple[int, int]) -> None:
    """A shorter one begins at its own end where it goes backwards, and has zeros behind its outputs."""
    check(scan("l", directions=directions), values(*lengths))


def test_no_state() -> None:
    """A Scan may carry nothing."""
    check(scan(states=""), values(4, 4))


def test_onnx_own_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """The running sum that ONNX tests its opset 8 with."""
    cases: list[dict] = []
    monkeypatch.setattr("onnx.backend.test.case.node.scan.expect", lambda *a, **k: cases.append(k))
    ScanCases.export_scan_8()
    (case,) = cases
    proto = parser.parse_model(
        """<ir_version: 3, opset_import: ["" : 8]>
        m (float[1,2] initial, float[1,3,2] x) => (float[1,2] y, float[1,3,2] z) {
          y, z = Scan("", initial, x) <num_scan_inputs = 1,
            body = b (float[2] a, float[2] e) => (float[2] n, float[2] o) { n = Add(a, e)  o = Identity(n) }>
        }"""
    )
    given = [array for array in case["inputs"] if not isinstance(array, str)]
    found = (
        mt.compile(proto, cache=False, isolate=False)
        .session("cpu", threads=1)
        .run(dict(zip(("initial", "x"), given, strict=True)))
    )
    for name, array in zip(("y", "z"), case["outputs"], strict=True):
        np.testing.assert_array_equal(found[name], array)


def test_a_scan_of_a_later_opset_stays() -> None:
    """It has no batch, and is converted as it is."""
    proto = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 16]>
        m (float[2] h0, float[3,2] x) => (float[2] h, float[3,2] s) {
          h, s = Scan(h0, x) <num_scan_inputs = 1,
            body = b (float[2] a, float[2] e) => (float[2] n, float[2] o) { n = Add(a, e)  o = Identity(n) }>
        }"""
    )
    assert counts(transformed(from_onnx(proto), PASS))["onnx.Scan"] == 1
    expanded = counts(transformed(from_onnx(scan("l")), PASS))
    assert "onnx.Scan" not in expanded and expanded["onnx.Loop"] >= 1
