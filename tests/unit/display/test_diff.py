"""Diffs as HTML: true text, signs beside colours, folding, and a bound on their size."""

from __future__ import annotations

import re
from html import unescape

import pytest

from mlirtrt_nb.display.diff import DiffLimits, diff_html
from mlirtrt_nb.ir.diff import diff_texts

T = "tensor<4xf32>"


def function(*lines: str) -> str:
    """A function of these op lines."""
    return "\n".join([f"func.func @main(%arg0: {T}) -> {T} {{", *(f"  {line}" for line in lines), "}"]) + "\n"


def plain(html: str) -> str:
    """What is read where tags are stripped."""
    return unescape(re.sub(r"<[^>]+>", "", html))


BEFORE = function(f"%0 = a.x %arg0 {{n = 1 : i64}} : {T}", f"%1 = a.id %0 : {T}", f"%2 = a.y %1 : {T}")
AFTER = function(f"%0 = a.x %arg0 {{n = 2 : i64}} : {T}", f"%1 = a.y %0 : {T}")


def test_inline_shows_signs_and_the_true_text() -> None:
    """Lines that went have a minus and lines that came a plus, in the text itself."""
    text = plain(diff_html(diff_texts(BEFORE, AFTER)))
    assert text.splitlines() == [
        f"  func.func @main(%arg0: {T}) -> {T} {{",
        f"-   %0 = a.x %arg0 {{n = 1 : i64}} : {T}",
        f"-   %1 = a.id %0 : {T}",
        f"-   %2 = a.y %1 : {T}",
        f"+   %0 = a.x %arg0 {{n = 2 : i64}} : {T}",
        f"+   %1 = a.y %0 : {T}",
        "  }",
    ]


def test_what_differs_in_a_line_is_underlined() -> None:
    """An attribute in a changed op, and the operand of a rewired one, but no renumbered result."""
    html = diff_html(diff_texts(BEFORE, AFTER))
    assert re.findall(r"<u>(.*?)</u>", html) == ["1", "%1", "2", "%0"]


def test_side_by_side_is_a_table_with_headers() -> None:
    """Each line stands beside what it became; a side that has none is empty; headers say which is which."""
    html = diff_html(diff_texts(BEFORE, AFTER), side_by_side=True, labels=("old", "new"))
    assert re.findall(r'<th scope="col">(\w+)</th>', html) == ["old", "new"]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr><td.*?</tr>", html)]
    assert [tuple(plain(cell)[:1] for cell in row) for row in rows] == [
        (" ", " "),
        ("-", "+"),
        ("-", ""),
        ("-", "+"),
        (" ", " "),
    ]


def test_unchanged_lines_are_folded() -> None:
    """Far from a change lines lie in a closed <details> that says how many and where."""
    lines = [f"%{n} = a.x{n} %arg0 : {T}" for n in range(40)]
    html = diff_html(diff_texts(function(*lines), function(*lines, f"%40 = a.new %arg0 : {T}")))
    assert re.findall(r"<details><summary>(.*?)</summary>", html) == ["⋯ 38 unchanged lines (lines 1 to 38)"]
    assert "a.x5 " in plain(html)


def test_long_runs_of_constants_are_folded() -> None:
    """Two hundred weights that went do not hide the op that changed."""
    weights = [f"%{n} = onnx.constant dense_resource<w{n}> : {T}" for n in range(200)]
    html = diff_html(diff_texts(function(*weights, f"%200 = a.x %1 : {T}"), function(f"%0 = a.x %arg0 : {T}")))
    assert "⋯ 200 removed constants (lines 2 to 201)" in html
    assert f"+   %0 = a.x %arg0 : {T}" in plain(html)


@pytest.mark.parametrize("side_by_side", [False, True])
def test_the_size_is_bounded(side_by_side: bool) -> None:
    """Of thousands of changed lines only so many are drawn, and the rest is counted."""
    before = function(*(f"%{n} = a.x{n} %arg0 {{n = {n}}} : {T}" for n in range(5000)))
    after = function(*(f"%{n} = b.x{n} %arg0 {{n = {n}}} : {T}" for n in range(5000)))
    html = diff_html(diff_texts(before, after), side_by_side=side_by_side, limits=DiffLimits(lines=100))
    assert len(html) < 60_000
    assert "of this change not shown" in html


def test_nothing_changed() -> None:
    """One line says so."""
    assert "= no difference in 5 lines" in diff_html(diff_texts(BEFORE, BEFORE))


def test_text_cannot_break_out() -> None:
    """What looks like HTML in a string is shown as it is."""
    text = function(f'%0 = a.x %arg0 {{s = "<script>&amp;"}} : {T}')
    html = diff_html(diff_texts("", text))
    assert "<script>" not in html
    assert '"<script>&amp;"' in plain(html)
