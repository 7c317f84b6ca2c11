"""tensorrt.if, for and while with an op inside that the builder refuses: opened, engines around that op."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.runtime.session import Session
from tests.unit.runtime.stand_in import LazyDevice, cuda_program

RNG = np.random.default_rng(0)
W = (RNG.standard_normal((4, 4)) / 2).astype(np.float32)
X = RNG.standard_normal((2, 4)).astype(np.float32)
XS = RNG.standard_normal((5, 2, 4)).astype(np.float32)

T = "tensor<2x4xf32>"
# The number of elements of %h that are not zero, as %count: no builder has non_zero.
COUNT = f"""
  %nz = tensorrt.non_zero %h : {T} -> tensor<2x?xi64>
  %dims = tensorrt.shape %nz : tensor<2x?xi64> -> tensor<2xi64>
  %last = tensorrt.constant dense<1> : tensor<i64>
  %n = tensorrt.gather {{axis = 0 : i64}} ins(%dims, %last : tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %f = tensorrt.cast %n : tensor<i64> to tensor<f32>
  %count = tensorrt.expand_rank %f : tensor<f32> to tensor<1x1xf32>
"""


def product(of: str) -> str:
    """%h, the product of a value with the weights."""
    plain = "op0 = #tensorrt.matrix_operation<kNONE>, op1 = #tensorrt.matrix_operation<kNONE>"
    return f"%h = tensorrt.matrix_multiply {{{plain}}} ins({of}, %w : {T}, tensor<4x4xf32>) -> {T}"


def add(result: str, a: str, b: str, kind: str = T) -> str:
    return f"{result} = tensorrt.element_wise <kSUM>({a}, {b} : {T}, {kind}) -> {T}"


def function(arguments: str, results: str, body: str) -> str:
    rows = ", ".join("[" + ", ".join(map(str, row)) + "]" for row in W)
    return (
        f"func.func @main({arguments}) -> ({results}) {{\n"
        f"  %w = tensorrt.constant dense<[{rows}]> : tensor<4x4xf32>\n{body}\n}}"
    )


IF = function(
    f"%c: tensor<i1>, %x: {T}",
    T,
    f"""%y = tensorrt.if (%c : tensor<i1>) -> {T} {{
      {product("%x")} {COUNT} {add("%r", "%h", "%count", "tensor<1x1xf32>")}
      tensorrt.yield %r : {T}
    }} else {{
      {product("%x")}
      tensorrt.yield %h : {T}
    }}
    return %y : {T}""",
)
FOR = function(
    f"%lb: tensor<i32>, %ub: tensor<i32>, %st: tensor<i32>, %x: {T}, %xs: tensor<5x2x4xf32>",
    f"{T}, tensor<2x?x4xf32>",
    f"""%y:2 = tensorrt.for %i = %lb to %ub step %st init(%a = %x) -> ({T}, tensor<2x?x4xf32>) {{
      {product("%a")} {COUNT}
      %it = tensorrt.iterator {{axis = 0 : i64, reverse = true}} %xs : tensor<5x2x4xf32> -> {T}
      {add("%q", "%h", "%it")}
      {add("%r", "%q", "%count", "tensor<1x1xf32>")}
      %ic = tensorrt.cast %i : tensor<i32> to tensor<f32>
      %ie = tensorrt.expand_rank %ic : tensor<f32> to tensor<1x1xf32>
      {add("%u", "%r", "%ie", "tensor<1x1xf32>")}
      tensorrt.yield %u, %h : {T}, {T}
    }} {{collected = ["kCONCATENATE"], collect_axes = array<i64: 1>}}
    return %y#0, %y#1 : {T}, tensor<2x?x4xf32>""",
)
WHILE = function(
    f"%n: tensor<i32>, %x: {T}",
    f"tensor<i32>, {T}",
    f"""%zero = tensorrt.constant dense<0> : tensor<i32>
    %one = tensorrt.constant dense<1> : tensor<i32>
    %y:2 = tensorrt.while (%zero, %x : tensor<i32>, {T}) -> tensor<i32>, {T} {{
    ^bb0(%k: tensor<i32>, %a: {T}):
      %c = tensorrt.element_wise <kLESS>(%k, %n : tensor<i32>, tensor<i32>) -> tensor<i1>
      tensorrt.condition (%c : tensor<i1>) %k, %a : tensor<i32>, {T}
    }}, {{
    ^bb0(%k: tensor<i32>, %a: {T}):
      {product("%a")} {COUNT.replace("%n", "%m")} {add("%r", "%h", "%count", "tensor<1x1xf32>")}
      %next = tensorrt.element_wise <kSUM>(%k, %one : tensor<i32>, tensor<i32>) -> tensor<i32>
      tensorrt.yield %next, %r : tensor<i32>, {T}
    }}
    return %y#0, %y#1 : tensor<i32>, {T}""",
)


def wanted_if(c, x):
    return [x @ W + 8 * c]


def wanted_for(lower, upper, step, x, xs):
    parts = []
    for turn, number in enumerate(range(lower, upper, step)):
        parts.append(x @ W)
        x = parts[-1] + xs[len(xs) - 1 - turn] + 8 + number
    return [x, np.stack(parts, axis=1) if parts else np.empty((2, 0, 4), np.float32)]


def wanted_while(n, x):
    for _ in range(n):
        x = x @ W + 8
    return [n, x]


def number(value: int) -> np.ndarray:
    return np.array(value, np.int32)


CASES = {
    "if": (IF, wanted_if, "plan.if", [(np.array(True), X), (np.array(False), X)]),
    "for": (
        FOR,
        wanted_for,
        "plan.loop",
        [(*map(number, bounds), X, XS) for bounds in ((0, 3, 1), (2, 9, 3), (3, 3, 1), (4, 1, 1))],
    ),
    "while": (WHILE, wanted_while, "plan.loop", [(number(3), X), (number(0), X)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_refused_construct_is_opened(name):
    """An engine does the product, the host the refused op; NumPy's numbers, also on the stand-in for a GPU."""
    text, wanted, kind, feeds = CASES[name]
    plan = mt.compile(mt.from_mlir(text), target=["cpu", "sm89"], cache=False)
    assert "sm89" in plan.engines.target.tolist()
    assert kind in plan.fallbacks.op.tolist()
    sessions = [plan.session("cpu"), Session(cuda_program(plan, LazyDevice()))]
    for session in sessions:
        for feed in feeds:
            found = session(*feed)
            found = found if isinstance(found, tuple) else (found,)
            for ours, theirs in zip(found, wanted(*feed), strict=True):
                assert ours.shape == np.shape(theirs)
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu_alone_it_stays_whole(name):
    """One engine of ONNX Runtime, with the same numbers, also without any turn."""
    text, wanted, _, feeds = CASES[name]
    plan = mt.compile(mt.from_mlir(text), target="cpu", cache=False)
    assert len(plan.timeline()) == 1
    session = plan.session("cpu")
    for feed in feeds:
        found = session(*feed)
        found = found if isinstance(found, tuple) else (found,)
        for ours, theirs in zip(found, wanted(*feed), strict=True):
            assert ours.shape == np.shape(theirs)
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
