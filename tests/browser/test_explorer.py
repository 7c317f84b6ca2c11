"""The pass explorer in a real JupyterLab, by mouse and by keyboard alone, and its page opened from disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import mlirtrt_nb as mt

from .conftest import CONTRAST, Lab
from .test_jupyterlab import run_all

pytestmark = pytest.mark.browser

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.identity %x : tensor<4xf32> to tensor<4xf32>
  %1 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %0 : tensor<4xf32>
  %2 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""
PASSES = "symbol-dce,tensorrt-canonicalize,plan-clustering,plan-outline-clusters"
CELLS = (
    "%load_ext mlirtrt_nb\n%env MLIRTRT_NB_ISOLATE=0",
    f"import mlirtrt_nb as mt\nprogram = mt.from_mlir('''{TEXT}''')",
    f"%trt_passes program --passes {PASSES} --name e",
    "print('pipeline:', e.pipeline, '| fresh:', e.program.text() == e.pipeline.run(program).program.text())",
)
WAIT = 60_000


@pytest.fixture
def explorer(lab: Lab, open_page: Callable[..., Page]) -> Iterator[Callable[[str], Page]]:
    """A notebook with the explorer open, in a theme."""

    def opened(theme: str) -> Page:
        lab.theme(f"JupyterLab {theme}")
        page = open_page(lab.notebook(*CELLS), width=1500)
        run_all(page)
        expect(page.get_by_role("listbox")).to_be_visible(timeout=WAIT)
        expect(heading(page)).to_contain_text("tensorrt-canonicalize", timeout=WAIT)
        return page

    yield opened
    lab.theme("JupyterLab Light")


def heading(page: Page):
    """The name and status of the selected pass."""
    return page.locator(".mt-explorer h3")


def state_now(page: Page, text: str) -> None:
    """Run the last cell again and expect `text` in its output."""
    page.locator(".jp-Notebook .jp-Cell .cm-content").last.click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".jp-Cell").last.get_by_text(text)).to_be_visible(timeout=WAIT)


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_by_mouse(explorer: Callable[[str], Page], theme: str) -> None:
    """A check box, a line of the list, a view and an option do what they say; all text is readable."""
    page = explorer(theme)
    page.get_by_role("checkbox", name="run tensorrt-canonicalize").uncheck()
    expect(heading(page)).to_contain_text("is switched off")
    page.get_by_role("listbox").select_option(index=3)
    expect(heading(page)).to_contain_text("plan-outline-clusters")
    page.get_by_role("button", name="Side by side").click()
    expect(page.locator(".mt-explorer .mt-diff table").first).to_be_visible()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".mt-explorer .mt-diff th").first).to_contain_text("compared pipeline")
    page.get_by_text("Python", exact=True).click()
    expect(page.locator(".mt-explorer details[open] pre").last).to_contain_text("-tensorrt-canonicalize")
    assert page.evaluate(CONTRAST) == []
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("checkbox", name="run tensorrt-canonicalize")).to_be_checked()
    state_now(page, f"pipeline: {PASSES} | fresh: True")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_by_keyboard_alone(explorer: Callable[[str], Page], theme: str) -> None:
    """From the list: arrows, j and k walk, x switches, J moves, u undoes; JupyterLab takes none of the keys."""
    page = explorer(theme)
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    expect(heading(page)).to_contain_text("plan-clustering")
    page.keyboard.press("ArrowDown")
    expect(heading(page)).to_contain_text("plan-outline-clusters")
    page.keyboard.type("kk")
    expect(heading(page)).to_contain_text("tensorrt-canonicalize")
    page.keyboard.type("x")
    expect(heading(page)).to_contain_text("is switched off")
    page.keyboard.type("ux")
    expect(heading(page)).to_contain_text("is switched off")
    page.keyboard.type("kJ")
    expect(page.get_by_role("listbox").locator("option").nth(1)).to_contain_text("symbol-dce")
    expect(page.get_by_role("listbox")).to_be_focused()
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    state_now(page, "pipeline: -tensorrt-canonicalize,symbol-dce,plan-clustering")


def test_by_the_field_for_keys(explorer: Callable[[str], Page]) -> None:
    """Where handlers do not run, letters typed into the field do the same."""
    page = explorer("Light")
    page.get_by_placeholder("keys: j k x u").click()
    page.keyboard.type("jx")
    expect(heading(page)).to_contain_text("plan-clustering")
    expect(heading(page)).to_contain_text("is switched off")


def test_twenty_quick_toggles(explorer: Callable[[str], Page]) -> None:
    """Clicked as fast as a browser can, the last state is what the pipeline has, and what a fresh run gives."""
    page = explorer("Light")
    box = page.get_by_role("checkbox", name="run tensorrt-canonicalize")
    for _ in range(19):
        box.click(no_wait_after=True)
    expect(box).not_to_be_checked()
    expect(heading(page)).to_contain_text("is switched off", timeout=WAIT)
    off = PASSES.replace("tensorrt-canonicalize", "-tensorrt-canonicalize")
    state_now(page, f"pipeline: {off} | fresh: True")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a run's page on disk, beside another pipeline."""
    program = mt.from_mlir(TEXT)
    run = mt.Pipeline.parse(PASSES).run(program, isolate=False)
    other = mt.Pipeline.parse("symbol-dce,plan-clustering").run(program, isolate=False)
    path: Path = tmp_path_factory.mktemp("run") / "run.html"
    run.to_html(path, against=other)
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_with_scripts(saved: str, open_page: Callable[..., Page], scheme: str) -> None:
    """Keys walk the steps one at a time, h and the filter narrow the list, a clicked value is marked."""
    page = open_page(saved, scheme=scheme)
    current = page.locator(".mt-list a[aria-current=step]")
    expect(current).to_contain_text("tensorrt-canonicalize")
    expect(page.locator("section:visible")).to_have_count(1)
    page.keyboard.press("j")
    expect(current).to_contain_text("plan-clustering")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("k")
    expect(current).to_contain_text("symbol-dce")
    page.keyboard.press("h")
    expect(page.locator(".mt-list li:visible")).to_have_count(3)
    page.get_by_placeholder("filter steps").fill("outline")
    expect(page.locator(".mt-list li:visible")).to_have_count(1)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate(CONTRAST) == []


