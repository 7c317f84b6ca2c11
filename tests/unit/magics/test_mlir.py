"""%%mlir: programs from cells, and errors at the right place of the cell."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.lib.pretty import pretty

import mlirtrt_nb as mt

CELL = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def test_a_program_is_returned_and_stored(shell: InteractiveShell) -> None:
    """The cell becomes a Program under the name on the first line; values keep their names."""
    program = shell.run_cell_magic("mlir", "relu", CELL)
    assert isinstance(program, mt.Program)
    assert shell.user_ns["relu"] is program
    assert program.name == "relu"
    assert "%y = tensorrt.activation" in program.text()


def test_without_a_name(shell: InteractiveShell) -> None:
    """Without a name the Program is only returned."""
    before = set(shell.user_ns)
    assert isinstance(shell.run_cell_magic("mlir", "", CELL), mt.Program)
    assert set(shell.user_ns) == before


def test_quiet(shell: InteractiveShell) -> None:
    """--quiet stores and shows nothing; without a name it would do nothing at all."""
    assert shell.run_cell_magic("mlir", "m --quiet", CELL) is None
    assert isinstance(shell.user_ns["m"], mt.Program)
    with pytest.raises(UsageError, match="--quiet needs a NAME"):
        shell.run_cell_magic("mlir", "--quiet", CELL)


def test_generic(shell: InteractiveShell) -> None:
    """--generic changes what is shown, not what is returned."""
    program = shell.run_cell_magic("mlir", "m --generic", CELL)
    assert isinstance(program, mt.Program)
    assert '"tensorrt.activation"' in pretty(program)
    assert "tensorrt.activation" in program._repr_html_()
    assert '"tensorrt.activation"' not in pretty(shell.user_ns["m"])


def test_passes(shell: InteractiveShell) -> None:
    """--passes runs a pipeline over the cell's program."""
    unused = CELL.replace(
        "  return", "  %dead = tensorrt.identity %x : tensor<4xf32> to tensor<4xf32>\n  return"
    )
    assert "identity" in shell.run_cell_magic("mlir", "", unused).text()
    assert "identity" not in shell.run_cell_magic("mlir", "--passes canonicalize", unused).text()


def test_braces_and_dollars_are_left_alone(shell: InteractiveShell) -> None:
    """IPython does not put Python variables into the text."""
    shell.push({"x": "WRONG", "a": "WRONG"})
    cell = CELL.replace("tensor<4xf32> {\n", 'tensor<4xf32> attributes {note = "$x {a}"} {\n', 1)
    result = shell.run_cell(f"%%mlir m\n{cell}")
    assert result.success
    assert 'note = "$x {a}"' in shell.user_ns["m"].text()


@pytest.mark.parametrize(
    ("name", "cell", "error"),
    [
        ("bracket", CELL.replace("%x : tensor<4xf32>", "%x : tensor<4xf32"), mt.ParseError),
        ("unknown_op", CELL.replace("tensorrt.activation ", "tensorrt.activaton "), mt.ParseError),
        ("wrong_type", CELL.replace("return %y : tensor<4xf32>", "return %y : tensor<5xf32>"), mt.ParseError),
        ("undefined", CELL.replace("return %y", "return %z"), mt.ParseError),
        (
            "broken_rule",
            CELL.replace("kRELU>}", "kRELU>, alpha = 1.0 : f32}").replace("} %x", "} %x"),
            mt.MlirTrtError,
        ),
    ],
)
def test_errors_show_the_cell(
    shell: InteractiveShell, golden: Callable[[str, str], None], name: str, cell: str, error: type[Exception]
) -> None:
    """A mistake is reported at the line and column that the notebook shows, with a caret; variables survive."""
    shell.push({"kept": 1})
    with pytest.raises(error) as caught:
        shell.run_cell_magic("mlir", "m", cell)
    golden(f"errors/mlir_{name}.txt", "\n".join(caught.value._render_traceback_()))
    assert shell.user_ns["kept"] == 1
    assert "m" not in shell.user_ns


def test_line_and_column_count_as_in_the_notebook(shell: InteractiveShell) -> None:
    """The magic's own line is line 1, so the first line of MLIR is line 2."""
    with pytest.raises(mt.ParseError) as caught:
        shell.run_cell_magic("mlir", "", "func.func @main() {\n  %0 = arith.nothing\n  return\n}\n")
    assert caught.value.span is not None
    assert (caught.value.span.line, caught.value.span.text) == (3, "  %0 = arith.nothing")


def test_run_all_stops(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """A failed cell fails for IPython too, with a short report in place of a stack of frames."""
    result = shell.run_cell("%%mlir\nfunc.func @main() {\n  nonsense\n}\n")
    assert isinstance(result.error_in_exec, mt.ParseError)
    report = capsys.readouterr()
    assert "Traceback" not in report.out + report.err
    assert len((report.out + report.err).strip().splitlines()) <= 12


def test_a_blank_cell(shell: InteractiveShell) -> None:
    """A cell of blanks is answered with what to write."""
    with pytest.raises(UsageError, match="the cell is empty; write a module"):
        shell.run_cell_magic("mlir", "", "  \n")


@pytest.mark.parametrize("name", ["1x", "class", "a-b"])
def test_a_name_that_cannot_be_a_variable(shell: InteractiveShell, name: str) -> None:
    """A bad name is refused before any work."""
    with pytest.raises(UsageError, match="cannot be the name of a variable"):
        shell.run_cell_magic("mlir", name, CELL)
