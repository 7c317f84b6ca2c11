"""Ops go by one name in all that a user reads: the one that the text of a program has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import mlirtrt_nb as mt
from mlirtrt_nb.ir.context import with_shown_names
from mlirtrt_nb.numerics.interpreter import Interpreter
from mlirtrt_nb.passes.effects import effects

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = onnx.Identity(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = onnx.Det(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
"""


def test_deltas_effects_and_firings() -> None:
    """What a step counts and reports is spelt as in its diff."""
    program = mt.from_mlir(TEXT)
    (step,) = mt.Pipeline.parse("onnx-eliminate-identity").run(program, isolate=False).steps
    assert step.op_delta == {"onnx.Identity": -1}
    assert "onnx.Identity" in str(step) and "onnx.identity" not in str(step)
    (effect,) = effects(program, names=["onnx-eliminate-identity"], isolate=False)
    assert effect.op_delta == {"onnx.Identity": -1}

    @mt.rewrite("onnx.identity", name="drop-identity-shown")
    def drop(op: Any) -> Any:
        return op.operand("input")

    (step,) = mt.Pipeline([drop]).run(program, isolate=False).steps
    assert [firing.op for firing in step.fired] == ["onnx.Identity"]


def test_errors_of_a_rewrite() -> None:
    """What a rewrite may not return, and what its op lacks, name the op as it is shown."""

    @mt.rewrite("onnx.Identity", name="returns-two")
    def two(op: Any) -> Any:
        return [op.operand("input")] * 2

    @mt.rewrite("onnx.Identity", name="asks-for-kernel")
    def asks(op: Any) -> Any:
        return op.kernel

    program = mt.from_mlir(TEXT)
    with pytest.raises(mt.PassError, match=r"returned 2 values for onnx\.Identity, which has 1 results"):
        mt.Pipeline([two]).run(program, isolate=False)
    with pytest.raises(mt.PassError, match=r"hint: onnx\.Identity has operands input; attributes none"):
        mt.Pipeline([asks]).run(program, isolate=False)


def test_ops_of_a_run_op_by_op() -> None:
    """The numerics tools, which run what is left of ONNX too, name it so."""
    node = helper.make_node("Det", ["x"], ["y"], name="det")
    x = helper.make_tensor_value_info("x", 1, [2, 2])
    y = helper.make_tensor_value_info("y", 1, [])
    model = helper.make_model(
        helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 22)]
    )
    interpreter = Interpreter(mt.load(model))
    assert [step.op for step in interpreter.steps] == ["onnx.Det"]
    assert interpreter.run({"x": np.eye(2, dtype=np.float32)})["y"] == 1


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "'onnx.batchnormalization' op has 2 results",
            "'onnx.BatchNormalization' op has 2 results",
        ),
        ("expected 1.5 for tensorrt.softmax or func.func", "expected 1.5 for tensorrt.softmax or func.func"),
        ("attribute plan.onnx.relu, onnx.relux", "attribute plan.onnx.relu, onnx.relux"),
    ],
)
def test_what_mlir_says(said: str, shown: str) -> None:
    """Its messages have whole names of ops replaced, and nothing else."""
    assert with_shown_names(said) == shown


def test_near_names_fit_the_form() -> None:
    """A misspelt op is answered in the form that it was written in, custom or generic."""
    custom = TEXT.replace("onnx.Identity", "onnx.Identityy")
    with pytest.raises(mt.ParseError, match=r"hint: did you mean onnx\.Identity "):
        mt.from_mlir(custom)
    generic = TEXT.replace("onnx.Identity", '"onnx.identityy"')
    with pytest.raises(mt.ParseError, match=r"hint: did you mean onnx\.identity "):
        mt.from_mlir(generic)
    unended = TEXT.replace("  return %z : tensor<4xf32>\n", "")
    with pytest.raises(mt.VerificationError, match=r"its last op is onnx\.Det"):
        mt.from_mlir(unended)
