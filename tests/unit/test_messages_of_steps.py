"""What is said of a step, a pass, an option or a target that there is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import (
    MlirTrtError,
    OptionError,
    ParseError,
    PassError,
    PrecisionError,
    ShapeError,
    TargetError,
)
from mlirtrt_nb.numerics.bisection_state import BisectionState

TEXT = """func.func @main(%x: tensor<4xf32> {plan.name = "x"}) -> tensor<4xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def program() -> mt.Program:
    return mt.from_mlir(TEXT)


@pytest.fixture(scope="module")
def run(program: mt.Program) -> Any:
    return mt.Pipeline.parse("cse,canonicalize,canonicalize").run(program, isolate=False)


def test_a_pipeline_runs_on_what_can_be_loaded(program: mt.Program, tmp_path: Path) -> None:
    """A path serves as in `mt.compile`; what is no program is refused as there."""
    path = tmp_path / "net.mlir"
    path.write_text(TEXT)
    made = mt.Pipeline.parse("cse").run(str(path), isolate=False)  # type: ignore[arg-type]
    assert made.program.text() == program.text()
    with pytest.raises(MlirTrtError, match=r"cannot load a program from an int"):
        mt.Pipeline.parse("cse").run(5)  # type: ignore[arg-type]


def test_a_diff_goes_by_place_or_name(run: Any) -> None:
    """The name of a pass that ran once does; one that ran more often, and one that did not, is an error."""
    assert run.diff("cse") == run.diff(0) == run.diff(-3)
    with pytest.raises(OptionError, match=r"'canonicalize' ran 2 times\n  hint: give the step: 1 or 2"):
        run.diff("canonicalize")
    with pytest.raises(OptionError, match=r"is called 'cs'\n  hint: did you mean cse"):
        run.diff("cs")


@pytest.mark.parametrize("step", [99, 3, -4, None, 1.5])
def test_a_step_that_there_is_not(run: Any, step: Any) -> None:
    """The hint has the steps that there are."""
    with pytest.raises(OptionError, match=r"has no step .*\n  hint: give 0 to 2"):
        run.diff(step)


@pytest.mark.parametrize("method", ["toggle", "select", "remove"])
def test_a_pass_of_the_explorer_goes_by_its_name(program: mt.Program, method: str) -> None:
    """A number is not one."""
    explorer = mt.explore(program, "cse,canonicalize")
    with pytest.raises(OptionError, match=r"by its name, not by 1\n  hint: there are: canonicalize, cse"):
        getattr(explorer, method)(1)


@pytest.mark.parametrize("size", ["a", 1.5, None, [2]])
def test_an_option_of_another_type(size: Any) -> None:
    """The message says which type the option takes, whether the value is text or not."""
    with pytest.raises(OptionError, match="option min_cluster_size takes int, not"):
        mt.Pipeline.parse("plan-clustering").set("plan-clustering", min_cluster_size=size)


def test_settings_of_a_partition_are_those_of_the_pass(program: mt.Program) -> None:
    """Text that is a number is read as in a pipeline; other text is refused."""
    parts = mt.partition(program)
    assert parts.with_settings(min_cluster_size="2").min_cluster_size == 2  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="option min_cluster_size takes int, not 'a'"):
        parts.with_settings(min_cluster_size="a")  # type: ignore[arg-type]


@pytest.mark.parametrize("option", [{"hops": "a"}, {"limit": None}, {"hops": 1.5}])
def test_a_neighbourhood_that_is_no_number(program: mt.Program, option: dict[str, Any]) -> None:
    """The option is named, with what it takes."""
    with pytest.raises(OptionError, match=r"^(hops|limit)=.* is not a number of ops\n  hint: a whole number"):
        program.graph(around="y", **option)


@pytest.mark.parametrize("given", [None, b"module {}", 5])
def test_what_is_no_text(given: Any) -> None:
    """`from_mlir` says what takes the rest."""
    with pytest.raises(
        ParseError, match=r"not (None|an? bytes|an int)\n  hint: mt.load takes files, bytes and models"
    ):
        mt.from_mlir(given)


