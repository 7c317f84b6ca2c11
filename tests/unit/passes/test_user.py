"""The user's own passes take part like built-in ones."""

from __future__ import annotations

import json
from html import unescape

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import OptionError, PassError
from mlirtrt_nb.ir.builder import create
from mlirtrt_nb.passes.mlir_pass import USUAL

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  %1 = tensorrt.activation {activationType = #tensorrt.activation_type<kTANH>} %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def run(pass_):
    """The text after the pass alone, and the run."""
    made = mt.Pipeline().insert(pass_).run(mt.from_mlir(TEXT))
    return made.program.text(), made


def test_a_rewrite_replaces_the_ops_it_returns_something_for():
    """Only the op the function answers for goes; the count and the name are the function's."""

    @mt.rewrite("tensorrt.activation")
    def drop_relu(op):
        return op.operand("input") if op.attr("activationType") == "kRELU" else None

    text, made = run(drop_relu)
    assert "kRELU" not in text and "kTANH" in text
    assert drop_relu.fired == 1
    assert made.steps[0].name == "drop-relu"
    assert made.steps[0].op_delta == {"tensorrt.activation": -1}


def test_a_rewrite_can_build_new_ops_in_the_place_of_the_old():
    """The insertion point stands before the op, and its location is the new op's."""

    @mt.rewrite("tensorrt.activation", name="to-unary")
    def to_unary(op):
        if op.attr("activationType") == "kTANH":
            return create("tensorrt.unary", [op.operand("input")], {"unaryOperation": "kABS"})

    text, _ = run(to_unary)
    assert "tensorrt.unary" in text and "kABS" in text and "kTANH" not in text


def test_a_module_pass_gets_the_program():
    """It may do anything to the program's module; the original stays."""

    @mt.module_pass("stamp")
    def stamp(program):
        from torch_mlir import ir

        program.module.operation.attributes["test.stamp"] = ir.UnitAttr.get()

    text, _ = run(stamp)
    assert "test.stamp" in text


@pytest.mark.parametrize("isolate", [True, False])
def test_an_exception_inside_a_library_points_at_the_users_line(isolate):
    """The line that called the library, not one of the library's."""

    @mt.module_pass("read-json")
    def broken(program):
        json.loads("{")

    with pytest.raises(PassError, match="JSONDecodeError in pass read-json: Expecting property name") as caught:
        mt.Pipeline().insert(broken).run(mt.from_mlir(TEXT), isolate=isolate)
    assert caught.value.span.text.strip() == 'json.loads("{")'


def test_an_exception_points_at_the_users_line_and_keeps_the_last_good_ir():
    """The error names the pass and shows the line that raised."""

    @mt.rewrite("tensorrt.activation")
    def broken(op):
        raise ZeroDivisionError("oh")

    program = mt.from_mlir(TEXT)
    with pytest.raises(PassError) as caught:
        mt.Pipeline().insert(broken).run(program)
    assert "ZeroDivisionError in pass broken: oh" in str(caught.value)
    assert caught.value.span.text.strip() == 'raise ZeroDivisionError("oh")'
    assert caught.value.last_good.text() == mt.from_mlir(TEXT).text()


def test_wrong_types_and_counts_are_refused():
    """A replacement of another type, or the wrong number of values, is an error that names the pass."""

    @mt.rewrite("tensorrt.activation")
    def too_many(op):
        return [op.operand("input")] * 2

    with pytest.raises(PassError, match="returned 2 values"):
        run(too_many)


def test_an_unknown_op_suggests_near_names():
    """A typo in the op's name is found when the rule is written."""
    with pytest.raises(
        OptionError, match=r"no op named 'tensorrt.activaton'\n  hint: did you mean tensorrt.activation"
    ):
        mt.rewrite("tensorrt.activaton")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda op: op, "returned an Op for"),
        (lambda op: op.operation, "by itself"),
        (lambda op: op.operation.results[0], "by itself"),
        (lambda op: 3, "returned an int for"),
        (lambda op: "abc", "returned a str"),
        (lambda op: [], "returned 0 values"),
        (lambda op: [op.operand("input")] * 2, "returned 2 values"),
    ],
)
def test_what_cannot_replace_an_op(returned, message) -> None:
    """Each is an error that says so; an op that would replace itself is not gone through without an end."""
    with pytest.raises(PassError, match=f"pass wrong .*{message}") as caught:
        run(mt.rewrite("tensorrt.activation", name="wrong")(returned))
    assert caught.value.span.text.strip().startswith("(lambda op:")
    assert "return None to leave the op" in caught.value.hint


