"""What a pass of the user's own makes is held against the rules of its ops, before anything else sees it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch_mlir import ir

import mlirtrt_nb as mt
from mlirtrt_nb.ir.builder import Op, create
from mlirtrt_nb.ir.made import Made
from mlirtrt_nb.passes.base import Pass, PassContext

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
SUM = """
func.func @main(%x: tensor<4x2xf32>) -> tensor<4xf32> {
  %y = tensorrt.reduce <kSUM> %x {reduceAxes = array<i64: 1>} : tensor<4x2xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
KAPUT = [
    ("softmax", {"axis": 9}, "tensorrt.softmax: axis = 9 is not a dimension of a tensor of rank 1"),
    ("activation", {"activationType": "kLEAKY_RELU"}, "activationType kLEAKY_RELU needs alpha"),
    ("activation", {}, "tensorrt.activation: needs the attribute activationType (enum:activation_type)"),
]


def rewriting(op: str, attributes: dict[str, Any]) -> Pass:
    """A pass that makes one other op of each activation."""

    @mt.rewrite("tensorrt.activation", name="kaput")
    def kaput(given: Op) -> ir.Operation:
        return create(f"tensorrt.{op}", [given.operand("input")], attributes)

    return kaput


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize(("op", "attributes", "said"), KAPUT)
def test_a_wrong_op_is_the_fault_of_the_pass_that_made_it(
    op: str, attributes: dict[str, Any], said: str, isolate: bool
) -> None:
    """The error names the pass, the line that made the op, the rule and the op; it keeps the program before."""
    program = mt.from_mlir(TEXT)
    pipeline = mt.Pipeline.parse("cse").insert(rewriting(op, attributes)).insert("canonicalize")
    with pytest.raises(mt.PassError) as caught:
        pipeline.run(program, isolate=isolate)
    error = caught.value
    assert error.what.startswith("pass kaput left invalid IR: ") and said in error.what
    assert error.where == "y"
    assert error.span is not None and error.span.filename == __file__
    assert error.span.text.strip() == 'return create(f"tensorrt.{op}", [given.operand("input")], attributes)'
    assert isinstance(error.last_good, mt.Program) and error.last_good.text() == program.text()
    assert [step.name for step in error.partial_run.steps] == ["cse"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("isolate", [True, False])
def test_no_plan_is_made_of_it(isolate: bool) -> None:
    """A compilation stops there too, without snapshots."""
    pipeline = mt.Pipeline.default().insert(rewriting("softmax", {"axis": 9}), after="onnx-to-tensorrt")
    with pytest.raises(mt.PassError, match="pass kaput left invalid IR") as caught:
        mt.compile(mt.from_mlir(TEXT), pipeline=pipeline, cache=False, isolate=isolate)
    assert "kRELU" in caught.value.last_good.text()  # type: ignore[attr-defined]


def test_a_changed_attribute_is_seen() -> None:
    """A pass that changes an op in place is held against the rules like one that makes another."""

    @mt.module_pass("wrong-axes")
    def wrong_axes(program: mt.Program) -> None:
        function = next(iter(program.module.body.operations))
        reduce = function.regions[0].blocks[0].operations[0]
        reduce.attributes["reduceAxes"] = ir.DenseI64ArrayAttr.get([9])

    with pytest.raises(mt.PassError, match=r"pass wrong-axes left invalid IR: tensorrt.reduce: .*9"):
        mt.Pipeline([wrong_axes]).run(mt.from_mlir(SUM))


class OfAClass(Pass):
    """Takes the kind off every activation."""

    name = "of-a-class"

    def apply(self, program: mt.Program, context: PassContext) -> None:
        """Delete the attribute."""

        def visit(operation: ir.Operation) -> ir.WalkResult:
            if operation.name == "tensorrt.activation":
                del operation.attributes["activationType"]
            return ir.WalkResult.ADVANCE

        program.module.operation.walk(visit)


@pytest.mark.parametrize("isolate", [True, False])
def test_a_class_of_the_users_is_an_own_pass(isolate: bool) -> None:
    """Its error points at its `apply`."""
    with pytest.raises(mt.PassError, match="pass of-a-class left invalid IR") as caught:
        mt.Pipeline([OfAClass()]).run(mt.from_mlir(TEXT), isolate=isolate)
    assert caught.value.span is not None and "def apply(self" in caught.value.span.text


def test_patterns_are_held_against_the_rules_too() -> None:
    """A pass that is text is named by its first line."""
    text = """
    pdl.pattern @kaput : benefit(1) {
      %kind = pdl.type
      %x = pdl.operand : %kind
      %old = pdl.operation "tensorrt.activation"(%x : !pdl.value) -> (%kind : !pdl.type)
      pdl.rewrite %old {
        %new = pdl.operation "tensorrt.softmax"(%x : !pdl.value) -> (%kind : !pdl.type)
        pdl.replace %old with %new
      }
    }
    """
    with pytest.raises(
        mt.PassError, match=r"left invalid IR: tensorrt\.softmax: needs the attribute"
    ) as caught:
        mt.Pipeline([mt.pdl_pass("by-pattern", text)]).run(mt.from_mlir(TEXT))
    assert caught.value.span is not None and "pdl.pattern @kaput" in caught.value.span.text


def test_what_was_wrong_before_is_not_blamed_on_the_pass() -> None:
    """A rule that the program broke already is left to whoever verifies the program."""
    program = mt.from_mlir(TEXT)
    OfAClass().apply(program, PassContext())

    @mt.module_pass("looks-on")
    def looks_on(program: mt.Program) -> None:
        program.module.operation.attributes["test.seen"] = ir.UnitAttr.get()

    assert "test.seen" in mt.Pipeline([looks_on]).run(program).program.text()


def test_ops_made_by_other_means_are_put_to_the_pass() -> None:
    """Of what MLIR's own bindings made no line is known."""

    @mt.rewrite("tensorrt.activation", name="by-bindings")
    def by_bindings(op: Op) -> ir.Operation:
        x = op.operand("input")
        create("tensorrt.softmax", [x], {"axis": 0})
        return ir.Operation.create("tensorrt.softmax", [x.type], [x])

    with pytest.raises(
        mt.PassError, match=r"left invalid IR: tensorrt\.softmax: needs the attribute"
    ) as caught:
        mt.Pipeline([by_bindings]).run(mt.from_mlir(TEXT), isolate=False)
    assert caught.value.span is not None
    assert caught.value.span.text.strip() == '@mt.rewrite("tensorrt.activation", name="by-bindings")'


@pytest.mark.parametrize("isolate", [True, False])
def test_what_mlir_refuses_is_put_to_its_line_too(isolate: bool) -> None:
    """The verifier of MLIR says what is wrong, the package where the op was made."""

    def joined(*values: ir.Value) -> ir.Operation:
        return create("tensorrt.concatenation", [values], {"axis": 0}, [values[0].type])

    @mt.rewrite("tensorrt.activation", name="miscounts")
    def miscounts(op: Op) -> ir.Operation:
        right, wrong = joined(op.operand("input")), joined(op.operand("input"))
        wrong.attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1])
        return right

    with pytest.raises(mt.PassError, match="pass miscounts left invalid IR: ") as caught:
        mt.Pipeline([miscounts]).run(mt.from_mlir(TEXT), isolate=isolate)
    assert caught.value.span is not None
    assert caught.value.span.text.strip().startswith('return create("tensorrt.concatenation"')