def test_an_option_that_a_pass_of_mlir_lacks(program: mt.Program) -> None:
    """It is said as of the package's own passes, at once, with the options that there are."""
    explorer = mt.explore(program, "cse,canonicalize")
    with pytest.raises(OptionError, match=r"pass cse has no option 'foo'\n  hint: it has no options"):
        explorer.set("cse", foo=1)
    with pytest.raises(OptionError, match=r"no option 'max-iteration'\n  hint: did you mean max-iterations\?"):
        explorer.set("canonicalize", max_iteration=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("canonicalize{max-iterations=b}", "max-iterations=b: 'b' value invalid for long argument"),
        ("canonicalize{region-simplify=bad}", "region-simplify=bad: Cannot find option named 'bad'"),
        ("inline{op-pipelines=x}", "op-pipelines=x: expected pass pipeline to be wrapped"),
    ],
)
def test_a_value_that_a_pass_of_mlir_does_not_take(
    text: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The error has MLIR's own words, which do not stand on standard error beside it."""
    with pytest.raises(OptionError) as caught:
        mt.Pipeline.parse(text)
    assert caught.value.what.startswith(f"pass {text.partition('{')[0]} does not take {said}")
    assert "its options are" in (caught.value.hint or "")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("isolate", [True, False])
def test_a_pass_of_mlir_that_fails(isolate: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """The error says what MLIR has against which op, and keeps the program before."""
    program = mt.from_mlir(TEXT)
    with pytest.raises(PassError) as caught:
        mt.Pipeline.parse("cse,one-shot-bufferize").run(program, isolate=isolate)
    error = caught.value
    assert error.what == "pass one-shot-bufferize failed: op was not bufferized" and error.where == "y"
    assert error.hint is not None and "pipeline.disable('one-shot-bufferize')" in error.hint
    assert isinstance(error.last_good, mt.Program) and error.last_good.text() == program.text()
    assert capfd.readouterr().err == ""


def test_a_default_pipeline_is_of_a_target_that_there_is() -> None:
    """Targets and precisions are checked as `mt.compile` checks them."""
    with pytest.raises(TargetError, match=r"unknown target 'sm88'\n  hint: did you mean 'sm89'"):
        mt.Pipeline.default("sm88")
    with pytest.raises(TargetError, match=r"'sm90': TensorRT-RTX does not build .*\n  hint: .*target='cuda'"):
        mt.Pipeline.default("sm90")
    with pytest.raises(TargetError, match="unknown target 'sm88'"):
        mt.Pipeline.default(["cpu", "sm88"], "fp8")
    with pytest.raises(PrecisionError, match="sm75 has no bf16"):
        mt.Pipeline.default("sm75", "bf16")


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (
            lambda op: op.operands[0],
            r'write op.operand\("name"\): tensorrt.activation has operands input; attr',
        ),
        (lambda op: op.input, r"write op.operand\('input'\)"),
        (lambda op: op.activationType, r"write op.attr\('activationType'\)"),
        (lambda op: op.location, r"write op.operation.location"),
        (lambda op: op.opernd("input"), "did you mean operand"),
        (lambda op: op.zzzz, "tensorrt.activation has operands input"),
    ],
)
def test_what_an_op_lacks(program: mt.Program, ask: Any, hint: str) -> None:
    """The error of a rule says how the op is asked for it."""
    rule = mt.rewrite("tensorrt.activation", name="asks")(ask)
    with pytest.raises(PassError, match=rf"AttributeError in pass asks: [^\n]*(\n.*)*hint: {hint}"):
        mt.Pipeline([rule]).run(program, isolate=False)


@pytest.mark.parametrize("isolate", [False, True])
def test_what_a_program_lacks(program: mt.Program, isolate: bool) -> None:
    """A pass over the program gets a Program, in the worker too, and is told where the module is."""
    walks = mt.module_pass("walks")(lambda program: program.walk(print))
    message = r"'Program' object has no attribute 'walk'(\n.*)*hint: write program.module.operation.walk"
    with pytest.raises(PassError, match=message):
        mt.Pipeline([walks]).run(program, isolate=isolate)


def test_a_shape_goes_by_no_option(program: mt.Program) -> None:
    """The magics and the command line have `--shape`, Python `shapes=`: the message names the input."""
    with pytest.raises(ShapeError, match=r"^the shape of input 'x' has rank 2; the input is x: 4xf32"):
        mt.compile(program, shapes={"x": "1x4"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"hello", "it holds no JSON"),
        (b"\xff", "no JSON"),
        (b"{}", "it has no 'search'"),
        (b"[]", "another kind"),
    ],
)
def test_why_a_file_is_no_state(tmp_path: Path, text: bytes, message: str) -> None:
    """The reason is in words, not a class of Python's."""
    path = tmp_path / "state.json"
    path.write_bytes(text)
    with pytest.raises(PrecisionError, match=f"is not the state of a bisection: .*{message}"):
        BisectionState({}, path)
