"""Cells run in a real JupyterLab, with mouse and keyboard, in both themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mlirtrt_nb.display.palette import DARK, LIGHT

from .conftest import Lab

pytestmark = pytest.mark.browser

CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
SHOW_IR = """
from IPython.display import HTML
from mlirtrt_nb.display import ir_html
HTML(ir_html("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\\n  return %x : tensor<4xf32>  // as is\\n}"))
"""


@pytest.fixture(params=["JupyterLab Light", "JupyterLab Dark"])
def themed(request: pytest.FixtureRequest, lab: Lab) -> Iterator[tuple[Lab, dict[str, str]]]:
    """A JupyterLab in one of its themes, and the palette that should be seen in it."""
    lab.theme(request.param)
    yield lab, DARK if "Dark" in request.param else LIGHT
    lab.theme("JupyterLab Light")


def run_all(page: Page) -> None:
    """Run every cell by menu, once the notebook and its kernel are there."""
    expect(page.locator(".jp-Notebook .jp-Cell").first).to_be_visible(timeout=60_000)
    # Running before the kernel is connected would ask which one to use.
    expect(page.get_by_text("| Idle")).to_be_visible(timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[n : n + 2], 16) for n in (1, 3, 5)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_outputs_follow_the_notebooks_theme(
    themed: tuple[Lab, dict[str, str]], open_page: Callable[..., Page], scheme: str
) -> None:
    """Cards and IR have the notebook's theme whatever the desktop's, and all their text is readable."""
    lab, palette = themed
    page = open_page(lab.notebook("%load_ext mlirtrt_nb", "%trt_doctor", SHOW_IR), scheme=scheme)
    run_all(page)
    expect(page.locator(".mt")).to_have_count(2, timeout=60_000)
    expect(page.locator(".mt").first).to_have_css("background-color", rgb(palette["page"]))
    expect(page.locator(".mt pre")).to_have_css("background-color", rgb(palette["code"]))
    assert page.evaluate(CONTRAST) == []
