"""`python -m mlirtrt_nb`: the work from a shell."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mlirtrt_nb.__main__ import main

SUM = """func.func @main(%x: tensor<2x4xf32> {plan.name = "x"}, %y: tensor<2x4xf32> {plan.name = "y"})
    -> (tensor<2x4xf32> {plan.name = "sum"}) {
  %s = tensorrt.element_wise <kSUM>(%x, %y : tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %dead = tensorrt.identity %x : tensor<2x4xf32> to tensor<2x4xf32>
  return %s : tensor<2x4xf32>
}
"""
X, Y = np.ones((2, 4), np.float32), np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A sum as MLIR, with its inputs as .npy files beside it."""
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    path = tmp_path / "sum.mlir"
    path.write_text(SUM)
    return path


def test_compile_run_and_bench(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model becomes a .plan file beside it, which runs on arrays and is measured."""
    assert main(["compile", str(model)]) == 0
    plan = model.with_suffix(".plan")
    assert f"wrote {plan}" in capsys.readouterr().out
    inputs = [f"--input=x={model.parent / 'x.npy'}", f"--input=y={model.parent / 'y.npy'}"]
    assert main(["run", str(plan), *inputs, "-o", str(model.parent / "out.npz")]) == 0
    assert "sum: 2x4 float32" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load(model.parent / "out.npz")["sum"], X + Y)
    assert main(["bench", str(plan), "--warmup", "1", "--duration", "5", "--device", "cpu"]) == 0
    assert "queries per second" in capsys.readouterr().out


def test_opt(model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`opt` prints a program, in either form, after passes, from a file or from standard input."""
    assert main(["opt", str(model)]) == 0
    assert "tensorrt.identity" in capsys.readouterr().out
    assert main(["opt", str(model), "--passes", "canonicalize", "--generic"]) == 0
    printed = capsys.readouterr().out
    assert "tensorrt.identity" not in printed and '"tensorrt.element_wise"' in printed
    monkeypatch.setattr(sys, "stdin", io.StringIO(SUM))
    assert main(["opt", "-", "-o", str(model.parent / "out.mlir")]) == 0
    assert "tensorrt.element_wise" in (model.parent / "out.mlir").read_text()


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    """`doctor` prints the findings."""
    assert main(["doctor"]) == 0
    assert "What this machine can do" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compile", "nothing.onnx"], "nothing.onnx"),
        (["compile", "{model}", "--target", "sm98"], "TargetError: unknown target 'sm98'"),
        (["compile", "{model}", "--shape", "x"], "OptionError: --shape 'x' is not understood"),
        (["run", "{model}"], "PlanFileError"),
        (["opt", "{model}", "--passes", "fold-batch-nrom"], "fold-batch-norm"),
    ],
)
def test_errors_are_one_message(
    model: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    """A mistake gives exit code 1 and one message on stderr, no traceback, and leaves no file."""
    before = set(model.parent.iterdir())
    assert main([word.format(model=model) for word in words]) == 1
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
    assert set(model.parent.iterdir()) == before


def test_a_missing_input(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An input without an array is named, with the option that gives it."""
    main(["compile", str(model)])
    plan = str(model.with_suffix(".plan"))
    assert main(["run", plan, f"--input=x={model.parent / 'x.npy'}"]) == 1
    assert "add --input y=FILE.npy" in capsys.readouterr().err
    assert main(["run", plan, f"--input=x={model}", "--input=y=z"]) == 1
    assert "cannot read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["compile", "{model}", "-o", "{model.parent}/nodir/a.plan"],
        ["run", "{model.parent}/a.plan", "-o", "{model.parent}/nodir/a.npz"],
        ["opt", "{model}", "--passes", "cse", "-o", "{model.parent}/nodir/a.mlir"],
    ],
)
def test_a_folder_that_is_not_there_is_found_before_the_work(
    model: Path, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is compiled, loaded or run for a result that cannot be kept."""
    for work in ("compilation.compile", "plan.Plan.load", "passes.pipeline.Pipeline.run"):
        monkeypatch.setattr(f"mlirtrt_nb.{work}", lambda *given, **options: pytest.fail("it was begun"))
    assert main([word.format(model=model) for word in words]) == 1
    assert f"there is no folder {model.parent / 'nodir'}\n  hint: make it first" in capsys.readouterr().err


def test_standard_output_that_is_full(model: Path) -> None:
    """A full disk behind standard output is one line and exit code 1."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mlirtrt_nb", "opt", str(model)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (1, "cannot write: No space left on device\n")


def test_opt_writes_where_it_is_told(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-o -` is standard output, and a device is written to rather than replaced."""
    assert main(["opt", str(model), "-o", "-"]) == 0
    assert "tensorrt.identity" in capsys.readouterr().out
    assert main(["opt", str(model), "-o", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()
    assert main(["opt", str(model), "-o", "/dev/full"]) == 1
    assert "cannot write /dev/full: No space left" in capsys.readouterr().err


def test_standard_input_that_is_no_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes that are not UTF-8 are refused."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"// \xff"), encoding="utf-8"))
    assert main(["opt", "-"]) == 1
    assert "cannot read <stdin>: it is not UTF-8 text" in capsys.readouterr().err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(model: Path, closed: str) -> None:
    """A command whose shell closed its streams does its work, and what it writes holds nothing else."""
    command = [sys.executable, "-m", "mlirtrt_nb", "opt", str(model), "-o", str(model.with_suffix(".out"))]
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *command], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert model.with_suffix(".out").read_text().startswith("module {")


def test_standard_input_and_output_that_are_closed() -> None:
    """Closed input is one message; output that goes nowhere is no error."""
    command = [sys.executable, "-m", "mlirtrt_nb"]
    done = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *command, "opt", "-"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "SourceError: cannot read <stdin>: it is closed\n")
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command, "doctor"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_output_that_takes_no_signs() -> None:
    """A terminal of plain ASCII shows the words, with a question mark for each sign."""
    done = subprocess.run(
        [sys.executable, "-m", "mlirtrt_nb", "doctor"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "CPU            ?" in done.stdout


def test_the_file_that_is_read_is_not_replaced(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A Plan does not take its model's place, nor outputs that of their Plan, also by another path."""
    link = model.with_name("link")
    link.symlink_to(model)
    for output in (model, link):
        assert main(["compile", str(model), "-o", str(output)]) == 1
        assert f"cannot write {output}: it is the file that is read" in capsys.readouterr().err
    assert model.read_text() == SUM
    assert main(["compile", str(model)]) == 0
    plan = model.with_suffix(".plan")
    assert main(["run", str(plan), "-o", str(plan)]) == 1
    assert f"cannot write {plan}" in capsys.readouterr().err


def test_a_model_that_has_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a folder nor an empty path is a model, though neither has a name to make a .plan file's of."""
    for model in (".", "", "/"):
        assert main(["compile", model]) == 1
        assert capsys.readouterr().err.startswith("SourceError: ")


def test_an_array_for_an_input_that_is_none(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said of the name that is wrong, not of those that are then missing."""
    main(["compile", str(model)])
    assert main(["run", str(model.with_suffix(".plan")), f"--input=z={model.parent / 'x.npy'}"]) == 1
    assert "there is no input 'z'" in capsys.readouterr().err


def test_as_a_module() -> None:
    """`python -m mlirtrt_nb` shows its commands without importing what they need."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mlirtrt_nb", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(command in done.stdout for command in ("compile", "run", "bench", "opt", "doctor"))
    assert "onnxruntime" not in done.stderr and "torch_mlir" not in done.stderr


def test_an_unknown_option_shows_its_command(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt option ends with code 2, the near one, and the usage of its command alone."""
    with pytest.raises(SystemExit) as caught:
        main(["compile", str(model), "--taget", "sm89"])
    assert caught.value.code == 2
    told = capsys.readouterr().err
    assert "did you mean --target?" in told
    assert "usage: python -m mlirtrt_nb compile" in told


def test_dynamic_inputs_are_asked_for_as_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The hint of an error in a shell is no Python."""
    path = tmp_path / "sum.mlir"
    path.write_text(SUM.replace("2x4", "?x4"))
    assert main(["compile", str(path)]) == 1
    assert "--shape x=1x4:1x4:4x4 --shape y=1x4:1x4:4x4" in capsys.readouterr().err


def test_bench_of_a_model(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model where a Plan belongs is called what it is, with the command that makes a Plan of it."""
    assert main(["bench", str(model)]) == 1
    told = capsys.readouterr().err
    assert "is MLIR, not a Plan file" in told
    assert f"python -m mlirtrt_nb compile {model}" in told
