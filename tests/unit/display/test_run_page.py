"""A run as one file: complete without scripts, bounded, with every step and nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.display.run_page import run_page
from mlirtrt_nb.errors import MlirTrtError, OptionError

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.identity %x : tensor<4xf32> to tensor<4xf32>
  %1 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def run() -> mt.PipelineRun:
    """A run with a step that changes nothing and two that change something."""
    return mt.Pipeline.parse("symbol-dce,tensorrt-canonicalize,plan-clustering").run(mt.from_mlir(TEXT))


def test_every_step_is_there(run: mt.PipelineRun) -> None:
    """The list links to a section for each step, with status, and the changed ones have their diff."""
    html = run_page(run)
    assert re.findall(r'href="#(step-\d)"', html) == re.findall(r'<section id="(step-\d)">', html)
    assert re.findall(r'data-status="(\w+)"', html) == ["same", "changed", "changed"]
    assert html.count('class="mt-diff"') == 2
    assert "Rewrites that fired" in html


def test_it_needs_nothing_else(run: mt.PipelineRun) -> None:
    """No address of another file or site stands in it."""
    html = run_page(run)
    assert not re.search(r"""(src|href)=["'](?!#)|@import|url\(|https?:""", html)


def test_without_scripts_the_first_change_is_open(run: mt.PipelineRun) -> None:
    """Steps are <details>, of which the first that changed something is open."""
    html = run_page(run)
    assert re.findall(r"<section id=\"(step-\d)\"><details open>", html) == ["step-2"]


def test_two_runs_side_by_side(run: mt.PipelineRun) -> None:
    """Steps are aligned by pass; where the IR is the same it says so."""
    other = mt.Pipeline.parse("symbol-dce,plan-clustering").run(mt.from_mlir(TEXT))
    html = run_page(run, against=other)
    assert html.count("the pipeline compared with has the same IR here") == 1
    assert html.count("Beside the pipeline compared with (left)") == 1


def test_a_large_module_gives_a_bounded_page() -> None:
    """Thousands of changed ops are cut to what a browser likes."""
    op = '  %{} = "tensorrt.identity"(%{}) {{}} : (tensor<4xf32>) -> tensor<4xf32>'
    lines = [op.format(n, n - 1 if n else "x") for n in range(3000)]
    text = "\n".join(["func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {", *lines])
    program = mt.from_mlir(f"{text}\n  return %2999 : tensor<4xf32>\n}}")
    run = mt.Pipeline.parse("tensorrt-canonicalize,plan-clustering").run(program)
    assert len(run_page(run)) < 500_000


def test_what_cannot_be_shown(run: mt.PipelineRun, tmp_path: Path) -> None:
    """A view that there is not, and what is no run to stand beside it, are told, and no file is left."""
    for options, message in (
        ({"view": "columns"}, "view='columns'\n  hint: one of inline, side by side"),
        ({"against": 3}, "against= is an int"),
    ):
        with pytest.raises(OptionError) as raised:
            run.to_html(tmp_path / "run.html", **options)
        assert message in str(raised.value)
    with pytest.raises(OptionError, match="reuse= is a str"):
        mt.Pipeline.parse("cse").run(run.program, reuse="run")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_the_file_appears_whole_or_not_at_all(run: mt.PipelineRun, tmp_path: Path) -> None:
    """to_html writes the page; a folder that is not there is one clear error."""
    run.to_html(tmp_path / "run.html", title="A <title>")
    assert "A &lt;title&gt;" in (tmp_path / "run.html").read_text(encoding="utf-8")
    with pytest.raises(MlirTrtError, match="cannot write"):
        run.to_html(tmp_path / "none" / "run.html")
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]