def test_a_rewrite_takes_the_name_that_is_shown() -> None:
    """ONNX's own spelling means the op that MLIR writes in lower case; another spelling suggests that."""
    assert mt.rewrite("onnx.Relu")(lambda op: None).op_name == "onnx.relu"
    assert mt.rewrite("onnx.relu")(lambda op: None).op_name == "onnx.relu"
    with pytest.raises(OptionError, match=r"no op named 'onnx.RELU'\n  hint: did you mean onnx.relu"):
        mt.rewrite("onnx.RELU")


def test_a_pass_says_where_it_is_from() -> None:
    """Shown in a notebook or among the passes of a pipeline, it has its name and the line of its function."""

    @mt.module_pass("look-around")
    def look(program: mt.Program) -> None:
        """Change nothing."""

    assert repr(look) == f"<ModulePass 'look-around' from {look.source}>"
    assert look.source.rpartition(":")[2].isdigit()


def test_a_pipeline_is_made_of_passes() -> None:
    """Passes and their text become entries; what is none is refused at once."""
    leave = mt.rewrite("tensorrt.activation", name="leave")(lambda op: None)
    pipeline = mt.Pipeline([leave, "-canonicalize{max-iterations=3}", mt.Pipeline.parse("cse").entries[0]])
    assert str(pipeline) == "leave,-canonicalize{max-iterations=3},cse"
    assert [step.name for step in pipeline.run(mt.from_mlir(TEXT)).steps] == ["leave", "cse"]
    with pytest.raises(OptionError, match=r"not of function\n  hint: make a pass of it with @mt.rewrite"):
        mt.Pipeline([lambda op: None])
    with pytest.raises(OptionError, match="made of passes, not of int"):
        mt.Pipeline().insert(3)
    with pytest.raises(OptionError, match=r"are a list, not one RewritePass\n  hint: write Pipeline\(\[it\]\)"):
        mt.Pipeline(leave)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("canonicalise", "did you mean canonicalize, "),
        ("csee", r"did you mean cse\?"),
        ("fold-batchnorm", "did you mean fold-batch-norm"),
        ("zzzz", r"mt.passes\(\) lists the passes"),
        ("canonicalize{nope=1}", "its options are .*max-iterations"),
    ],
)
def test_an_unknown_pass_suggests_near_names(name, hint) -> None:
    """The package's passes and MLIR's are one list, nearest first."""
    with pytest.raises(OptionError, match=f"hint: {hint}"):
        mt.Pipeline.parse(name)


def test_the_usual_passes_of_mlir_exist() -> None:
    """Every name that is suggested can be run."""
    assert [entry.name for entry in mt.Pipeline(USUAL)] == list(USUAL)


def test_passes_of_mlir_say_what_they_do() -> None:
    """A pipeline's card has a sentence of its own for each, as it has for the package's passes."""
    card = unescape(mt.Pipeline.default()._repr_html_())
    assert USUAL["canonicalize"] in card and USUAL["cse"] in card
    assert len(set(USUAL.values())) == len(USUAL)


def test_invalid_ir_is_said_to_be_why() -> None:
    """The error of a pass that leaves invalid IR has what the verifier says of it."""

    @mt.module_pass("breaks")
    def breaks(program):
        first, second, _ = program.module.body.operations[0].regions[0].blocks[0].operations
        first.operation.operands[0] = second.operation.results[0]

    with pytest.raises(PassError, match=r"pass breaks left invalid IR: .*dominate") as caught:
        run(breaks)
    assert caught.value.last_good is not None


