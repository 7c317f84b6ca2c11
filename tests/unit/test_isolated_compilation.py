"""Compiling in the worker: the same Plan as here, and crashes as errors."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_mlir import ir

import mlirtrt_nb as mt
from mlirtrt_nb.files import map_file
from mlirtrt_nb.isolated_compilation import compile_isolated
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.worker import Outcome, call, inside

TEXT = """
func.func @main(%x: tensor<4x64xf32> {plan.name = "x"}) -> tensor<4x64xf32> {
  %w = tensorrt.constant dense_resource<__elided__> : tensor<64x64xf32>
  %y = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>,
                                  op1 = #tensorrt.matrix_operation<kNONE>}
      ins(%x, %w : tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}
"""


@pytest.fixture(autouse=True)
def reproducers(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that show a crash again go to a folder of the test's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("reproducers")))


@pytest.fixture
def program(tmp_path: Path) -> mt.Program:
    """A matrix product whose weight lies in a mapped file."""
    made = mt.from_mlir(TEXT)
    (name,) = made.weights
    path = tmp_path / "w.bin"
    np.arange(64 * 64, dtype=np.float32).tofile(path)
    made.weights[name] = np.frombuffer(map_file(path), np.float32).reshape(64, 64)
    return made


def test_the_plan_is_the_same(program: mt.Program) -> None:
    """Text, engines, weights and results; the weights stay in this process's own map of the file."""
    there = mt.compile(program, ["cpu", "sm89"], cache=False, isolate=True)
    here = mt.compile(program, ["cpu", "sm89"], cache=False, isolate=False)
    assert there.text() == here.text()
    assert [(e.name, e.target, e.kind) for e in there.engine_values] == [
        (e.name, e.target, e.kind) for e in here.engine_values
    ]
    assert there.module.context is program.context
    (name,) = program.weights
    assert np.shares_memory(there.weights[name], program.weights[name])
    x = np.ones((4, 64), np.float32)
    np.testing.assert_array_equal(there.session("cpu")(x), here.session("cpu")(x))


def test_a_plan_goes_to_a_file_and_back(program: mt.Program, tmp_path: Path) -> None:
    """The engines and IR that the worker made are written and read like any others."""
    plan = mt.compile(program, "sm89", cache=False)
    plan.save(tmp_path / "a.plan")
    loaded = mt.Plan.load(tmp_path / "a.plan")
    assert loaded.text() == plan.text()
    assert [bytes(e.blob) for e in loaded.engine_values] == [bytes(e.blob) for e in plan.engine_values]


def test_progress_comes_from_there(program: mt.Program) -> None:
    """Phases of the builder arrive, and False cancels within the build."""
    phases = []

    def progress(phase: str, done: int, total: int) -> bool:
        phases.append(phase)
        return "sm89" not in phase

    with pytest.raises(mt.Cancelled):
        mt.compile(program, "sm89", cache=False, progress=progress)
    assert phases[0] == "passes" and "sm89" in phases[-1]


def test_errors_of_options_are_raised_here(program: mt.Program) -> None:
    """What is wrong with the call itself is found before anything is sent."""
    with pytest.raises(mt.OptionError, match="isolate= is a str"):
        mt.compile(program, isolate="no")  # type: ignore[arg-type]
    with pytest.raises(mt.TargetError):
        mt.compile(program, "sm1")


def test_a_pass_that_crashes(program: mt.Program, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names it, keeps the program before it, and its file holds the passes up to it."""

    @mt.module_pass("gives-up")
    def gives_up(program: mt.Program) -> None:
        os.abort()

    @mt.module_pass("says-so")
    def says_so(program: mt.Program) -> None:
        program.module.operation.attributes["test.said"] = ir.UnitAttr.get()
        print("said once")

    pipeline = mt.Pipeline.default().insert(gives_up, after="cse").insert(says_so, before="cse")
    with pytest.raises(mt.WorkerCrashed, match="pass gives-up crashed: abort") as caught:
        mt.compile(program, pipeline=pipeline)
    assert caught.value.reproducer is not None
    text = Path(caught.value.reproducer).read_text()
    head = text.partition("pass gives-up is the user's own:")[0]
    assert (
        "run, where the user's own pass gives-up is defined:" in head
        and "mt.Pipeline.parse('gives-up')" in head
    )
    assert "python -m" not in text and "says-so" not in text and "plan-clustering" not in text
    assert caught.value.hint == f"the program before it is in {caught.value.reproducer}"
    kept = mt.load(caught.value.reproducer)
    Path(caught.value.reproducer).unlink()
    before = mt.Pipeline(pipeline.entries[: [entry.name for entry in pipeline].index("gives-up")]).run(program)
    good, run = caught.value.last_good, caught.value.partial_run
    assert isinstance(good, mt.Program) and isinstance(run, mt.PipelineRun)
    assert good.text() == before.program.text() == kept.text() and "test.said" in good.text()
    assert good.context is program.context and good.weights.keys() == before.program.weights.keys()
    assert [step.name for step in run.steps] == [step.name for step in before.steps]
    assert run.steps[-1].after is not None and run.steps[-2].output == "said once\n"
    assert capsys.readouterr().out.count("said once") == 2  # of the compilation, and of the run here


def test_a_pass_that_fails_keeps_the_program_before_it(program: mt.Program) -> None:
    """In the worker and here alike."""

    @mt.module_pass("says-no")
    def says_no(program: mt.Program) -> None:
        raise ValueError("no")

    pipeline = mt.Pipeline.parse("specialize-shapes,onnx-to-tensorrt,plan-clustering,plan-outline-clusters")
    pipeline.insert(says_no)
    expected = mt.Pipeline(pipeline.entries[:-1]).run(program).program.text()
    for isolate in (True, False):
        with pytest.raises(mt.PassError, match="says-no") as caught:
            mt.compile(program, pipeline=pipeline, isolate=isolate)
        assert isinstance(caught.value.last_good, mt.Program)
        assert caught.value.last_good.text() == expected != program.text()


def test_the_pass_that_crashed_is_the_one_that_had_begun(program: mt.Program) -> None:
    """Where one name stands twice in a pipeline, the count tells which."""

    @mt.module_pass("second-time")
    def second_time(program: mt.Program) -> None:
        if "test.once" in program.module.operation.attributes:
            os.abort()
        program.module.operation.attributes["test.once"] = ir.UnitAttr.get()

    pipeline = mt.Pipeline.parse("second-time,cse,second-time,canonicalize,second-time")
    with pytest.raises(mt.WorkerCrashed) as caught:
        mt.compile(program, pipeline=pipeline)
    assert [step.name for step in caught.value.partial_run.steps] == ["second-time", "cse"]  # type: ignore[attr-defined]
    assert caught.value.begun == ("pass second-time", "pass cse", "pass second-time")
    Path(str(caught.value.reproducer)).unlink()


def test_what_shows_a_crash_again_does(program: mt.Program) -> None:
    """The Python in the file of a compilation, as it stands there, crashes in the same pass."""

    @mt.module_pass("gives-up-again")
    def gives_up_again(program: mt.Program) -> None:
        os.abort()

    pipeline = mt.Pipeline.default("sm89").insert(gives_up_again, after="cse")
    with pytest.raises(mt.WorkerCrashed) as caught:
        mt.compile(program, "sm89", pipeline=pipeline)
    lines = Path(str(caught.value.reproducer)).read_text().splitlines()
    code = [line[7:] for line in lines[2:] if line.startswith("//     ")][:4]
    assert "PassContext(('sm89',)" in code[2]
    with pytest.raises(mt.WorkerCrashed, match="pass gives-up-again crashed: abort") as again:
        exec("\n".join(code), {})
    for error in (caught.value, again.value):
        Path(str(error.reproducer)).unlink()


def test_an_engine_that_crashes(program: mt.Program) -> None:
    """The error names engine and target, and its file compiles the program for the same target."""

    def work(*_: Any) -> None:
        with inside.doing("engine 'main_0' for sm89"):
            os.abort()

    context = PassContext(("sm89",), ({"x": ((4, 64),) * 3},))
    steps = mt.Pipeline.parse("cse")
    with pytest.raises(mt.WorkerCrashed, match="engine 'main_0' for sm89 crashed: abort") as caught:
        compile_isolated(work, program, steps, context, False, {}, None, mt.Isolation())  # type: ignore[arg-type]
    assert caught.value.reproducer is not None
    path = Path(caught.value.reproducer)
    assert f"python -m mlirtrt_nb compile {path} --no-cache --passes cse --target sm89" in path.read_text()
    path.unlink()
    assert isinstance(caught.value.last_good, mt.Program)
    assert caught.value.last_good.text() == steps.run(program).program.text()

    @mt.module_pass("looks-on")
    def looks_on(program: mt.Program) -> None:
        pass

    own = steps.copy().insert(looks_on)
    with pytest.raises(mt.WorkerCrashed) as caught:
        compile_isolated(work, program, own, context, False, {}, None, mt.Isolation())  # type: ignore[arg-type]
    path = Path(str(caught.value.reproducer))
    call = f"mt.compile({str(path)!r}, ['sm89'], shapes=[{{'x': ((4, 64), (4, 64), (4, 64))}}], "
    assert f"//     {call}pipeline='cse,looks-on', cache=False)" in path.read_text()
    assert caught.value.hint == f"the program before pass cse is in {path}"
    path.unlink()


def test_native_output_is_kept_with_the_plan(program: mt.Program, tmp_path: Path) -> None:
    """By step, in the metadata, on the card, and through a file."""

    @mt.module_pass("loud")
    def loud(program: mt.Program) -> None:
        os.write(2, b"a native warning\n")

    plan = mt.compile(program, pipeline=mt.Pipeline.default().insert(loud, after="cse"))
    assert plan.metadata["output"] == [["pass loud", "a native warning\n"]]
    assert "a native warning" in str(plan) and "a native warning" in plan._repr_html_()
    plan.save(tmp_path / "a.plan")
    assert mt.Plan.load(tmp_path / "a.plan").metadata["output"] == [["pass loud", "a native warning\n"]]


def test_engines_are_found_in_the_cache(
    program: mt.Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The worker uses the cache that this process's environment names."""
    monkeypatch.setenv("MLIRTRT_NB_CACHE", str(tmp_path / "engines"))
    first = mt.compile(program, "sm89")
    assert len(list((tmp_path / "engines").glob("*.engine"))) == 1
    second = mt.compile(program, "sm89")
    assert bytes(second.engine_values[0].blob) == bytes(first.engine_values[0].blob)


def test_what_an_ended_worker_left_half_written_is_removed(tmp_path: Path) -> None:
    """A part of a cached engine that nobody goes on writing does not stay; a fresh one does."""
    from mlirtrt_nb.engine.cache import EngineCache

    for name, age in ((".old.engine.1.part", 7200), (".new.engine.2.part", 0)):
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    EngineCache(tmp_path)._trim()
    assert [path.name for path in tmp_path.iterdir()] == [".new.engine.2.part"]


def test_the_limit_of_time_is_for_the_whole_compilation(program: mt.Program) -> None:
    """Two passes, each of which keeps within it, do not keep it together."""

    @mt.module_pass("waits")
    def waits(program: mt.Program) -> None:
        time.sleep(1.5)

    @mt.module_pass("waits-too")
    def waits_too(program: mt.Program) -> None:
        time.sleep(3.5)

    pipeline = mt.Pipeline.default().insert(waits, after="cse").insert(waits_too, after="waits")
    with pytest.raises(
        mt.WorkerCrashed,
        match=r"^the compilation took longer than 4 s and was stopped in pass waits-too\n",
    ) as caught:
        mt.compile(program, pipeline=pipeline, isolate=mt.Isolation(timeout=4))
    assert caught.value.reproducer is not None
    assert "mt.Pipeline.parse(" in Path(caught.value.reproducer).read_text()


@pytest.mark.parametrize(("isolate", "given"), [(False, []), (mt.Isolation(timeout=99), [99])])
def test_the_passes_before_calibration_follow_isolate(
    program: mt.Program, monkeypatch: pytest.MonkeyPatch, isolate: Any, given: list[float]
) -> None:
    """What is said of the compilation holds for them: no worker, or the same limits."""
    limits = []

    def listening(*arguments: Any, isolation: mt.Isolation, **options: Any) -> Outcome:
        limits.append(isolation.timeout)
        return call(*arguments, isolation=isolation, **options)

    monkeypatch.setattr("mlirtrt_nb.passes.remote.call", listening)
    precision = mt.Precision("int8", calibration=[np.ones((4, 64), np.float32)])
    plan = mt.compile(program, "sm89", precision, cache=False, isolate=isolate)
    assert limits == given and plan.metadata["calibration"] == "percentile, 1 batch of the user's"
