"""If, Loop and Scan become the dialect's branches and loops, whole or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from mlirtrt_nb.dialects.tensorrt.limits import refusal
from mlirtrt_nb.frontends.onnx import from_onnx
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.tensorrt.conversions import function
from mlirtrt_nb.passes.tensorrt.onnx_to_tensorrt import OnnxToTensorrt

from .support import check, converted, fallbacks, model, normal, ops

BRANCHES = """
    y = If(c) <
        then_branch = t () => (float[2,3] a) {{ a = {then} }},
        else_branch = e () => (float[2,3] b) {{ b = {other} }}
    >
"""


def branches(then, other, result="2,3"):
    return model(
        f"(bool c, float[2,3] x) => (float[{result}] y)",
        BRANCHES.format(then=then, other=other),
        {"w": normal(3)},
    )


def test_branches_that_read_what_is_outside():
    """Captured inputs and constants, and ops of several layers."""
    proto = branches("Add(x, w)", "Tanh(x)")
    for c in (True, False):
        counts = check(proto, {"c": np.array(c), "x": normal(2, 3)})
        assert counts == {"if": 1}


def test_a_branch_that_gives_an_outer_value():
    """A branch may compute nothing."""
    proto = branches("Identity(x)", "Neg(x)")
    for c in (True, False):
        check(proto, {"c": np.array(c), "x": normal(2, 3)})


def test_branches_of_different_shape():
    """Where the branches disagree the result is dynamic; another rank is refused."""
    body = """
        y = If(c) <
            then_branch = t () => (float[2,3] a) { a = Neg(x) },
            else_branch = e () => (float[2,6] b) { b = Concat<axis = 1>(x, x) }
        >
    """
    proto = model("(bool c, float[2,3] x) => (float[2,N] y)", body)
    for c in (True, False):
        check(proto, {"c": np.array(c), "x": normal(2, 3)})
    ranks = body.replace("float[2,6] b", "float[6] b").replace("Concat<axis = 1>(x, x)", "Reshape(x, six)")
    refused = model("(bool c, float[2,3] x) => (float[N] y)", ranks, {"six": np.array([6])})
    assert "branches that give" in fallbacks(converted(refused))["onnx.if"]


def test_an_op_in_a_branch_that_no_layer_has():
    """The whole If stays, and the reason names the op; nothing of it is left in the tensorrt dialect."""
    program = converted(branches("Neg(x)", "Bernoulli(x)"))
    assert fallbacks(program) == {"onnx.if": "in its body, bernoulli: no TensorRT layer for Bernoulli"}
    assert ops(program) == {"onnx.if": 1}


LOOP = """
    y, s = Loop(m, {cond}, x) <
        body = b (int64 i, bool go, float[2,3] v) => (bool out, float[2,3] w, float[2,3] z) {{
            f = Cast<to = 1>(i)  w = Add(v, f)  z = Mul(w, w)  out = {out}
        }}
    >
"""


@pytest.mark.parametrize("cond", ["", "yes"])
def test_counted_loops(cond):
    """A trip count and no condition: a `for` that carries and collects."""
    body = LOOP.format(cond=cond, out="Identity(go)")
    constants = {"yes": np.array(True)} if cond else {}
    proto = model("(int64 m, float[2,3] x) => (float[2,3] y, float[K,2,3] s)", body, constants)
    counts = check(proto, {"m": np.array(4), "x": normal(2, 3)}, {"m": np.array(1), "x": normal(2, 3)})
    assert counts["for"] == 1
    assert "while" not in counts


def test_loops_that_a_condition_ends():
    """The condition that a turn computes decides about the next one."""
    body = """
        y = Loop(, go0, x) <
            body = b (int64 i, bool go, float v) => (bool out, float w) {
                w = Mul(v, two)  out = Less(w, limit)
            }
        >
    """
    constants = {"go0": np.array(True), "two": np.array(2, np.float32), "limit": np.array(100, np.float32)}
    proto = model("(float x) => (float y)", body, constants)
    assert check(proto, {"x": np.array(3, np.float32)}, {"x": np.array(60, np.float32)}) == {"while": 1}


def test_a_carried_value_that_grows_stays():
    """TensorRT's loops carry values of one shape."""
    body = """
        y = Loop(m, , x) <
            body = b (int64 i, bool go, float[N] v) => (bool out, float[K] w) {
                w = Concat<axis = 0>(v, v)  out = Identity(go)
            }
        >
    """
    program = converted(model("(int64 m, float[2] x) => (float[N] y)", body))
    assert "carried value" in fallbacks(program)["onnx.loop"]
    assert set(ops(program)) == {"onnx.loop"}


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        "scan_input_directions = [1], ",
        "scan_output_directions = [1], ",
        "scan_input_axes = [1], scan_output_axes = [1], ",
    ],
)
def test_scans(attributes):
    """Slices of the input in either direction and along any axis, outputs collected likewise."""
    body = f"""
        h, s = Scan(h0, x) <num_scan_inputs = 1, {attributes}
            body = b (float[3] a, float[3] e) => (float[3] n, float[3] o) {{ n = Add(a, e)  o = Tanh(n) }}
        >
    """
    proto = model("(float[3] h0, float[3,3] x) => (float[3] h, float[P,Q] s)", body)
    counts = check(proto, {"h0": normal(3), "x": normal(3, 3)})
    assert counts["for"] == 1


def test_loops_within_loops_reuse_names():
    """Two bodies with the same inner names do not disturb each other."""
    ports = "(int64 i, bool go, float v) => (bool out, float w)"
    loop = "Loop(m, , {x}) <body = b " + ports + " {{ w = {op}(v, two)  out = Identity(go) }}>"
    body = f"p = {loop.format(x='x', op='Add')}  y = {loop.format(x='p', op='Mul')}"
    proto = model("(int64 m, float x) => (float y)", body, {"two": np.array(2, np.float32)})
    assert check(proto, {"m": np.array(3), "x": np.array(1, np.float32)})["for"] == 2


def test_what_ends_a_conversion_leaves_no_op_behind(monkeypatch):
    """A loop that was opened in vain is erased also where the stop button comes: it reads the module's values,
    and would end the process that frees it after the module."""
    opened = []
    reject = function._Function._reject

    def rejected(self, construct, done):
        opened.append(construct.operation)
        reject(self, construct, done)

    def stop(made):
        if made.name == "tensorrt.softmax":
            raise KeyboardInterrupt
        return refusal(made)

    monkeypatch.setattr(function._Function, "_reject", rejected)
    monkeypatch.setattr(function, "refusal", stop)
    body = """
        n = Loop(t, , x) <body = b (int64 i, bool on, float[a,3] v) => (bool go, float[c,3] w) {
            go = Identity(on) w = Concat<axis = 0>(v, x)
        }>
        y = Softmax(x)
    """
    proto = model("(int64 t, float[2,3] x) => (float[2,3] y, float[m,3] n)", body)
    with pytest.raises(KeyboardInterrupt):
        OnnxToTensorrt().apply(from_onnx(proto), PassContext(("cpu", "sm89")))
    (construct,) = opened
    with pytest.raises(RuntimeError, match="invalidated"):
        construct.name  # noqa: B018 - what is asked for is the error
