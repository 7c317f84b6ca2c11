"""The reference written from the definitions."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.dialects import reference
from mlirtrt_nb.errors import OptionError
from mlirtrt_nb.ir.context import definitions

DOCS = Path(__file__).parents[3] / "docs" / "dialects"


@pytest.mark.parametrize("name", reference.PAGES)
def test_checked_in_pages_are_current(name):
    """docs/ holds what the definitions give; `python -m mlirtrt_nb.dialects.reference` renews it."""
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == reference.markdown(name)


@pytest.mark.parametrize("name", reference.PAGES)
def test_page_has_every_op_and_link(name):
    """Each op has a section, and each link of the contents leads to one."""
    page = reference.markdown(name)
    headings = {line[4:].lower().replace(".", "") for line in page.split("\n") if line.startswith("### ")}
    links = {part.partition(")")[0] for part in page.split("](#")[1:]}
    assert links == headings
    assert len(headings) == len(definitions()[name].ops)


def test_write(tmp_path):
    """Pages go into the folder that is named, which is made."""
    written = reference.write(tmp_path / "new")
    assert [path.name for path in written] == ["tensorrt.md", "plan.md"]
    assert all(path.read_text(encoding="utf-8").startswith("# The `") for path in written)


def test_help_op_as_text():
    """The text holds syntax, operands, attributes with defaults, the layer and an example."""
    text = repr(mt.help_op("tensorrt.slice"))
    for part in (
        "tensorrt.slice $input",
        "static_size",
        "Default kDEFAULT",
        "addSlice",
        "%x[0, 0][2, 4][1, 2]",
    ):
        assert part in text
    assert reference.help_text("slice") == text


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", [op for page in reference.PAGES for op in definitions()[page].ops])
def test_help_op_as_html(name):
    """Every op's HTML is well formed, with its operands named in row headers, and code as code in any page."""
    help_ = mt.help_op(name)
    assert "<pre>" not in help_._repr_html_()
    assert "monospace);white-space:pre;" in help_._repr_html_()
    parser = _Balance()
    parser.feed(help_._repr_html_())
    assert parser.open == []
    assert all(f"<code>{operand.name}" in help_._repr_html_() for operand in help_.op.operands)


def test_help_op_knows_display_names():
    """An onnx op is found under ONNX's own spelling."""
    assert mt.help_op("onnx.Conv").op.name == "onnx.conv"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("tensorrt.slyce", "tensorrt.slice"), ("yield", "tensorrt.yield"), ("q" * 40, "the dialects are")],
)
def test_unknown_name_suggests(name, hint):
    """A wrong or ambiguous name gets the names that are near."""
    with pytest.raises(OptionError) as caught:
        mt.help_op(name)
    assert hint in (caught.value.hint or "")


def test_help_of_no_name():
    """What is no name is told apart from one that there is not."""
    with pytest.raises(OptionError, match="an op goes by its name, not by an int"):
        mt.help_op(3)


def test_help_of_an_onnx_op_has_what_its_schema_says():
    """A sentence, the operands' types and meaning, and which are optional, of the newest version."""
    text = " ".join(repr(mt.help_op("onnx.Conv")).split())
    assert "The convolution operator consumes an input tensor and a filter, and computes the output." in text
    assert "B bf16, f16, f32, f64 Optional 1D bias to be added to the convolution" in text
    assert repr(mt.help_op("onnx.softmax")) == repr(mt.help_op("onnx.Softmax"))
    assert "X bf16, f16, f32, f64 Input data tensor from previous layer" in text


def test_a_misspelt_op_without_its_dialect_suggests_near_names():
    """The dialects that have an op like it are named."""
    with pytest.raises(OptionError, match=r"did you mean tensorrt.softmax or onnx.softmax"):
        mt.help_op("softmx")
    with pytest.raises(OptionError, match=r"did you mean tensorrt.softmax or"):
        mt.help_op("tensorrt.softmx")
