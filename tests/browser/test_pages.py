"""The quickstart as a page: readable in both themes, on a phone, by keyboard, and with scripts off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from playwright.sync_api import Locator, Page, expect

from mlirtrt_nb.display import ir_html
from mlirtrt_nb.display.palette import DARK, LIGHT
from mlirtrt_nb.display.style import page as whole_page
from notebooks.run import to_html
from tests.executed import executed

from .conftest import CONTRAST, rgb

pytestmark = pytest.mark.browser

MLIR = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32> // "note"
  return %y : tensor<4xf32>
}"""


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The address of the executed quickstart, exported in a theme."""

    def address(theme: str) -> str:
        path = tmp_path_factory.mktemp("pages") / f"{theme}.html"
        to_html(executed("01_quickstart").notebook, path, theme=theme)
        return path.as_uri()

    return address


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_readable_in_the_pages_theme(
    quickstart: Callable[[str], str], open_page: Callable[..., Page], theme: str, scheme: str
) -> None:
    """The outputs have the exported page's theme, not the desktop's, and each text has 4.5:1 contrast."""
    page = open_page(quickstart(theme), scheme=scheme)
    palette = DARK if theme == "dark" else LIGHT
    expect(page.locator(".mt").first).to_have_css("background-color", rgb(palette["page"]))
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize(
    ("scheme", "palette", "ground"), [("light", LIGHT, "#ffffff"), ("dark", DARK, "#111111")]
)
def test_a_notebooks_page_follows_the_reader(
    open_page: Callable[..., Page],
    tmp_path: Path,
    scheme: str,
    palette: dict[str, str],
    ground: str,
    scripts: bool,
) -> None:
    """Its text, its code and its outputs are all of the desktop's theme, with scripts and without."""
    code = new_code_cell("x = 1", outputs=[new_output("display_data", {"text/html": ir_html(MLIR)})])
    file = tmp_path / "page.html"
    to_html(new_notebook(cells=[new_markdown_cell("# Heading"), code]), file)
    page = open_page(file.as_uri(), scheme=scheme, scripts=scripts)
    expect(page.locator("body")).to_have_css("background-color", rgb(ground))
    expect(page.locator(".mt").first).to_have_css("background-color", rgb(palette["page"]))
    assert page.evaluate(CONTRAST) == []
    strong = "rgba(0, 0, 0, 0.87)" if scheme == "light" else "rgb(255, 255, 255)"
    expect(page.get_by_role("heading", name="Heading")).to_have_css("color", strong)


@pytest.mark.parametrize("width", [390, 1280])
def test_no_output_is_wider_than_the_page(
    quickstart: Callable[[str], str], open_page: Callable[..., Page], width: int
) -> None:
    """On a phone and on a desk, wide tables and code scroll inside their output."""
    page = open_page(quickstart("light"), width=width)
    widths = page.evaluate("[...document.querySelectorAll('.mt')].map(e => [e.scrollWidth, e.clientWidth])")
    assert widths
    assert all(inner <= outer for inner, outer in widths)


def test_the_page_works_with_scripts_off(
    quickstart: Callable[[str], str], open_page: Callable[..., Page]
) -> None:
    """Without scripts the card, its tables and its folding are there."""
    page = open_page(quickstart("light"), scripts=False)
    expect(page.get_by_role("heading", name="PP-OCRv6_rec_small").first).to_be_visible()
    expect(page.get_by_role("columnheader", name="builder")).to_be_visible()
    layers = page.locator("summary", has_text="Layers").first
    layers.click()
    expect(page.locator("details[open]", has=layers).get_by_role("table")).to_be_visible()


def test_parts_open_by_keyboard(quickstart: Callable[[str], str], open_page: Callable[..., Page]) -> None:
    """A part is reached with Tab, shows that it has the focus, and opens with Enter."""
    page = open_page(quickstart("light"))
    part = page.locator("summary", has_text="Ops by kind").first
    part.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(part).to_be_focused()
    assert part.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert part.evaluate("e => e.parentElement.open")


@pytest.mark.parametrize(("scheme", "palette"), [("light", LIGHT), ("dark", DARK)])
def test_a_plain_page_follows_the_desktop(
    open_page: Callable[..., Page], tmp_path: Path, scheme: str, palette: dict[str, str]
) -> None:
    """Where no front end sets a theme, the desktop's setting counts."""
    file = tmp_path / "ir.html"
    file.write_text(whole_page(ir_html(MLIR), title="IR"), encoding="utf-8")
    page = open_page(file.as_uri(), scheme=scheme)
    expect(page.locator("pre")).to_have_css("background-color", rgb(palette["code"]))
    assert page.locator("pre").text_content() == MLIR
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize(
    ("attributes", "palette"),
    [
        ('<html><body class="vscode-body vscode-dark">', DARK),
        ('<html><body class="vscode-body vscode-light">', LIGHT),
        ('<html theme="dark"><body>', DARK),
        ('<html theme="light"><body>', LIGHT),
        ('<html><body data-jp-theme-light="false">', DARK),
        ('<html><body data-jp-theme-light="true">', LIGHT),
    ],
    ids=["vscode dark", "vscode light", "colab dark", "colab light", "lab dark", "lab light"],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_front_ends_word_counts(
    open_page: Callable[..., Page], tmp_path: Path, attributes: str, palette: dict[str, str], scheme: str
) -> None:
    """The way each front end marks its theme is understood, whatever the desktop says."""
    file = tmp_path / "page.html"
    file.write_text(f"<!DOCTYPE html>{attributes.replace('>', '><meta charset=utf-8>', 1)}{ir_html(MLIR)}")
    page = open_page(file.as_uri(), scheme=scheme)
    expect(page.locator("pre")).to_have_css("background-color", rgb(palette["code"]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_value_is_marked_without_scripts(open_page: Callable[..., Page], tmp_path: Path, scheme: str) -> None:
    """A click on a use leads to the definition; it and all uses of that value, and no other, are outlined."""
    text = "\n".join(
        [
            "func.func @f(%x: f32) -> f32 {",
            "  %a = math.exp %x : f32",
            "  %b = arith.addf %a, %a : f32",
            "  return %b : f32",
            "}",
        ]
    )
    file = tmp_path / "ir.html"
    file.write_text(whole_page(ir_html(text), title="IR"), encoding="utf-8")
    page = open_page(file.as_uri(), scheme=scheme, scripts=False)
    page.get_by_title("math.exp").first.click()
    names = page.locator(".mt-tree a")
    outlined = {name.inner_text() for name in names.all() if style_of(name, "outlineStyle") == "solid"}
    assert outlined == {"%a"}
    assert [style_of(name, "outlineWidth") for name in page.get_by_text("%a", exact=True).all()] == [
        "2px",
        "1px",
        "1px",
    ]
    assert page.evaluate(CONTRAST) == []


def style_of(locator: Locator, name: str) -> str:
    """A computed style of an element."""
    return str(locator.evaluate(f"e => getComputedStyle(e).{name}"))