def test_a_line_outside_the_run_is_not_the_place() -> None:
    """Nor is a line outside the run: where none inside made the op, the error points at the pass."""
    made = Made(sys._getframe())
    with mt.from_mlir(TEXT).context, ir.Location.unknown():
        op = ir.Operation.create("test.op")
        made.add(op, sys._getframe())
    assert made.place(op) is None


WEIGHT = """
func.func @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %w = tensorrt.constant dense_resource<w1> : tensor<4x32xf32>
  %y = tensorrt.element_wise <kSUM>(%x, %w : tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}
"""


def scaling(change: Callable[[np.ndarray], Any]) -> Pass:
    """A pass that changes the values of the weight w1."""

    @mt.module_pass("scale")
    def scale(program: mt.Program) -> None:
        program.weights["w1"] = change(program.weights["w1"])

    return scale


def weighted() -> mt.Program:
    """A sum with a weight of ones."""
    program = mt.from_mlir(WEIGHT)
    program.weights["w1"] = np.ones((4, 32), np.float32)
    return program


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize("target", ["cpu", "sm89"])
def test_a_weight_of_another_dtype_is_the_fault_of_the_pass(target: str, isolate: bool) -> None:
    """No engine is built that reads the bytes of f64 as f32; the error says which weight, and the cure."""
    scale = scaling(lambda array: array * np.linspace(0.5, 1, 4)[:, None])
    pipeline = mt.Pipeline.default(target).insert(scale, after="onnx-to-tensorrt")
    with pytest.raises(mt.PassError) as caught:
        mt.compile(weighted(), target, pipeline=pipeline, cache=False, isolate=isolate)
    error = caught.value
    assert error.what == (
        "pass scale left invalid IR: the weight 'w1' is an array of float64; "
        "its type in the IR is tensor<4x32xf32>"
    )
    assert error.hint == "write .astype(np.float32)" and error.where == "w"
    assert error.span is not None and "scale" in error.span.text