def test_a_clicked_value_is_marked(saved: str, open_page: Callable[..., Page]) -> None:
    """Its definition and its uses in the same function, counted in words too."""
    page = open_page(saved)
    page.get_by_text("IR at the start").click()
    tree = page.locator(".mt-tree").first
    expect(tree).to_be_visible()
    place = page.evaluate(
        """() => {
          const walker = document.createTreeWalker(document.querySelector('.mt-tree'), NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const at = walker.currentNode.data.search(/%0|%arg0/);
            if (at < 0) continue;
            const range = new Range();
            range.setStart(walker.currentNode, at + 1);
            range.setEnd(walker.currentNode, at + 2);
            const box = range.getBoundingClientRect();
            return [box.x + 2, box.y + box.height / 2];
          }
        }"""
    )
    page.mouse.click(*place)
    assert page.evaluate("CSS.highlights.get('mt-def').size") == 1
    assert page.evaluate("CSS.highlights.get('mt-use').size") >= 1
    expect(page.locator(".mt-tools")).to_contain_text("places")


def test_the_page_without_scripts(saved: str, open_page: Callable[..., Page]) -> None:
    """Every step is there to be opened, the first change is open, and links lead to their step."""
    page = open_page(saved, scripts=False)
    expect(page.locator("section:visible")).to_have_count(4)
    expect(page.locator("#step-2 .mt-diff")).to_be_visible()
    expect(page.get_by_placeholder("filter steps")).to_be_hidden()
    page.locator("#step-3 > details > summary").click()
    expect(page.locator("#step-3 .mt-diff").first).to_be_visible()
    page.get_by_text("Reproducer").click()
    expect(page.get_by_text("python -m mlirtrt_nb opt")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_not_wider_than_the_screen(saved: str, open_page: Callable[..., Page], width: int) -> None:
    """On a phone and on a desk long lines scroll inside of their part."""
    page = open_page(saved, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