@pytest.mark.parametrize("name", ["", " a", "-a", "a,b", "a{b}", 3, None, lambda program: None])
def test_names_that_the_text_of_a_pipeline_cannot_have(name) -> None:
    """They are refused, and so is a function where the parentheses were forgotten."""
    with pytest.raises(OptionError, match=r"cannot name a pass|the name of a pass is text"):
        mt.module_pass(name)(lambda program: None)


def test_a_name_of_the_package_is_taken() -> None:
    """The text of a pipeline would mean the package's pass."""
    with pytest.raises(OptionError, match="'fold-batch-norm' is a pass of this package"):
        mt.module_pass("fold-batch-norm")(lambda program: None)


def test_what_is_no_function() -> None:
    """A pass is made of a function, and a rewrite of an op's name."""
    with pytest.raises(OptionError, match="pass x is made of an int"):
        mt.module_pass("x")(3)
    with pytest.raises(OptionError, match="the op's name is a function"):
        mt.rewrite(lambda op: None)


def test_a_message_is_of_bounded_length():
    """What the user's code says is cut where it is endless; nothing follows the name where it says nothing."""

    @mt.module_pass("says-much")
    def says_much(program):
        raise ValueError("z" * 1_000_000 if program.weights else "")

    program = mt.from_mlir(TEXT)
    with pytest.raises(PassError) as caught:
        mt.Pipeline([says_much]).run(program, isolate=False)
    assert caught.value.what == "ValueError in pass says-much"
    program.weights["w"] = np.zeros(1, np.float32)
    with pytest.raises(PassError) as caught:
        mt.Pipeline([says_much]).run(program, isolate=False)
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize("isolate", [True, False])
def test_a_rewrite_that_forgets_to_return_is_told(isolate):
    """What it made stands there unused, at the line that made it."""

    @mt.rewrite("tensorrt.activation", name="forgets")
    def forgets(op):
        create("tensorrt.activation", [op.operand("input")], {"activationType": "kTANH"})

    with pytest.raises(PassError, match=r"pass forgets made tensorrt.activation for nothing") as caught:
        mt.Pipeline([forgets]).run(mt.from_mlir(TEXT), isolate=isolate)
    assert caught.value.span.text.strip().startswith('create("tensorrt.activation"')
    assert "return what takes the place" in caught.value.hint


def test_a_rewrite_may_change_its_op_in_place():
    """An op that it makes and puts before its own is used, though it returns None."""

    @mt.rewrite("tensorrt.activation", name="twice")
    def twice(op):
        made = create("tensorrt.activation", [op.operand("input")], {"activationType": "kTANH"})
        op.operation.operands[0] = made.results[0]

    assert run(twice)[0].count("kTANH") == 3


def test_a_rewrite_may_leave_what_it_began():
    """One that returns something elsewhere has not forgotten how."""
    left = []

    @mt.rewrite("tensorrt.activation", name="tries")
    def tries(op):
        made = create("tensorrt.activation", [op.operand("input")], {"activationType": "kTANH"})
        left.append(made)
        return made if len(left) == 1 else None

    mt.Pipeline([tries]).run(mt.from_mlir(TEXT), isolate=False)
    assert len(left) == 2


@pytest.mark.parametrize(
    ("returned", "kind"), [(3, "an int"), (mt.from_mlir(TEXT), "a Program"), ("x", "a str")]
)
def test_a_module_pass_returns_nothing(returned, kind):
    """A program that it returns would be dropped without a word."""

    @mt.module_pass("gives")
    def gives(program):
        return returned

    with pytest.raises(PassError, match=f"pass gives returned {kind}, which nobody takes") as caught:
        mt.Pipeline([gives]).run(mt.from_mlir(TEXT), isolate=False)
    assert "in place" in caught.value.hint and "gives" in caught.value.span.text


def test_a_module_pass_may_return_its_program():
    """That is what it was given, changed."""

    @mt.module_pass("same")
    def same(program):
        return program

    assert run(same)[0] == mt.from_mlir(TEXT).text()
