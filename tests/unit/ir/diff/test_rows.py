"""Renumbered values are no change; rewired, changed, new and gone ops are."""

from __future__ import annotations

import pytest

from mlirtrt_nb.ir.diff import diff_texts, unified_text

T = "tensor<4xf32>"


def function(*lines: str) -> str:
    """A function of these op lines."""
    return "\n".join([f"func.func @main(%arg0: {T}) -> {T} {{", *(f"  {line}" for line in lines), "}"]) + "\n"


def kinds(before: str, after: str) -> list[str]:
    """The kind of each row."""
    return [row.kind for row in diff_texts(before, after).rows]


def test_renumbering_is_no_change() -> None:
    """A new op before others renumbers them, and is alone in the diff."""
    before = function(f"%0 = a.x %arg0 : {T}", f"%1 = a.y %0 : {T}", f"return %1 : {T}")
    after = function(
        "%0 = a.constant dense<1> : tensor<i32>",
        f"%1 = a.x %arg0 : {T}",
        f"%2 = a.y %1 : {T}",
        f"return %2 : {T}",
    )
    assert kinds(before, after) == ["same", "added", "same", "same", "same", "same"]
    assert unified_text(before, after, "b", "a", context=1).splitlines() == [
        "--- b",
        "+++ a",
        "@@ -1,2 +1,3 @@",
        f" func.func @main(%arg0: {T}) -> {T} {{",
        "+  %0 = a.constant dense<1> : tensor<i32>",
        f"   %1 = a.x %arg0 : {T}",
    ]


def test_equal_texts_have_no_diff() -> None:
    """Every row is the same, and the unified text is empty."""
    text = function(f"return %arg0 : {T}")
    assert kinds(text, text) == ["same"] * 3
    assert unified_text(text, text, "b", "a") == ""


def test_a_rewired_operand_is_a_change() -> None:
    """The same op on another value is shown, though its line is equal but for a name."""
    before = function(f"%0 = a.x %arg0 : {T}", f"%1 = a.y %0 : {T}", f"%2 = a.z %1, %0 : {T}, {T}")
    after = function(f"%0 = a.x %arg0 : {T}", f"%1 = a.y %0 : {T}", f"%2 = a.z %0, %0 : {T}, {T}")
    assert kinds(before, after) == ["same", "same", "same", "rewired", "same"]


def test_readers_of_a_replaced_op_are_unchanged() -> None:
    """Where one op takes another's place, what reads it reads the same value under its new name."""
    before = function(f"%0 = a.x %arg0 : {T}", f"%1 = a.y %0, %0 : {T}, {T}", f"return %1 : {T}")
    after = function(
        "%0 = a.one : tensor<i32>",
        f"%1 = b.x %arg0, %0 : {T}, {T}",
        f"%2 = a.y %1, %1 : {T}, {T}",
        f"return %2 : {T}",
    )
    assert kinds(before, after) == ["same", "added", "changed", "same", "same", "same"]


def test_readers_of_a_dropped_op_are_rewired() -> None:
    """An identity that goes leaves its reader with another operand, which is shown."""
    before = function(f"%0 = a.id %arg0 : {T}", f"%1 = a.y %0 : {T}", f"return %1 : {T}")
    after = function(f"%0 = a.y %arg0 : {T}", f"return %0 : {T}")
    assert kinds(before, after) == ["same", "removed", "rewired", "same", "same"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"%0:2 = a.two %arg0 : {T} -> {T}, {T}", f"%7:2 = a.two %arg0 : {T} -> {T}, {T}"),
        (f'%0 = a.x %arg0 {{note = "%1 ^bb2"}} : {T}', f'%1 = a.x %arg0 {{note = "%1 ^bb2"}} : {T}'),
        ("^bb1(%0: i32):", "^bb2(%4: i32):"),
        ("cf.br ^bb1(%arg0 : i32)", "cf.br ^bb2(%arg0 : i32)"),
        (f"      %0 = a.x %arg0 : {T}", f"%0 = a.x %arg0 : {T}"),
    ],
    ids=["several results", "text of a string", "label and argument", "branch", "indentation"],
)
def test_what_is_no_change(old: str, new: str) -> None:
    """Names, labels and blanks do not count."""
    assert kinds(function(old), function(new)) == ["same"] * 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f'%0 = a.x %arg0 {{note = "%1"}} : {T}', f'%0 = a.x %arg0 {{note = "%2"}} : {T}'),
        (f"%0 = a.x %arg0#0 : {T}", f"%0 = a.x %arg0#1 : {T}"),
        (f"%0 = a.x %arg0 {{n = 1 : i64}} : {T}", f"%0 = a.x %arg0 {{n = 2 : i64}} : {T}"),
    ],
    ids=["string", "which result", "attribute"],
)
def test_what_is_a_change(old: str, new: str) -> None:
    """A percent sign in a string is no name; the number of a result counts."""
    assert kinds(function(old), function(new)) == ["same", "changed", "same"]


def test_names_start_anew_in_each_function() -> None:
    """The same number in two functions names two values, each checked in its own."""
    before = function(f"%0 = a.x %arg0 : {T}", f"return %0 : {T}") + function(f"return %arg0 : {T}")
    after = before.replace("%0", "%3")
    assert set(kinds(before, after)) == {"same"}


def test_loop_arguments_may_be_renamed() -> None:
    """The names that a loop gives its counter and its carried values are definitions."""
    line = "%0 = scf.for %{i} = %arg0 to %arg0 step %arg0 iter_args(%{c} = %arg0) -> (i32) {{"
    body = "%9 = a.x %{i}, %{c} : i32"
    before = function(line.format(i="i", c="c"), body.format(i="i", c="c"), "}")
    after = function(line.format(i="arg1", c="arg2"), body.format(i="arg1", c="arg2"), "}")
    assert set(kinds(before, after)) == {"same"}


def test_every_line_is_in_a_row_once() -> None:
    """Rows cover both texts in order."""
    before = function(*(f"%{n} = a.x{n % 3} %arg0 : {T}" for n in range(20)))
    after = function(*(f"%{n} = a.x{n % 4} %arg0 : {T}" for n in range(25)))
    diff = diff_texts(before, after)
    assert [row.before for row in diff.rows if row.before is not None] == list(range(len(diff.before)))
    assert [row.after for row in diff.rows if row.after is not None] == list(range(len(diff.after)))
