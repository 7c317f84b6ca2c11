"""Branches and loops that no engine holds whole: engines inside, and the Plan branches and loops itself."""

from __future__ import annotations

import pickle

import numpy as np
import onnxruntime as ort
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.runtime.session import Session
from tests.unit.runtime.stand_in import LazyDevice, cuda_program

from .control_flow_models import CASES, X, model


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """(name, ONNX model, inputs, plan) of each case."""
    proto, feeds = CASES[request.param]()
    return request.param, proto, feeds, mt.compile(proto, target=["cpu", "sm89"], cache=False)


def original(proto):
    """ONNX Runtime on the model itself."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def check(session, proto, feeds):
    """Every feed, twice over and in turn, gives what ONNX Runtime gives, in arrays of its own."""
    reference = original(proto)
    earlier = []
    for feed in [*feeds, *feeds]:
        found, wanted = list(session.run(feed).values()), reference(feed)
        for ours, theirs in zip(found, wanted, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
        earlier.append((found, [array.copy() for array in found]))
    for found, kept in earlier:
        for array, copy in zip(found, kept, strict=True):
            np.testing.assert_array_equal(array, copy)


def test_the_cpu_agrees_with_onnx_runtime(case):
    """Also with no turn at all, and with each branch."""
    _, proto, feeds, plan = case
    check(plan.session("cpu"), proto, feeds)


def test_the_device_program_agrees_with_onnx_runtime(case):
    """The steps for a GPU, on a stand-in that does work only when it is waited for."""
    name, proto, feeds, plan = case
    if name in ("growing", "ranks"):
        pytest.skip("the stand-in knows no shapes that depend on data")
    check(Session(cuda_program(plan, LazyDevice())), proto, feeds)


def test_engines_are_inside_and_the_report_says_why(case):
    """Something within is a real engine, and the construct has a row with TensorRT's reason."""
    _, _, _, plan = case
    engines = plan.engines[plan.engines.target == "sm89"]
    assert len(engines) >= 1 and (engines.engine_bytes > 1000).all()
    rows = plan.fallbacks[plan.fallbacks.backend == "plan"]
    assert set(rows.op) <= {"plan.if", "plan.loop"} and len(rows) >= 1
    assert rows.reason.str.len().min() > 10 and rows.remedy.str.len().min() > 10
    steps = plan.timeline()
    inside = steps[steps.inside.notna()]
    assert {"call", "enqueue"} & set(inside.op)
    assert inside.inside.str.fullmatch(r"\d+ (then|else|turn)").all()


def test_saved_and_pickled_plans_run_alike(case, tmp_path):
    """Blocks of steps survive a file and another process."""
    _, proto, feeds, plan = case
    plan.save(tmp_path / "it.plan")
    for other in (mt.Plan.load(tmp_path / "it.plan"), pickle.loads(pickle.dumps(plan))):
        assert other.schedules == plan.schedules
        check(other.session("cpu"), proto, feeds[:1])


def test_text_reads_back(case):
    """What is printed of the Plan parses, verifies, and prints the same."""
    _, _, _, plan = case
    program = mt.from_mlir(plan.text())
    program.verify()
    assert mt.from_mlir(program.text()).text() == program.text()


def test_bound_buffers_and_profiles():
    """In place into the caller's arrays, and times of each layer of engines in a loop."""
    proto, feeds = CASES["counted"]()
    session = mt.compile(proto, target=["cpu", "sm89"], cache=False).session("cpu")
    y = np.zeros((2, 4), np.float32)
    session.bind(feeds[0], {"y": y})
    for _ in range(2):
        session.execute()
        np.testing.assert_allclose(y, original(proto)(feeds[0])[0], rtol=1e-4, atol=1e-4)
    layers = session.profile(session.checked(**feeds[0]), 2)
    assert any("MatMul" in row.kind or "Gemm" in row.kind for row in layers)
    assert all(ms >= 0 for row in layers for ms in row.times_ms)


def test_on_the_cpu_alone_a_construct_stays_whole():
    """ONNX Runtime runs the loop itself: no engine would be the faster for being apart."""
    proto, feeds = CASES["counted"]()
    plan = mt.compile(proto, target="cpu", cache=False)
    assert plan.fallbacks.op.tolist() == ["onnx.Loop"]
    assert len(plan.timeline()) == 1
    check(plan.session("cpu"), proto, feeds)


def test_a_construct_with_little_inside_stays_whole():
    """A few light ops are no work for an engine, and what TensorRT takes whole stays in one engine."""
    light = model(
        "(bool c, float[2,4] x) => (float[N] y)",
        """y = If(c) <then_branch = t () => (float[M] a) { b = Neg(x) a = Reshape(b, m1) },
                     else_branch = e () => (float[K] d) {
                         z = NonZero(x) f = Cast<to = 1>(z) d = Reshape(f, m1) }>""",
        {"m1": [-1]},
    )
    plan = mt.compile(light, target=["cpu", "sm89"], cache=False)
    assert plan.fallbacks.op.tolist() == ["onnx.If"]
    whole = model(
        "(bool c, float[2,4] x) => (float[2,4] y)",
        """y = If(c) <then_branch = t () => (float[2,4] a) { a = MatMul(x, w) },
                     else_branch = e () => (float[2,4] b) { b = Relu(x) }>""",
    )
    plan = mt.compile(whole, target=["cpu", "sm89"], cache=False)
    assert plan.fallbacks.empty
    assert plan.timeline().inside.isna().all()


def test_a_loop_whose_engines_cannot_be_built_is_closed_again():
    """All in the body hangs on a tensor that grows: no engine, so ONNX Runtime runs the loop whole."""
    proto = model(
        "(int64 m, float[1,4] x) => (float[N,4] y)",
        """y = Loop(m, , x) <body = b (int64 i, bool go, float[P,4] v) => (bool out, float[P2,4] u) {
                l = Gather<axis = 0>(v, zz) h = MatMul(l, w) t = Tanh(h) u = Concat<axis = 0>(v, t)
                out = Identity(go) }>""",
        {"zz": [-1]},
    )
    plan = mt.compile(proto, target=["cpu", "sm89"], cache=False)
    assert plan.fallbacks.op.tolist() == ["onnx.Loop"]
    check(plan.session("cpu"), proto, [{"m": np.array(m), "x": X[:1]} for m in (3, 0)])


def test_options_force_and_forbid():
    """`split=always` opens what is not worth it, `never` leaves what is; other words are refused."""
    proto, feeds = CASES["counted"]()
    for word, op in (("always", "plan.loop"), ("never", "onnx.Loop")):
        pipeline = mt.Pipeline.default(("cpu",), "fp32").set("onnx-to-tensorrt", split=word)
        plan = mt.compile(proto, target="cpu", pipeline=pipeline, cache=False)
        assert op in plan.fallbacks.op.tolist()
        check(plan.session("cpu"), proto, feeds)
    with pytest.raises(mt.OptionError, match="one of auto, always, never"):
        mt.Pipeline.parse("onnx-to-tensorrt{split=maybe}")
