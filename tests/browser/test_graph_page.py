"""A drawn graph in a browser: texts inside their boxes, links to the table and back, both themes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from onnx import parser
from playwright.sync_api import Page, expect

import mlirtrt_nb as mt
from mlirtrt_nb.display.palette import DARK, LIGHT

from .conftest import rgb

pytestmark = pytest.mark.browser

MODEL = """<ir_version: 8, opset_import: ["" : 17]> main (float[2,4,4] image, bool c) => (float[2,4,4] y)
{ a = Relu(image)  b = Tanh(a)  d = Det(b)  e = Sqrt(d)  one = Constant<value_ints = [1, 2]>()
  f = Unsqueeze(e, one)  g = Mul(b, f)
  y = If (c) <then_branch = t () => (float[2,4,4] p) { p = Sigmoid(g) },
              else_branch = o () => (float[2,4,4] q) { r = Abs(g)  q = Neg(r) }> }"""

# For each text of the picture: how far it reaches out of the box that it stands in.
OUTSIDE = """() => [...document.querySelectorAll('svg.mtg g.n')].flatMap(node => {
  const box = node.querySelector(':scope > rect.b').getBoundingClientRect();
  return [...node.querySelectorAll(':scope > text')].map(text => text.getBoundingClientRect())
    .map(t => Math.max(box.left - t.left, t.right - box.right, box.top - t.top, t.bottom - box.bottom));
})"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with the graph of a Plan that has engines, a host part and branches."""
    program = mt.from_onnx(parser.parse_model(MODEL))
    path = tmp_path_factory.mktemp("graph") / "graph.html"
    program.graph(collapse="none").save(path)
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_inside_their_boxes_in_the_colours_of_the_theme(
    address: str, open_page: Callable[..., Page], scheme: str
) -> None:
    """No text is wider than its box in the browser's own font, and box and text have the theme's colours."""
    page = open_page(address, scheme=scheme)
    reach = page.evaluate(OUTSIDE)
    assert len(reach) > 20 and max(reach) <= 0
    palette = DARK if scheme == "dark" else LIGHT
    box = page.locator("svg.mtg g.n", has_text="Unsqueeze").locator("rect.b").first
    expect(box).to_have_css("fill", rgb(palette["code"]))
    expect(page.locator("svg.mtg text.l").first).to_have_css("fill", rgb(palette["text"]))


def test_a_node_leads_to_its_source_and_back(address: str, open_page: Callable[..., Page]) -> None:
    """By keyboard and without scripts: from a box to the row with its source, and from the row to the box."""
    page = open_page(address, scripts=False)
    node = page.locator("svg.mtg a", has_text="Tanh")
    node.focus()
    page.keyboard.press("Enter")
    row = page.locator("tr:target")
    expect(row).to_be_visible()
    expect(row).to_contain_text("onnx.Tanh")
    row.get_by_role("link").click()
    expect(page.locator("g.n:target")).to_be_visible()


def test_the_picture_has_a_name_and_its_boxes_have_titles(address: str, open_page: Callable[..., Page]) -> None:
    """A screen reader says what is drawn."""
    page = open_page(address)
    expect(page.get_by_role("group", name="inputs image, c; outputs y")).to_be_visible()
    assert "from b" in (
        page.locator("svg.mtg g.n", has_text="Tanh").last.locator("title").first.text_content() or ""
    )
