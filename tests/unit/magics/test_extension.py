"""Loading, unloading, help and completion."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

NAMES = ("trt_compile", "trt_run", "trt_bench", "trt_report", "trt_doctor")


def test_load_twice_and_unload(bare_shell: InteractiveShell) -> None:
    """Loading is idempotent; unloading leaves no magic, setting or completion behind."""
    assert bare_shell.find_line_magic("load_ext") is not None  # IPython registers its own on first use
    before = (len(bare_shell.Completer.custom_matchers), len(bare_shell.configurables))
    bare_shell.run_line_magic("load_ext", "mlirtrt_nb")
    once = (len(bare_shell.Completer.custom_matchers), len(bare_shell.configurables))
    bare_shell.run_line_magic("reload_ext", "mlirtrt_nb")
    assert (len(bare_shell.Completer.custom_matchers), len(bare_shell.configurables)) == once
    assert bare_shell.find_line_magic("trt_compile") is not None
    assert bare_shell.find_cell_magic("mlir") is not None
    bare_shell.run_line_magic("unload_ext", "mlirtrt_nb")
    assert bare_shell.find_line_magic("trt_compile") is None
    assert bare_shell.find_cell_magic("mlir") is None
    assert (len(bare_shell.Completer.custom_matchers), len(bare_shell.configurables)) == before


@pytest.mark.parametrize("name", NAMES)
def test_each_magic_has_help(shell: InteractiveShell, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help prints the usage, which is also the docstring that `?` shows."""
    assert shell.run_line_magic(name, "--help") is None
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: %{name}")
    assert shell.find_line_magic(name).__doc__ == printed.rstrip("\n") + "\n"


def test_a_cell_magic_has_help_without_a_cell(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    """IPython refuses %%mlir with no lines below it and names %mlir, which has the help and nothing else."""
    with pytest.raises(UsageError, match="line magic %mlir"):
        shell.run_cell_magic("mlir", "--help", "")
    assert shell.run_line_magic("mlir", "--help") is None
    assert capsys.readouterr().out.startswith("usage: %%mlir")
    with pytest.raises(UsageError, match="from the lines below it"):
        shell.run_line_magic("mlir", "name")


@pytest.mark.parametrize("name", NAMES)
def test_each_magic_answers_a_wrong_option(shell: InteractiveShell, name: str) -> None:
    """A wrong option is a UsageError, never a traceback or a guess."""
    with pytest.raises(UsageError, match=f"%{name}: "):
        shell.run_line_magic(name, "x --hepl")


def test_defaults_are_settings(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """`%config` lists the defaults and sets them."""
    shell.run_line_magic("config", "TrtCompileMagics")
    assert "TrtCompileMagics.target" in capsys.readouterr().out
    shell.run_line_magic("config", "TrtCompileMagics.target = 'sm89'")
    found = [entry for entry in shell.configurables if type(entry).__name__ == "TrtCompileMagics"]
    assert [entry.target for entry in found] == ["sm89"]


def complete(shell: InteractiveShell, line: str) -> list[str]:
    """What the last word of `line` becomes by each completion that Tab offers at its end."""
    with provisionalcompleter():
        found = list(shell.Completer.completions(line, len(line)))
    return [(line[: entry.start] + entry.text).split(" ")[-1] for entry in found]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("%trt_compile m --ta", ["--target"]),
        ("%trt_compile m --no", ["--no-cache", "--no-isolate"]),
        ("%trt_compile m --target sm12", ["sm120", "sm121"]),
        ("plan = %trt_compile m --target cpu,sm8", ["cpu,sm80", "cpu,sm86", "cpu,sm89"]),
        ("%trt_run a_plan --device cu", ["cuda"]),
        ("%trt_compile m --passes fold-b", ["fold-batch-norm"]),
        ("%trt_compile my_arr", ["my_array"]),
        ("%trt_run a_plan my_", ["my_array"]),
        ("%%mlir --gen", ["--generic"]),
    ],
)
def test_completion(shell: InteractiveShell, line: str, offered: list[str]) -> None:
    """Tab completes options, their values, also after a comma, and variables."""
    shell.push({"my_array": np.zeros(1)})
    assert complete(shell, line) == offered


def test_completion_leaves_other_lines_alone(shell: InteractiveShell) -> None:
    """A line that is none of ours is completed as ever."""
    shell.push({"my_array": np.zeros(1)})
    assert complete(shell, "my_arr") == ["my_array"]
