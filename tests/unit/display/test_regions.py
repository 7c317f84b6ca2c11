"""IR whose regions and dictionaries fold, and a value marked where it is defined and used."""

from __future__ import annotations

import re
from html import unescape

from mlirtrt_nb.display.lines import cut_middle, highlight_line, word_changes
from mlirtrt_nb.display.regions import regions_html

TEXT = """module {
  func.func @main(%arg0: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
    %0 = tensorrt.if (%c : tensor<i1>) -> tensor<4xf32> {
      tensorrt.yield %arg0 : tensor<4xf32>
    } else {
      %1 = a.op %arg0 {first = array<i64: 1, 2, 3, 4>, second = "a text that takes room"} : tensor<4xf32>
      tensorrt.yield %1 : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
}
"""


def plain(html: str) -> str:
    """What is read where tags are stripped."""
    return unescape(re.sub(r"<style>.*?</style>|<[^>]+>", "", html))


def test_without_tags_the_text_is_the_text() -> None:
    """Folding adds nothing but how many attributes a folded dictionary has."""
    assert plain(regions_html(TEXT, dictionaries=False)) == TEXT.rstrip()
    assert plain(regions_html(TEXT)).replace("{2 attributes}", "") == TEXT.rstrip()


def test_each_region_folds() -> None:
    """Every line that opens a region is a summary, and all are closed again."""
    html = regions_html(TEXT, dictionaries=False)
    summaries = [plain(part) for part in re.findall(r"<summary>(.*?)</summary>", html, re.DOTALL)]
    assert [line.strip() for line in summaries] == [
        "module {",
        "func.func @main(%arg0: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {",
        "%0 = tensorrt.if (%c : tensor<i1>) -> tensor<4xf32> {",
        "} else {",
    ]
    assert html.count("<details") == html.count("</details>") == 4


def test_folded_leaves_functions_open() -> None:
    """With `folded` the regions inside of functions are closed, the functions are not."""
    html = regions_html(TEXT, dictionaries=False, folded=True)
    assert html.count("<details open>") == 2
    assert html.count("<details>") == 2


def test_a_value_is_marked_where_it_is_made_and_read() -> None:
    """Its definition is told from its uses in words, and no other value is marked."""
    html = regions_html(TEXT, value="%arg0")
    assert len(re.findall(r'<mark class=def title="defined here">%arg0</mark>', html)) == 1
    assert len(re.findall(r'<mark title="used here">%arg0</mark>', html)) == 2
    assert "<mark" not in regions_html(TEXT, value="%arg")


def test_a_cut_text_is_still_well_formed() -> None:
    """Where the limit cuts inside of regions they are closed, and the rest is counted."""
    html = regions_html(TEXT, limit=4)
    assert "// … 7 more lines" in html
    assert html.count("<details") == html.count("</details>")


def test_long_lines_lose_their_middle() -> None:
    """The op at the start and the type at the end stay."""
    line = f"%0 = a.op {{x = dense<{'1, ' * 400}1> : tensor<401xi64>}} : tensor<4xf32>"
    short = cut_middle(line, 120)
    assert short.startswith("%0 = a.op") and short.endswith(": tensor<4xf32>")
    assert len(short) < 150 and "more…" in short


def test_words_that_differ() -> None:
    """Only the words that the other line lacks, never names of values, and nothing in unlike lines."""
    old, new = "%1 = a.op %0 {n = 1 : i64} : i32", "%7 = a.op %5 {n = 20 : i64} : i32"
    assert [old[a:b] for a, b in word_changes(old, new)[0]] == ["1"]
    assert [new[a:b] for a, b in word_changes(old, new)[1]] == ["20"]
    assert word_changes(old, "return") == ([], [])


def test_underlines_do_not_break_colours() -> None:
    """A span that starts and ends inside of tokens gives the same text."""
    line = '%0 = tensorrt.identity %arg0 {name = "x < y"} : tensor<4xf32> to tensor<4xf32>'
    for start in range(len(line)):
        html = highlight_line(line, [(start, min(start + 7, len(line)))])
        assert plain(html) == line
        assert "".join(re.findall(r"<u>(.*?)</u>", html.replace("</u></span><span class=\\w><u>", "")))
