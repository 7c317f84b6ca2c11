"""Pipelines in the worker process: the same as here, with crashes that lose nothing."""

from __future__ import annotations

import ctypes
import importlib
import linecache
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.ir.constants import handles_in
from mlirtrt_nb.passes.base import PassContext

TEXT = """
func.func @main(%x: tensor<4xf32> {plan.name = "x"}) -> tensor<4xf32> {
  %c = tensorrt.constant dense_resource<"odd \\22name\\22"> : tensor<4xf32>
  %a = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  %b = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %a : tensor<4xf32>
  %y = tensorrt.element_wise <kSUM>(%b, %c : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
{-# dialect_resources: { builtin: { "odd \\22name\\22": "0x080000000000803F000000400000404000008040" } } #-}
"""


@pytest.fixture(autouse=True)
def reproducers(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that show a crash again go to a folder of the test's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("reproducers")))


@pytest.fixture
def program() -> mt.Program:
    """Two activations and a sum with a weight, 1 to 4."""
    return mt.from_mlir(TEXT, filename="small.mlir")


def test_a_run_there_is_the_run_here(program: mt.Program) -> None:
    """Steps, snapshots, counts, names of weights and the program are the same in both processes."""
    pipeline = mt.Pipeline.parse("tensorrt-canonicalize,cse,plan-clustering,plan-outline-clusters")
    there, here = pipeline.run(program, isolate=True), pipeline.run(program, isolate=False)
    assert [step.name for step in there.steps] == [step.name for step in here.steps]
    for mine, its in zip(there.steps, here.steps, strict=True):
        assert (mine.changed, mine.op_delta) == (its.changed, its.op_delta)
        assert mine.after is not None and its.after is not None
        assert mine.after.text(locations=True) == its.after.text(locations=True)
        assert mine.fired == its.fired
    assert there.program.text() == here.program.text()
    assert there.program.context is program.context
    (name,) = program.weights
    np.testing.assert_array_equal(there.program.weights[name], [1, 2, 3, 4])
    assert list(there.df["pass"]) == list(here.df["pass"])


def test_names_stay_over_many_runs(program: mt.Program) -> None:
    """Weights that passes make have the same names in every run, though all share the program's context."""

    @mt.module_pass("add-weight")
    def add_weight(program: mt.Program) -> None:
        from mlirtrt_nb.ir.constants import attribute_of

        constant = program.module.body.operations[0].regions[0].blocks[0].operations[0]
        constant.attributes["weights"] = attribute_of(
            np.full(4, 7, np.float32), program.weights, "new", inline=0
        )

    pipeline = mt.Pipeline().insert(add_weight).insert("cse")
    runs = [pipeline.run(program) for _ in range(3)]
    assert len({run.program.text() for run in runs}) == 1
    for run in runs:
        assert "dense_resource<new>" in run.program.text()
        np.testing.assert_array_equal(run.program.weights["new"], np.full(4, 7))
    again = pipeline.run(runs[-1].program).program
    (name,) = handles_in(again.module.operation)
    np.testing.assert_array_equal(again.weights[name], np.full(4, 7))


def test_a_run_without_snapshots(program: mt.Program) -> None:
    """Only the program at the end comes back."""
    run = mt.Pipeline.parse("tensorrt-canonicalize,cse").run(program, keep_snapshots=False)
    assert [step.after for step in run.steps] == [None, None]
    assert run.program.text().count("tensorrt.activation {") == 1
    assert program.text().count("tensorrt.activation {") == 2


def test_a_run_goes_on_from_an_earlier_one(program: mt.Program) -> None:
    """A run that reuses steps of an earlier one sends the last of them to the worker."""
    pipeline = mt.Pipeline.parse("tensorrt-canonicalize,cse")
    first = pipeline.run(program)
    second = pipeline.copy().insert("plan-clustering").run(program, reuse=first)
    assert [step.reused for step in second.steps] == [True, True, False]
    assert second.program.text() == pipeline.copy().insert("plan-clustering").run(program).program.text()


def test_rewrites_with_variables_of_the_notebook(program: mt.Program) -> None:
    """A rewrite sees the variables that it closes over; how often it fired comes back."""
    wanted = {"kRELU"}

    @mt.rewrite("tensorrt.activation")
    def drop(op: Any) -> Any:
        return op.operand("input") if op.attr("activationType") in wanted else None

    run = mt.Pipeline().insert(drop).run(program)
    assert "tensorrt.activation" not in run.program.text()
    assert drop.fired == 2 and run.steps[0].fired_counts == {"drop": 2}
    wanted.clear()
    assert "tensorrt.activation" in mt.Pipeline().insert(drop).run(program).program.text()


def test_a_pass_from_a_file_runs_as_it_was_imported(
    program: mt.Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module of the user's that was edited and not imported again is used as this process has it."""
    source = "import mlirtrt_nb as mt\n\n@mt.module_pass('speak')\ndef speak(program):\n    print('first')\n"
    (tmp_path / "passes_of_mine.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("passes_of_mine")
    (tmp_path / "passes_of_mine.py").write_text(source.replace("first", "second"))
    assert mt.Pipeline().insert(module.speak).run(program).steps[0].output == "first\n"


def test_output_belongs_to_the_step_that_wrote_it(
    program: mt.Program, capsys: pytest.CaptureFixture[str]
) -> None:
    """Native output is kept with its step; what a pass prints is shown as well."""

    @mt.module_pass("loud")
    def loud(program: mt.Program) -> None:
        os.write(2, b"LLVM says hello\n")
        print("and so do I")

    run = mt.Pipeline.parse("cse").insert(loud).insert("canonicalize").run(program)
    assert [sorted(step.output.splitlines()) for step in run.steps] == [
        [],
        ["LLVM says hello", "and so do I"],
        [],
    ]
    assert capsys.readouterr().out == "and so do I\n"


def in_a_cell(text: str, filename: str) -> dict[str, Any]:
    """Run `text` as IPython runs a cell: its lines are known to this process alone."""
    variables: dict[str, Any] = {"mt": mt, "__name__": "__main__"}
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), variables)
    return variables


def test_an_error_points_at_the_line_of_the_cell(program: mt.Program) -> None:
    """Line, column and text are the user's own; the last good program and the steps so far are there."""
    cell = "@mt.rewrite('tensorrt.activation')\ndef bad(op):\n    return op.operand('input') + 1 / 0\n"
    bad = in_a_cell(cell, "<cell-7>")["bad"]
    with pytest.raises(mt.PassError, match="ZeroDivisionError in pass bad") as caught:
        mt.Pipeline.parse("tensorrt-canonicalize,cse").insert(bad).run(program)
    error = caught.value
    assert error.span is not None
    assert (error.span.filename, error.span.line, error.span.column) == ("<cell-7>", 3, 5)
    assert error.span.text == "    return op.operand('input') + 1 / 0"
    assert isinstance(error.last_good, mt.Program)
    assert error.last_good.text().count("tensorrt.activation {") == 1
    assert [step.name for step in error.partial_run.steps] == ["tensorrt-canonicalize", "cse"]


def test_a_crash_loses_nothing(program: mt.Program) -> None:
    """It names the pass and the line; what came before is there, and a file with the program before it."""

    @mt.module_pass("reads-nothing")
    def reads_nothing(program: mt.Program) -> None:
        ctypes.string_at(0)

    with pytest.raises(mt.WorkerCrashed, match="pass reads-nothing crashed: segmentation fault") as caught:
        mt.Pipeline.parse("tensorrt-canonicalize").insert(reads_nothing).insert("cse").run(program)
    error = caught.value
    assert error.span is not None and error.span.text.strip() == "ctypes.string_at(0)"
    assert [step.name for step in error.partial_run.steps] == ["tensorrt-canonicalize"]
    assert isinstance(error.last_good, mt.Program) and error.reproducer is not None
    kept = mt.load(error.reproducer)
    assert kept.text() == error.last_good.text()
    text = Path(error.reproducer).read_text()
    assert "pass reads-nothing is the user's own" in text and "//     ctypes.string_at(0)" not in kept.text()
    Path(error.reproducer).unlink()


def test_the_reproducer_runs(program: mt.Program, tmp_path: Path) -> None:
    """Its first lines hold a command that runs the same passes, with options, targets and shapes, on it."""
    from mlirtrt_nb.passes.reproducer import write_reproducer

    error = mt.WorkerCrashed("pass canonicalize crashed: abort (SIGABRT)")
    error.doing = "pass canonicalize"
    passes = [entry.pass_ for entry in mt.Pipeline.parse("canonicalize{max-iterations=3},cse")]
    context = PassContext(("cpu", "sm89"), ({"x": ((4,), (4,), (4,))},))
    path = write_reproducer(program, passes, context, error)
    assert path is not None
    head = Path(path).read_text().splitlines()[:2]
    assert head[0] == "// pass canonicalize crashed: abort (SIGABRT)"
    command = head[1].removeprefix("// run: ")
    assert "--passes 'canonicalize{max-iterations=3},cse' --target cpu --target sm89 --shape x=4:4:4" in command
    done = subprocess.run(
        command.replace("python", sys.executable, 1), shell=True, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "tensorrt.element_wise" in done.stdout
    np.testing.assert_array_equal(list(mt.load(path).weights.values()), [[1, 2, 3, 4]])
    Path(path).unlink()


def test_large_weights_are_left_out_of_the_reproducer(program: mt.Program) -> None:
    """They are read as zeros, and the file says so."""
    from mlirtrt_nb.passes.reproducer import write_reproducer

    (name,) = program.weights
    program.weights["unused"] = np.zeros(2 << 20, np.float32)
    path = write_reproducer(program, [], PassContext(), mt.WorkerCrashed("it crashed"))
    assert path is not None and "read as zeros" in Path(path).read_text()
    assert [array.any() for array in mt.load(path).weights.values()] == [False] and name
    Path(path).unlink()


def test_a_variable_that_cannot_be_sent(program: mt.Program) -> None:
    """The error names the pass and the variable, and the pass runs with isolate=False."""
    lock = threading.Lock()

    @mt.module_pass("locked")
    def locked(program: mt.Program) -> None:
        with lock:
            pass

    pipeline = mt.Pipeline().insert(locked)
    with pytest.raises(
        mt.PassError, match="pass locked cannot go to the worker process: it uses lock"
    ) as caught:
        pipeline.run(program)
    assert "isolate=False" in str(caught.value)
    assert len(pipeline.run(program, isolate=False).steps) == 1


def test_a_result_that_cannot_come_back(program: mt.Program) -> None:
    """The error names the pass and the attribute; numbers in it come back."""

    class Finds(mt.Pass):
        """Keeps what it finds."""

        name = "finds"
        phase = "tensorrt"
        results = frozenset({"found"})
        found: Any = None
        whole = False

        def apply(self, program: mt.Program, context: PassContext) -> None:
            module = program.module.operation
            self.found = module if self.whole else len(module.regions[0].blocks[0].operations)

    finds = Finds()
    mt.Pipeline().insert(finds).run(program)
    assert finds.found == 1
    finds.whole = True
    with pytest.raises(
        mt.PassError, match="pass finds: its 'found' cannot come back from the worker"
    ) as caught:
        mt.Pipeline().insert(finds).run(program)
    assert "isolate=False" in str(caught.value)


def test_limits_of_a_run(program: mt.Program) -> None:
    """`isolate=` takes limits; what exceeds one names the pass, and the steps before it are there."""

    @mt.module_pass("endless")
    def endless(program: mt.Program) -> None:
        while True:
            time.sleep(0.01)

    pipeline = mt.Pipeline.parse("cse").insert(endless)
    with pytest.raises(
        mt.WorkerCrashed, match=r"^the pipeline took longer than 2 s and was stopped in pass endless\n"
    ) as caught:
        pipeline.run(program, isolate=mt.Isolation(timeout=2))
    assert [step.name for step in caught.value.partial_run.steps] == ["cse"]
    assert len(mt.Pipeline.parse("cse").run(program).steps) == 1


def test_a_program_that_comes_back_is_read_when_it_is_looked_at(program: mt.Program) -> None:
    """It can go to the worker again, be compiled, saved and pickled."""
    import pickle

    run = mt.Pipeline.parse("tensorrt-canonicalize").run(program)
    assert "_module" not in run.program.__dict__
    again = mt.Pipeline.parse("cse").run(run.program)
    copied = pickle.loads(pickle.dumps(again.program))
    assert copied.text() == run.program.text()
    y = mt.compile(copied).session("cpu")(np.array([-1, 0, 1, 2], np.float32))
    np.testing.assert_array_equal(y, [1, 2, 4, 6])
