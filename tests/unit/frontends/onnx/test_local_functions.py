"""Functions that a model brings: their defaults, calls in branches, and functions of another opset."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

import mlirtrt_nb as mt
from mlirtrt_nb.errors import InvalidModelError
from mlirtrt_nb.frontends.onnx import from_onnx

X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8


def run(text: str, **feeds: np.ndarray) -> np.ndarray:
    """The model's one output on the CPU."""
    plan = mt.compile(parser.parse_model(text), cache=False, isolate=False)
    return plan.session("cpu")(**feeds)


DEFAULTS = """<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
main (float[2,4] x, bool c) => (float[2,4] y) {
    a = local.outer<k = 2.0>(x)
    y = If(c) <then_branch = t () => (float[2,4] p) { p = local.inner(a) },
               else_branch = e () => (float[2,4] q) { q = local.outer(a) }>
}
<opset_import: ["" : 18], domain: "local"> inner (x) => (y) { y = Tanh(x) }
<opset_import: ["" : 18, "local" : 1], domain: "local"> outer <k: float = 3.0> (x) => (y) {
    h = local.inner(x) s = Constant<value_float: float = @k>() y = Mul(h, s)
}"""


def test_attributes_that_a_call_leaves_out_have_their_defaults() -> None:
    """Also in calls inside branches, and in a function that calls another."""
    a = 2 * np.tanh(X)
    np.testing.assert_allclose(run(DEFAULTS, x=X, c=np.array(True)), np.tanh(a), rtol=1e-5)
    np.testing.assert_allclose(run(DEFAULTS, x=X, c=np.array(False)), 3 * np.tanh(a), rtol=1e-5)


def test_a_function_of_another_opset_is_brought_to_the_models() -> None:
    """Axes of ReduceSum were an attribute in opset 11 and are an input in 18."""
    text = """<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
    main (float[2,4] x) => (float[2] y) { y = local.f(x) }
    <opset_import: ["" : 11], domain: "local"> f (x) => (y) { y = ReduceSum<axes = [1], keepdims = 0>(x) }"""
    np.testing.assert_allclose(run(text, x=X), X.sum(axis=1), rtol=1e-6)


def test_a_function_that_calls_itself_is_refused() -> None:
    """With one short message, and soon."""
    text = """<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
    main (float[2,4] x) => (float[2,4] y) { y = local.f(x) }
    <opset_import: ["" : 18, "local" : 1], domain: "local"> f (x) => (y) { h = Relu(x) y = local.f(h) }"""
    with pytest.raises(InvalidModelError):
        from_onnx(parser.parse_model(text))
