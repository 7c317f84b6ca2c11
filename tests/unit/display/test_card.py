"""Cards as HTML and as text say the same, are bounded, and need no style sheet."""

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pandas as pd
import pytest

from mlirtrt_nb.display.card import Card, Code, Note, Section, Table, table_of
from mlirtrt_nb.display.html import card_html, table_html
from mlirtrt_nb.display.ir import ir_html
from mlirtrt_nb.display.text import card_text, table_text

FRAME = pd.DataFrame(
    {
        "engine": ["main_0", "main_1 & <b>"],
        "layers": [371, 2],
        "weights_bytes": [102_228_480, None],
        "build_seconds": [1.316, 0.0471],
        "sources": [("conv1", "relu1"), ()],
    }
)
CARD = Card(
    title="resnet50 <plan>",
    subtitle="Plan for cpu, sm89",
    facts=(("inputs", "x: 1x3x224x224xf32"), ("arena", "24.5 MiB")),
    notes=(Note("all ops run in engines"), Note("latency was not measured", "warn"), Note("no driver", "bad")),
    sections=(
        Section("Engines", table_of(FRAME, bar="weights_bytes")),
        Section("MLIR", Code('func.func @main() { "a.b"() : () -> () }'), open=False),
    ),
)


class Reader(HTMLParser):
    """What is left where styles, scripts, classes and ids are stripped; and the tags as they open and close."""

    VOID = {"meta", "br", "hr", "img", "input"}

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.tags, self.stack, self.attributes = "", [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, *attr) for attr in attrs]
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.stack:
            self.text += data


def test_html_card(golden: Callable[[str, str], None]) -> None:
    """The card's HTML, without its style sheet, is the recorded one."""
    html = re.sub(r"<style>.*?</style>", "", card_html(CARD), flags=re.S)
    golden("display/card.html", re.sub(r"(</(?:tr|p|details|summary|thead|h3)>)", r"\1\n", html))


def test_text_card(golden: Callable[[str, str], None]) -> None:
    """The card's text is the recorded one."""
    golden("display/card.txt", card_text(CARD, code=True))


def test_html_is_well_formed_and_has_no_script() -> None:
    """Every tag is closed; nothing runs, loads or has an id that could clash with another output's."""
    page = Reader(card_html(CARD))
    assert page.stack == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not [
        attr for attr in page.attributes if attr[1].startswith("on") or attr[1] in ("id", "src", "href")
    ]


def test_html_reads_without_styles() -> None:
    """With style sheet and classes gone, every fact, sign and cell is still there as text."""
    text = Reader(card_html(CARD)).text
    for part in ("resnet50 <plan>", "24.5 MiB", "✓ all ops", "⚠ latency", "✗ no driver", "97.5 MiB", "1.32 s"):
        assert part in text


def test_tables_have_header_scopes() -> None:
    """A screen reader can name the row and the column of each cell."""
    scopes = [
        value for tag, name, value in Reader(card_html(CARD)).attributes if (tag, name) == ("th", "scope")
    ]
    assert scopes.count("col") == len(FRAME.columns)
    assert scopes.count("row") == len(CARD.facts) + len(FRAME)


def test_same_object_same_html() -> None:
    """The HTML is a function of the object, so a notebook run twice has no changes to commit."""
    assert card_html(CARD) == card_html(CARD)


def test_missing_numbers_are_dashes() -> None:
    """A value that is not known is shown as such, never as zero."""
    assert table_of(FRAME).rows[1][2] == "–"


def test_long_frames_are_cut() -> None:
    """A table shows its limit of rows and says how many more there are."""
    table = table_of(pd.DataFrame({"n": range(1000)}), limit=10)
    assert len(table.rows) == 10
    assert table_text(table, limit=3).endswith("… 997 more rows")


def test_columns_that_the_frame_lacks_are_skipped() -> None:
    """`columns` picks and orders what there is."""
    assert table_of(FRAME, columns=["layers", "nothing", "engine"]).headers == ("layers", "engine")


def test_long_lists_in_cells_are_cut() -> None:
    """A layer fused from hundreds of nodes names the first dozen and counts the rest."""
    frame = pd.DataFrame({"layer": ["a"], "sources": [[f"n{i}" for i in range(300)]]})
    assert table_of(frame).rows[0][1].endswith("n10, n11, … 288 more")


def test_an_empty_frame() -> None:
    """No rows is a table of headers."""
    assert table_of(pd.DataFrame({"a": [], "b": []})).rows == ()


def test_bars_are_shares_of_the_largest() -> None:
    """The longest bar is full; a missing value has none."""
    table = table_of(pd.DataFrame({"n": [1.0, 4.0, None]}), bar="n")
    assert table.bars == (0, (0.25, 1.0, None))


def test_wide_characters_keep_columns_aligned() -> None:
    """A character that takes two columns of a terminal counts as two."""
    lines = table_text(Table(("name", "n"), (("模型", "1"), ("ab", "22")), (False, True))).split("\n")
    assert lines[2:] == ["模型   1", "ab    22"]


@pytest.mark.parametrize("text", ["%0 = a.b %x", "// <script>alert(1)</script>\n%0 = a.b", '"a\\"<&>b"'])
def test_ir_html_shows_the_text(text: str) -> None:
    """Highlighting changes no character, and markup in the IR stays text."""
    page = Reader(ir_html(text))
    assert page.text == text
    assert "script" not in page.tags


def test_ir_html_is_bounded() -> None:
    """Ten thousand ops, or one line of a megabyte, make a page of bounded size that says what it left out."""
    many = ir_html("%0 = a.b %x : tensor<4xf32>\n" * 10_000, limit=100)
    assert "9 900 more lines" in many
    assert len(many) < 60_000
    assert len(ir_html("%0 " * 400_000)) < 60_000
    wide = ir_html("\n".join(["%0 = a.b %x, %y, %z" * 40] * 300))
    assert len(wide) < 400_000 and "more lines" in wide


def test_sentences_are_wrapped_and_names_cut_in_the_middle() -> None:
    """A reason in a middle column is read whole, a name keeps both ends, a long last cell its start."""
    reason = "last layer: its results are the program's outputs, and its weights are quantized all the same"
    table = Table(
        ("op", "reason", "where"), (("onnx.Gemm", reason, "b" * 300), ("a" * 80, "short", "word " * 90))
    )
    lines = table_text(table).splitlines()
    assert lines[2].split()[0] == "onnx.Gemm" and " ".join(lines[2].split()[1:-1] + lines[3].split()) == reason
    assert lines[4].startswith("a" * 31 + "…" + "a" * 31 + "  short") and lines[4].endswith("word …")
    assert len(lines) == 5 and max(map(len, lines)) < 64 * 2 + 240 + 5


def test_a_sentence_without_end_is_cut_at_its_end() -> None:
    """Four lines of a cell at most."""
    lines = table_text(Table(("a", "b"), (("word " * 200, "x"),))).splitlines()
    assert len(lines) == 6 and lines[-1].endswith("word …")


def test_long_names_break_behind_their_punctuation() -> None:
    """In HTML; a short name stays whole, and so does what is escaped."""
    name = "model/layers.0/attention&self/out"
    html = table_html(Table(("a", "b", "c"), (("onnx.NonZero", name, "ONNX Runtime 1.2"),)))
    assert '<th scope="row">onnx.NonZero</th>' in html
    assert '<td class="mt-words">model/<wbr>layers.<wbr>0/<wbr>attention&amp;self/<wbr>out</td>' in html
    assert "<td>ONNX Runtime 1.2</td>" in html
