"""`%trt_passes`: the explorer from a line, with literal text and the user's pipelines."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import mlirtrt_nb as mt
from mlirtrt_nb.errors import OptionError
from mlirtrt_nb.widgets.explorer import Explorer

TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.identity %x : tensor<4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def test_it_opens_the_explorer_and_stores_it(shell: InteractiveShell) -> None:
    """The default pipeline on a variable; the Explorer is returned and named."""
    shell.push({"program": mt.from_mlir(TEXT)})
    returned = shell.run_line_magic("trt_passes", "program --name e")
    assert isinstance(returned, Explorer)
    assert shell.user_ns["e"] is returned
    assert str(returned.pipeline) == str(mt.Pipeline.default())


def test_pipelines_by_text_and_by_variable(shell: InteractiveShell) -> None:
    """A pass's name is text though it could be a variable's; a Pipeline is taken from the user's."""
    shell.push({"program": mt.from_mlir(TEXT), "mine": mt.Pipeline.parse("tensorrt-canonicalize,cse")})
    returned = shell.run_line_magic("trt_passes", "program --passes mine --against cse")
    assert str(returned.pipeline) == "tensorrt-canonicalize,cse"
    assert returned.state.baseline.pipeline == "cse"
    assert returned.state.baseline.program.text() != returned.program.text()


def test_a_page_can_be_written_at_once(shell: InteractiveShell, tmp_path: Path) -> None:
    """--html writes the run as a page."""
    shell.push({"program": mt.from_mlir(TEXT)})
    shell.run_line_magic("trt_passes", f"program --passes tensorrt-canonicalize --html {tmp_path / 'run.html'}")
    assert "tensorrt-canonicalize" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_mistakes(shell: InteractiveShell) -> None:
    """Unknown variables, passes and names are refused in one line."""
    shell.push({"program": mt.from_mlir(TEXT)})
    with pytest.raises(UsageError, match="no variable 'progam'"):
        shell.run_line_magic("trt_passes", "progam")
    with pytest.raises(OptionError, match="csee"):
        shell.run_line_magic("trt_passes", "program --passes csee")
    with pytest.raises(UsageError, match="name of a variable"):
        shell.run_line_magic("trt_passes", "program --name 3e")


def test_completion_knows_its_options(shell: InteractiveShell) -> None:
    """Tab gives passes after --against, and variables as the source."""
    shell.push({"program": mt.from_mlir(TEXT)})

    def complete(text: str) -> list[str]:
        with provisionalcompleter():
            return [match.text for match in shell.Completer.completions(text, len(text))]

    assert "program" in complete("%trt_passes prog")
    assert "tensorrt-canonicalize" in complete("%trt_passes program --against tensorrt-can")
