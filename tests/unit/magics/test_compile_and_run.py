"""%trt_compile, %trt_run, %trt_bench and %trt_report on a small program."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import mlirtrt_nb as mt

CELL = """func.func @main(%x: tensor<?x4xf32> {plan.name = "x"}, %y: tensor<?x4xf32> {plan.name = "y"})
    -> (tensor<?x4xf32> {plan.name = "sum"}) {
  %s = tensorrt.element_wise <kSUM>(%x, %y : tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %s : tensor<?x4xf32>
}
"""
SHAPES = "--shape x=2x4 --shape y=2x4"
X, Y = np.ones((2, 4), np.float32), np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def plan(shell: InteractiveShell) -> mt.Plan:
    """The sum, compiled for the cpu, as the variable `plan`; `x` and `y` are its inputs."""
    shell.push({"x": X, "y": Y})
    return shell.run_cell_magic("trt_compile", f"{SHAPES} --name plan", CELL)


def test_compile_a_cell(shell: InteractiveShell, plan: mt.Plan) -> None:
    """%%trt_compile takes MLIR, and returns and stores the Plan."""
    assert isinstance(plan, mt.Plan)
    assert shell.user_ns["plan"] is plan
    assert plan.targets == ("cpu",)


def test_a_cell_as_a_notebook_runs_it(shell: InteractiveShell) -> None:
    """MLIR is not Python: a `#` in it does not begin a comment, and a semicolon at its end silences nothing."""
    cell = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
    result = shell.run_cell("%%trt_compile --name plan\n" + cell)
    assert result.success
    assert result.result is shell.user_ns["plan"]


def test_compile_a_variable_and_a_file(shell: InteractiveShell, tmp_path) -> None:
    """%trt_compile takes a Program by its name, or a file, also one whose name has spaces."""
    program = shell.run_cell_magic("mlir", "program --quiet", CELL) or shell.user_ns["program"]
    assert isinstance(shell.run_line_magic("trt_compile", f"program {SHAPES}"), mt.Plan)
    file = tmp_path / "my sum.mlir"
    file.write_text(program.text())
    assert shell.run_line_magic("trt_compile", f'"{file}" {SHAPES}').name == "my sum"


def test_compile_an_attribute(shell: InteractiveShell) -> None:
    """`holder.program` is an attribute where there is one, and the name of a file where there is none."""
    shell.run_cell_magic("mlir", "program --quiet", CELL)
    shell.run_cell("from types import SimpleNamespace\nholder = SimpleNamespace(program=program)")
    assert isinstance(shell.run_line_magic("trt_compile", f"holder.program {SHAPES}"), mt.Plan)
    with pytest.raises(mt.SourceError, match="no such file: holder"):
        shell.run_line_magic("trt_compile", f"holder.onnx {SHAPES}")


def test_compile_with_a_precision_of_the_users(shell: InteractiveShell) -> None:
    """--precision takes a variable, which may have exceptions and ranges that a name has not."""
    shell.run_cell_magic("mlir", "program --quiet", CELL)
    shell.push({"mine": mt.Precision("fp16", keep="element_wise")})
    plan = shell.run_line_magic("trt_compile", f"program {SHAPES} --precision mine")
    assert list(plan.kept["reason"]) == ["kept by element_wise"]


def test_assignment_and_indexing(shell: InteractiveShell) -> None:
    """`plan = %trt_compile programs["a"]` works as it reads."""
    shell.run_cell_magic("mlir", "program --quiet", CELL)
    result = shell.run_cell(f'programs = {{"a": program}}\nmade = %trt_compile programs["a"] {SHAPES}')
    assert result.success
    assert isinstance(shell.user_ns["made"], mt.Plan)


def test_progress_ends_with_one_line(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """In a terminal that is none, the last state of the bar is all that is printed."""
    shell.run_cell_magic("trt_compile", f"{SHAPES} --name total", CELL)
    assert capsys.readouterr().out.startswith("✓ total for cpu: finished after ")


def test_run_by_position_and_by_name(shell: InteractiveShell, plan: mt.Plan) -> None:
    """Arrays are given in order or by the inputs' names; the result is returned and stored."""
    np.testing.assert_array_equal(shell.run_line_magic("trt_run", "plan x y -o total"), X + Y)
    np.testing.assert_array_equal(shell.user_ns["total"], X + Y)
    np.testing.assert_array_equal(shell.run_line_magic("trt_run", "plan y=x x=y[:1].repeat(2,0)"), X + Y[:1])


def test_the_session_is_kept(shell: InteractiveShell, plan: mt.Plan) -> None:
    """Two runs of one Plan share a session; a Session can be given as well."""
    magics = next(entry for entry in shell.configurables if type(entry).__name__ == "TrtRunMagics")
    shell.run_line_magic("trt_run", "plan x y --device cpu")
    first = magics._sessions[plan]["cpu"]
    shell.run_line_magic("trt_run", "plan x y --device cpu")
    assert magics._sessions[plan]["cpu"] is first
    shell.push({"session": first})
    np.testing.assert_array_equal(shell.run_line_magic("trt_run", "session x y"), X + Y)


@pytest.mark.parametrize("name", ["input.1", "gpu_0/data:0", "a=b", "two words", "class"])
def test_inputs_that_python_could_not_name(shell: InteractiveShell, name: str) -> None:
    """An input is given by its name whatever that is, beside another whose name begins alike."""
    text = """func.func @main(%x: tensor<4xf32> {plan.name = "NAME"}, %y: tensor<4xf32> {plan.name = "a"})
    -> tensor<4xf32> {
  %s = tensorrt.element_wise <kSUB>(%x, %y : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}"""
    plan = mt.compile(mt.load(text.replace("NAME", name)), "cpu")
    one, two = np.full(4, 1, np.float32), np.full(4, 2, np.float32)
    shell.push({"plan": plan, "one": one, "two": two})
    assert shell.run_line_magic("trt_run", f'plan a=two "{name}=one"')[0] == -1
    report = shell.run_line_magic("trt_bench", f'plan "{name}=one" a=two[:] --duration 1 --warmup 0')
    assert report.conditions["inputs"] == "given"


def test_magics_see_local_variables(shell: InteractiveShell, plan: mt.Plan) -> None:
    """Inside a function, its own variables are found."""
    code = (
        "def f():\n    mine = x * 2\n    return get_ipython().run_line_magic('trt_run', 'plan mine y')\nz = f()"
    )
    assert shell.run_cell(code).success
    np.testing.assert_array_equal(shell.user_ns["z"], X * 2 + Y)


@pytest.mark.parametrize("end", [";", " ;", "; "])
def test_a_semicolon_silences_what_is_shown(shell: InteractiveShell, plan: mt.Plan, end: str) -> None:
    """A line that ends in a semicolon does its work, stores its result, and shows nothing."""
    result = shell.run_cell("%trt_run plan x y -o z" + end)
    assert result.success
    assert result.result is None
    np.testing.assert_array_equal(shell.user_ns["z"], X + Y)


@pytest.mark.parametrize("code", ["z = %trt_run plan x y;", "if True:\n    z = %trt_run plan x y ;"])
def test_a_semicolon_behind_an_assignment(shell: InteractiveShell, plan: mt.Plan, code: str) -> None:
    """It shows nothing anyway, and the variable has the result."""
    assert shell.run_cell(code).success
    np.testing.assert_array_equal(shell.user_ns["z"], X + Y)


def test_a_line_without_a_plan(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the Plan is missing: there may be programs without inputs."""
    assert not shell.run_cell("%trt_run").success
    assert "the following arguments are required: PLAN (" in capsys.readouterr().err


def test_a_line_need_not_be_python(shell: InteractiveShell, tmp_path) -> None:
    """The name of a file may have a bracket that is not closed."""
    file = tmp_path / "sum (1.mlir"
    file.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
    result = shell.run_cell(f'%trt_compile "{file}"')
    assert result.success
    assert isinstance(result.result, mt.Plan)


def test_bench(shell: InteractiveShell, plan: mt.Plan) -> None:
    """%trt_bench measures with the given times and returns the report."""
    report = shell.run_line_magic("trt_bench", "plan --warmup 1 --duration 5 --iterations 3 --name r")
    assert isinstance(report, mt.LatencyReport)
    assert shell.user_ns["r"] is report
    assert report.queries >= 3
    assert (report.df["min"] > 0).all()
    assert "Latency" in str(report) and "<table>" in report._repr_html_()


def test_a_measurement_is_stopped_with_a_short_report(
    shell: InteractiveShell, plan: mt.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stop button ends %trt_bench with an error of its own, and not with where in the code it was."""

    def press(*arrays: np.ndarray) -> None:
        raise KeyboardInterrupt

    session = shell.run_cell("s = plan.session()\ns").result
    monkeypatch.setattr(session, "_call", press)
    with pytest.raises(mt.Cancelled, match="%trt_bench was stopped") as caught:
        shell.run_line_magic("trt_bench", "s --duration 5000")
    assert caught.value.__suppress_context__


def test_report(shell: InteractiveShell, plan: mt.Plan) -> None:
    """%trt_report gives the Plan's report; both its forms show the engine."""
    report = shell.run_line_magic("trt_report", "plan")
    engine = plan.engines["engine"][0]
    assert engine in str(report)
    assert engine in report._repr_html_()


@pytest.mark.parametrize(
    ("magic", "line", "error", "message"),
    [
        ("trt_compile", "", UsageError, "SOURCE is missing"),
        ("trt_compile", "plam", UsageError, "no variable 'plam' to use as the source; did you mean 'plan'?"),
        ("trt_compile", "nothing.onnx", mt.SourceError, "nothing.onnx"),
        ("trt_compile", "program --target sm98 --shape x=1x4 --shape y=1x4", mt.TargetError, "sm89"),
        ("trt_compile", "program --shape x", mt.OptionError, "--shape name=MIN:OPT:MAX"),
        (
            "trt_compile",
            "program --shape z=2x4",
            mt.ShapeError,
            "there is no input 'z'; dynamic inputs need shapes",
        ),
        ("trt_compile", "program", mt.ShapeError, "--shape x=1x4:1x4:4x4 --shape y="),
        ("trt_compile", f"program --precision fp61 {SHAPES}", mt.PrecisionError, "did you mean 'fp16'?"),
        ("trt_compile", f"program {SHAPES} --passes fold-bach-norm", mt.OptionError, "fold-batch-norm"),
        ("trt_run", "x", UsageError, "x is a ndarray, not a Plan"),
        ("trt_run", "plan x", mt.InputError, "y"),
        ("trt_run", "plan x yy", UsageError, "no variable 'yy' to use as an input"),
        ("trt_run", "plan x y --device gpu", mt.OptionError, "auto, cpu or cuda"),
        ("trt_bench", "plan x y x", UsageError, "3 inputs given; there are 2: x, y"),
        ("trt_bench", "plan --duration -1", mt.OptionError, "duration_ms"),
        ("trt_report", "zzz", UsageError, "no variable 'zzz' to use as a Plan"),
    ],
)
def test_mistakes(
    shell: InteractiveShell, plan: mt.Plan, magic: str, line: str, error: type[Exception], message: str
) -> None:
    """Each mistake has one error of the right kind that says what to do; the variables are untouched."""
    shell.run_cell_magic("mlir", "program --quiet", CELL)
    with pytest.raises(error) as caught:
        shell.run_line_magic(magic, line)
    assert message in str(caught.value)
    assert shell.user_ns["plan"] is plan


def test_only_the_users_own_names_are_suggested(shell: InteractiveShell) -> None:
    """What the shell itself defines, such as `open`, is never what was meant."""
    with pytest.raises(UsageError) as caught:
        shell.run_line_magic("trt_run", "ope")
    assert str(caught.value) == "no variable 'ope' to use as a Plan or Session"


def test_source_and_cell_at_once(shell: InteractiveShell, plan: mt.Plan) -> None:
    """A source on the line and MLIR in the cell cannot both be meant."""
    with pytest.raises(UsageError, match="not both"):
        shell.run_cell_magic("trt_compile", "plan", CELL)


def test_doctor(shell: InteractiveShell) -> None:
    """%trt_doctor gives the machine's findings."""
    machine = shell.run_line_magic("trt_doctor", "")
    assert "cpu" in machine.targets
    assert machine["Python"].level == "good"


def test_a_dynamic_program_asks_for_options(shell: InteractiveShell, tmp_path) -> None:
    """What is missing on the line is named as an option of the line."""
    file = tmp_path / "sum.mlir"
    file.write_text(CELL)
    for magic in ("trt_compile", "trt_compare"):
        with pytest.raises(mt.ShapeError, match="--shape x=1x4:1x4:4x4 --shape y=1x4:1x4:4x4"):
            shell.run_line_magic(magic, str(file))


def test_a_wrong_precision_is_no_failed_loading(
    shell: InteractiveShell, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong with the line is told before its file is loaded."""
    file = tmp_path / "sum.mlir"
    file.write_text(CELL)
    with pytest.raises(mt.PrecisionError):
        shell.run_line_magic("trt_compile", f"{file} {SHAPES} --precision fp12")
    assert "loading" not in capsys.readouterr().out
