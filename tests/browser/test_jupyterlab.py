"""Cells run in a real JupyterLab, with mouse and keyboard, in both themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from mlirtrt_nb.display.palette import DARK, LIGHT
from models.fetch import model

from .conftest import CONTRAST, Lab, rgb

pytestmark = pytest.mark.browser

SHOW_IR = """
from IPython.display import HTML
from mlirtrt_nb.display import ir_html
HTML(ir_html("func.func @main(%x: tensor<4xf32>) {\\n  return %x : tensor<4xf32>  // as it is\\n}"))
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


def test_outputs_follow_the_notebooks_theme(
    themed: tuple[Lab, dict[str, str]], open_page: Callable[..., Page]
) -> None:
    """Cards and IR have the notebook's theme where the desktop's is the other, and all text is readable."""
    lab, palette = themed
    desktop = "light" if palette is DARK else "dark"
    page = open_page(lab.notebook("%load_ext mlirtrt_nb", "%trt_doctor", SHOW_IR), scheme=desktop)
    run_all(page)
    expect(page.locator(".mt")).to_have_count(2, timeout=60_000)
    expect(page.locator(".mt").first).to_have_css("background-color", rgb(palette["page"]))
    expect(page.locator(".mt pre")).to_have_css("background-color", rgb(palette["code"]))
    assert page.evaluate(CONTRAST) == []


def test_the_stop_button_cancels_a_compilation(lab: Lab, open_page: Callable[..., Page]) -> None:
    """Pressing stop while engines are built ends the cell with a short report; the kernel lives on."""
    path = model("densenet121")
    compile_cell = f"%trt_compile {path} --target sm75 --target sm80 --target sm86 --target sm89 --no-cache"
    page = open_page(lab.notebook("%load_ext mlirtrt_nb\nkept = 6 * 7", compile_cell, "print('kept', kept)"))
    run_all(page)
    expect(page.locator(".mt progress")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Interrupt the kernel").click()
    expect(page.get_by_text("stopped in")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("Cancelled:")).to_be_visible()
    # Run All stopped at the failed cell; the kernel answers when the last cell is run by itself.
    page.locator(".jp-Notebook .jp-Cell").last.click()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("kept 42")).to_be_visible(timeout=30_000)
