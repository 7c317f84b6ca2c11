"""Recurrent layers in engines: the builder expands them by itself, also inside branches."""

from __future__ import annotations

import numpy as np
import pytest
from torch_mlir.dialects import func

from mlirtrt_nb.engine.base import BuildRequest
from mlirtrt_nb.engine.onnxruntime.builder import OnnxRuntimeBuilder
from mlirtrt_nb.engine.onnxruntime.session import OrtEngine
from mlirtrt_nb.engine.tensorrt import TensorRtBuilder
from mlirtrt_nb.frontends.text import from_mlir
from mlirtrt_nb.program import Program


def in_a_branch(steps: int) -> Program:
    """A function that runs an lstm, or gives its initial state back."""
    return from_mlir(f"""
func.func @main(%c: tensor<i1>, %x: tensor<{steps}x1x4xf32>, %w: tensor<1x8x4xf32>, %r: tensor<1x8x2xf32>,
                %h: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {{
  %0 = tensorrt.if (%c : tensor<i1>) -> tensor<1x1x2xf32> {{
    %y, %n, %m = tensorrt.lstm {{hiddenSize = 2 : i64}} ins(%x, %w, %r : tensor<{steps}x1x4xf32>,
        tensor<1x8x4xf32>, tensor<1x8x2xf32>) initial_hidden(%h : tensor<1x1x2xf32>)
        -> tensor<{steps}x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>
    tensorrt.yield %n : tensor<1x1x2xf32>
  }} else {{
    tensorrt.yield %h : tensor<1x1x2xf32>
  }}
  return %0 : tensor<1x1x2xf32>
}}""")


def request(program: Program, target: str) -> BuildRequest:
    (function,) = (op for op in program.module.body.operations if isinstance(op, func.FuncOp))
    return BuildRequest("main", function.operation, program.weights, target)


def test_a_step_in_a_branch_builds() -> None:
    """It is expanded where it stands, its layers name it, and the program keeps the op."""
    program = in_a_branch(1)
    before = program.text()
    engine = TensorRtBuilder().build(request(program, "sm89"))
    assert "y,n,m" in {source for row in engine.report.layers for source in row.sources}
    assert program.text() == before


def test_a_recurrence_in_a_branch_runs() -> None:
    """The branch taken gives the last hidden state; the other gives the state as it was."""
    program = in_a_branch(6)
    engine = OrtEngine(OnnxRuntimeBuilder().build(request(program, "cpu")), program.weights)
    rng = np.random.default_rng(0)
    x, w, r, h = (
        rng.standard_normal(s).astype(np.float32) for s in ((6, 1, 4), (1, 8, 4), (1, 8, 2), (1, 1, 2))
    )
    np.testing.assert_array_equal(engine.run([np.array(False), x, w, r, h])[0], h)
    (found,) = engine.run([np.array(True), x, w, r, h])
    np.testing.assert_allclose(found, _last_hidden(x[:, 0], w[0], r[0], h[0, 0])[None, None], rtol=1e-5)


CARRIED = {
    "an activation": "%b = tensorrt.activation {activationType = #tensorrt.activation_type<kTANH>} %a : "
    "tensor<2x2xf32>",
    "a product": "%b = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>, op1 = "
    "#tensorrt.matrix_operation<kNONE>} ins(%a, %h : tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>",
    "the other value": "%b = tensorrt.element_wise <kSUM>(%d, %d : tensor<2x2xf32>, tensor<2x2xf32>) -> "
    "tensor<2x2xf32>",
}


@pytest.mark.parametrize("last", CARRIED)
@pytest.mark.parametrize("branch", [False, True])
def test_loops_that_carry_on(last: str, branch: bool) -> None:
    """Loops build whatever makes the value that goes round, with values that nothing reads after the loop."""
    loop = f"""%z:2 = tensorrt.for %i = %lb to %ub step %s init(%a = %h, %d = %h) ->
        (tensor<2x2xf32>, tensor<2x2xf32>) {{
      {CARRIED[last]}
      tensorrt.yield %b, %a : tensor<2x2xf32>, tensor<2x2xf32>
    }}"""
    body = f"""%0 = tensorrt.if (%c : tensor<i1>) -> tensor<2x2xf32> {{
      {loop}
      tensorrt.yield %z#0 : tensor<2x2xf32>
    }} else {{
      tensorrt.yield %h : tensor<2x2xf32>
    }}"""
    program = from_mlir(f"""
func.func @main(%c: tensor<i1>, %h: tensor<2x2xf32>) -> tensor<2x2xf32> {{
  %lb = tensorrt.constant dense<0> : tensor<i32>
  %ub = tensorrt.constant dense<5> : tensor<i32>
  %s = tensorrt.constant dense<1> : tensor<i32>
  {body if branch else loop}
  return {"%0" if branch else "%z#0"} : tensor<2x2xf32>
}}""")
    assert len(TensorRtBuilder().build(request(program, "sm89")).report.layers) > 0


def _last_hidden(x: np.ndarray, w: np.ndarray, r: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    cell = np.zeros_like(hidden)
    for step in x:
        i, o, f, c = np.split(w @ step + r @ hidden, 4)
        i, o, f = (1 / (1 + np.exp(-gate)) for gate in (i, o, f))
        cell = f * cell + i * np.tanh(c)
        hidden = o * np.tanh(cell)
    return hidden