def test_a_weight_of_another_shape_or_none_is_the_fault_of_the_pass() -> None:
    """An array that is too short would be read beyond its end."""
    with pytest.raises(mt.PassError, match=r"pass scale .* 'w1' is an array of shape \(3,\)"):
        mt.Pipeline([scaling(lambda _: np.zeros(3, np.float32))]).run(weighted())

    @mt.module_pass("lose")
    def lose(program: mt.Program) -> None:
        del program.weights["w1"]

    with pytest.raises(mt.PassError, match=r"pass lose .* weights that it does not have: w1"):
        mt.Pipeline([lose]).run(weighted())


def test_new_values_of_the_type_are_taken() -> None:
    """The Plan computes with what the pass made of the weight."""
    pipeline = mt.Pipeline.default().insert(scaling(lambda array: array * np.float32(3)))
    plan = mt.compile(weighted(), pipeline=pipeline.move("scale", after="onnx-to-tensorrt"), cache=False)
    found = plan.session("cpu")(np.ones((4, 32), np.float32))
    np.testing.assert_array_equal(found, np.full((4, 32), 4, np.float32))


@pytest.mark.parametrize("isolate", [True, False])
def test_a_change_in_place_is_refused(isolate: bool) -> None:
    """It would show in the program that the run started from, or be lost in the other process."""
    program = weighted()
    array = program.weights["w1"]

    @mt.module_pass("halve")
    def halve(program: mt.Program) -> None:
        program.weights["w1"] *= np.float32(0.5)

    with pytest.raises(mt.PassError, match=r"ValueError in pass halve: .*read-only") as caught:
        mt.Pipeline([halve]).run(program, isolate=isolate)
    assert caught.value.hint is not None and "program.weights[name] = ..." in caught.value.hint
    assert program.weights["w1"] is array and array.flags.writeable and array.max() == 1


@pytest.mark.parametrize("isolate", [True, False])
def test_a_pass_that_changes_weights_alone_changed_something(isolate: bool) -> None:
    """The step, its diff and its displays say which weights differ; equal values are no change."""
    same = mt.module_pass("same")(lambda program: program.weights.update(w1=program.weights["w1"].copy()))
    run = mt.Pipeline([scaling(lambda array: array / 2), same]).run(weighted(), isolate=isolate)
    scaled, copied = run.steps
    assert (scaled.changed, scaled.changed_ir, scaled.changed_weights) == (True, False, ("w1",))
    assert (copied.changed, copied.changed_weights) == (False, ())
    assert run.diff("scale") == "scale: only weights differ: w1"
    assert "<p>only weights differ: w1</p>" in run.diff("scale")._repr_html_()
    assert run.diff("same") == "same changed nothing"
    assert "● changed  only weights differ: w1" in str(run)
    assert "only weights differ: w1" in str(scaled) and "weights" not in str(copied)
    assert list(run.df["changed"]) == [True, False]
