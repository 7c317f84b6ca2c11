"""How a place in the user's text is shown."""

from __future__ import annotations

import pytest

from mlirtrt_nb.errors import SourceSpan


@pytest.mark.parametrize(
    ("text", "column", "length", "caret"),
    [
        ("  abc def", 7, 3, "      ^~~"),
        ("\t\tabc def", 7, 3, "\t\t    ^~~"),  # tabs stay tabs, as wide as in the line above
        ("日本 abc", 4, 3, "     ^~~"),  # East Asian characters take two places
        ("e\u0301 abc", 4, 3, "  ^~~"),  # and combining ones none
        ("k日本", 2, 2, " ^~~~"),
        ("abc", 4, 1, "   ^"),  # past the end
    ],
)
def test_the_caret_stands_under_its_column(text: str, column: int, length: int, caret: str) -> None:
    """In a fixed-width font the caret and its marks cover what they mean."""
    shown, marks = SourceSpan("<cell>", 1, column, text, length).caret().splitlines()
    assert shown == "    " + text
    assert marks == "    " + caret


def test_a_long_line_is_cut_around_the_column() -> None:
    """The caret points at the same character after the cut, and its marks end with the line shown."""
    text = "." * 200 + "x" + "," * 200
    shown, marks = SourceSpan("<cell>", 1, 201, text, 150).caret().splitlines()
    assert len(shown) <= 110
    assert shown[marks.index("^")] == "x"
    assert shown.endswith("…")
    assert len(marks) == len(shown) - 1
