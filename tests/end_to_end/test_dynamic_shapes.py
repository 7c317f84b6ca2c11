"""Dynamic shapes end to end: named dimensions, shape arithmetic, several profiles, shapes made from data."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import mlirtrt_nb as mt

HEAD = '<ir_version: 8, opset_import: ["" : 18]> main '
# Name: the model, shapes= of it, and shapes to run it on.
CASES = {
    "a reshape to a shape that is put together": (
        """(float[n,c,4] x) => (float[n,m] y) { s = Shape(x) z = Constant<value_ints = [0]>() n1 = Gather(s, z)
        k = Constant<value_ints = [-1]>() t = Concat<axis = 0>(n1, k) y = Reshape(x, t) }""",
        {"x": ((1, 2, 4), (2, 3, 4), (5, 6, 4))},
        [{"x": (1, 2, 4)}, {"x": (3, 3, 4)}, {"x": (5, 6, 4)}],
    ),
    "two profiles": (
        "(float[n,8] x, float[8,8] w) => (float[n,8] y) { a = MatMul(x, w) y = Relu(a) }",
        [{"x": ((1, 8), (1, 8), (4, 8))}, {"x": ((8, 8), (16, 8), (32, 8))}],
        [{"x": (1, 8)}, {"x": (4, 8)}, {"x": (20, 8)}, {"x": (32, 8)}],
    ),
    "an expand to two inputs' shapes": (
        """(float[n,1] x, float[m] w) => (float[n,m] y) { a = Shape(x) b = Shape(w)
        z = Constant<value_ints = [0]>() n1 = Gather(a, z) t = Concat<axis = 0>(n1, b) e = Expand(x, t)
        y = Add(e, w) }""",
        {"x": ((1, 1), (2, 1), (4, 1)), "w": ((1,), (3,), (7,))},
        [{"x": (2, 1), "w": (5,)}, {"x": (4, 1), "w": (7,)}],
    ),
    "an input whose rank shapes= says": (
        """(float[] x) => (float[] y) { a = Relu(x) t = Constant<value_ints = [3]>() s, i = TopK(a, t)
        y = Softmax<axis = -1>(s) }""",
        {"x": ((1, 4), (2, 8), (4, 16))},
        [{"x": (1, 4)}, {"x": (4, 16)}],
    ),
    "a resize to twice the size": (
        """(float[1,1,h,w] x) => (float[1,1,p,q] y) { s = Shape(x) two = Constant<value_ints = [1,1,2,2]>()
        t = Mul(s, two) y = Resize<mode = "nearest">(x, , , t) }""",
        {"x": ((1, 1, 2, 2), (1, 1, 4, 4), (1, 1, 8, 8))},
        [{"x": (1, 1, 3, 5)}, {"x": (1, 1, 8, 8)}],
    ),
    "rows that are not zero": (
        """(float[n,4] x) => (float[k,4] y) { a = Relu(x) z = Constant<value_ints = [1]>()
        r = ReduceSum<keepdims = 0>(a, z) i = NonZero(r) s = Constant<value_ints = [0]>() j = Squeeze(i, s)
        g = Gather(a, j) y = Sqrt(g) }""",
        {"x": ((1, 4), (8, 4), (16, 4))},
        [{"x": (3, 4)}, {"x": (16, 4)}],
    ),
    "distinct values": (
        "(float[n] x) => (float[k] y, int64[n] i) { a = Round(x) u, f, i, c = Unique(a) y = Neg(u) }",
        {"x": ((1,), (8,), (16,))},
        [{"x": (9,)}, {"x": (1,)}],
    ),
    "boxes that do not overlap": (
        """(float[1,n,4] b, float[1,2,n] s) => (float[k,3] y) { m = Constant<value_ints = [3]>()
        t = Constant<value_floats = [0.5]>() i = NonMaxSuppression(b, s, m, t) f = Cast<to = 1>(i)
        y = Exp(f) }""",
        {"b": ((1, 1, 4), (1, 8, 4), (1, 16, 4)), "s": ((1, 2, 1), (1, 2, 8), (1, 2, 16))},
        [{"b": (1, 9, 4), "s": (1, 2, 9)}],
    ),
    "an end that is an input": (
        """(float[n,8] x, int64[1] k) => (float[m,8] y) { z = Constant<value_ints = [0]>()
        a = Slice(x, z, k, z) y = Relu(a) }""",
        {"x": ((4, 8), (8, 8), (16, 8))},
        [{"x": (9, 8)}],
    ),
}
# Cases in which a TensorRT engine reads a shape that depends on data, within its bounds.
BEHIND_DATA = {"rows that are not zero": 2, "distinct values": 2, "boxes that do not overlap": 1}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """(name, ONNX model, shapes to run on, plan) of each case."""
    body, shapes, runs = CASES[request.param]
    model = parser.parse_model(HEAD + body)
    return request.param, model, runs, mt.compile(model, ["cpu", "sm89"], shapes=shapes, cache=False)


def test_results_agree_with_onnx_runtime(case) -> None:
    """One Plan runs on every size of its range, and gives what ONNX Runtime gives on the model itself."""
    _, model, runs, plan = case
    rng = np.random.default_rng(0)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    reference = onnxruntime.InferenceSession(model.SerializeToString(), options)
    session = plan.session("cpu")
    for shapes in runs:
        feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        for entry in reference.get_inputs():
            if entry.name not in feeds:
                feeds[entry.name] = np.array([2]) if entry.name == "k" else np.eye(8, dtype=np.float32)
        found = session.run(feeds)
        for entry, expected in zip(reference.get_outputs(), reference.run(None, feeds), strict=True):
            assert found[entry.name].shape == expected.shape
            np.testing.assert_allclose(found[entry.name], expected, rtol=1e-4, atol=1e-5)


def test_engines_are_built_also_behind_shapes_made_from_data(case) -> None:
    """Where the shape has a bound, what reads it is in an engine; every value on the device has a place."""
    name, _, _, plan = case
    if name not in BEHIND_DATA:
        return
    assert plan.engines["target"].tolist().count("sm89") == BEHIND_DATA[name]
    assert not any(op.startswith("tensorrt.") for op in plan.fallbacks["op"])
    device = plan.memory.query("device == 'cuda' and space == 'device'")
    assert len(device) and device["bytes"].notna().all()


def test_named_dimensions_stay_named() -> None:
    """A dimension has its name on the inputs and outputs of the Plan, and on an engine's arguments."""
    model = parser.parse_model(HEAD + CASES["an expand to two inputs' shapes"][0])
    plan = mt.compile(model, "cpu", shapes=CASES["an expand to two inputs' shapes"][1])
    assert [str(spec) for spec in plan.inputs] == ["x: nx1xf32", "w: mxf32"]
    assert [str(spec) for spec in plan.outputs] == ["y: nxmxf32"]
    engine = next(line for line in plan.text().splitlines() if "func.func @main_0" in line)
    assert engine.count("tensorrt.dimension_names") >= 2


def test_a_size_that_no_profile_has_is_refused() -> None:
    """With two profiles the sizes between them belong to neither; the message says what there is."""
    body, shapes, _ = CASES["two profiles"]
    plan = mt.compile(parser.parse_model(HEAD + body), "cpu", shapes=shapes)
    weights = np.eye(8, dtype=np.float32)
    with pytest.raises(mt.InputError, match="'x'"):
        plan.session("cpu").run({"x": np.zeros((6, 8), np.float32), "w": weights})
