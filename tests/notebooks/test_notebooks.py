"""Every notebook is run from the top, and its outputs are what a reader can use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from notebooks.run import to_html
from tests.executed import NOTEBOOKS, Executed, executed

FOLDER = Path(__file__).parent.parent.parent / "notebooks"
SECONDS = {"01_quickstart": 120, "02_writing_mlir": 60, "03_passes": 120, "04_precision": 240}
LARGEST_OUTPUT = 200_000
LARGEST_NOTEBOOK = 800_000


@pytest.fixture(params=NOTEBOOKS)
def ran(request: pytest.FixtureRequest) -> Executed:
    """Each notebook, run once for all tests."""
    return executed(request.param)


def outputs(notebook: nbformat.NotebookNode) -> Iterator[tuple[nbformat.NotebookNode, nbformat.NotebookNode]]:
    """Each output with its cell."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            yield cell, output


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_load_nothing(tmp_path: Path, theme: str) -> None:
    """A page of a notebook is whole without a network."""
    to_html(nbformat.read(FOLDER / "01_quickstart.ipynb", 4), tmp_path / "page.html", theme=theme)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f'data-jp-theme-light="{"true" if theme == "light" else "false"}"' in page
    assert re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=[^>]*>", page) == []


def test_every_cell_ran(ran: Executed) -> None:
    """All code cells ran in order; only those tagged so failed."""
    cells = [cell for cell in ran.notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    failed = {cell.id for cell, output in outputs(ran.notebook) if output.output_type == "error"}
    expected = {cell.id for cell in cells if "raises-exception" in cell.metadata.get("tags", [])}
    assert failed == expected


def test_it_is_quick(ran: Executed) -> None:
    """The notebook keeps the time that it promises."""
    assert ran.seconds < SECONDS.get(ran.name, 600)


def test_nothing_goes_to_stderr(ran: Executed) -> None:
    """No warning or native message ends up in the page."""
    texts = [o.text for _, o in outputs(ran.notebook) if o.output_type == "stream" and o.name == "stderr"]
    assert texts == []


def test_rich_outputs_have_text_and_html(ran: Executed) -> None:
    """Every rich output also has text/plain; what is HTML needs no script, and images have a description."""
    rich = [output for _, output in outputs(ran.notebook) if "data" in output]
    assert rich
    for output in rich:
        assert "text/plain" in output.data
        assert "<script" not in output.data.get("text/html", "")
        if "image/png" in output.data:
            assert output.metadata["image/png"]["alt"]


def test_outputs_are_bounded(ran: Executed) -> None:
    """No output, and no notebook, is too large to keep in a repository."""
    sizes = [len(json.dumps(output)) for _, output in outputs(ran.notebook)]
    assert max(sizes) < LARGEST_OUTPUT
    assert sum(sizes) < LARGEST_NOTEBOOK


def test_errors_are_short(ran: Executed) -> None:
    """A mistake that a notebook shows takes at most 12 lines, and points into the cell."""
    for _, output in outputs(ran.notebook):
        if output.output_type == "error":
            lines = "\n".join(output.traceback).splitlines()
            assert len(lines) <= 12
            assert any(line.strip().startswith("^") for line in lines)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_stored_without_outputs(name: str) -> None:
    """What is in the repository is what was written, so that running it changes nothing to review."""
    notebook = nbformat.read(str(FOLDER / f"{name}.ipynb"), as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


def test_quickstart_reads_the_image() -> None:
    """The network read the words that were drawn, from the Plan and from the file it was saved to."""
    texts = [
        output.get("text") or output.data.get("text/plain", "")
        for _, output in outputs(executed("01_quickstart").notebook)
        if output.output_type in ("stream", "execute_result")
    ]
    assert "'TensorRT without a GPU'" in texts
    assert any(text.strip().endswith("it says: TensorRT without a GPU") for text in texts)


def test_precision_finds_what_to_keep() -> None:
    """The network reads every image in fp32; what bisection keeps reaches the goal of the exercise."""
    texts = [
        output.get("text") or output.data.get("text/plain", "")
        for _, output in outputs(executed("04_precision").notebook)
        if output.output_type in ("stream", "execute_result")
    ]
    assert any("kept: you are there" in text for text in texts)
    assert any(text.startswith("Precision('int4'") for text in texts)
    assert "fp32: 100% right" in {text.strip() for text in texts}
