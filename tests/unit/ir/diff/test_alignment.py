"""The alignment is a longest common subsequence, however long the texts are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlirtrt_nb.ir.diff import alignment
from mlirtrt_nb.ir.diff.alignment import matching_pairs

LINES = st.lists(st.sampled_from("abcdef"), max_size=24)


def longest(a: list[str], b: list[str]) -> int:
    """The length of a longest common subsequence, by the textbook's table."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = row[:]
        for m, y in enumerate(b):
            row[m + 1] = before[m] + 1 if x == y else max(row[m], before[m + 1])
    return row[-1]


def check(a: list[str], b: list[str], pairs: list[tuple[int, int]]) -> None:
    """Each pair is of equal lines, and they increase on both sides."""
    assert all(a[n] == b[m] for n, m in pairs)
    assert all(n < i and m < j for (n, m), (i, j) in pairwise(pairs))


@settings(max_examples=300, deadline=None)
@given(LINES, LINES)
def test_as_long_as_the_textbooks(a: list[str], b: list[str]) -> None:
    """As many pairs as the quadratic algorithm finds, and all of them valid."""
    pairs = matching_pairs(a, b)
    check(a, b, pairs)
    assert len(pairs) == longest(a, b)


@settings(max_examples=200, deadline=None)
@given(LINES, LINES)
def test_beyond_the_largest_table(a: list[str], b: list[str]) -> None:
    """Cut at unique lines the result is still valid, and no line that stands alone on both sides is lost
    without need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "_LARGEST_TABLE", 9)
        pairs = matching_pairs(a, b)
    check(a, b, pairs)
    if sorted(a) == sorted(set(a)) and a == b:
        assert len(pairs) == len(a)


def test_a_long_text_is_cut_at_unique_lines() -> None:
    """Two texts of 60,000 lines, with a change in each hundred, are aligned but for the changes."""
    before = [f"line {n}" for n in range(60_000)]
    after = [f"new {n}" if n % 100 == 50 else line for n, line in enumerate(before)]
    pairs = matching_pairs(before, after)
    assert len(pairs) == 60_000 - 600


def test_nothing_in_common() -> None:
    """No line alike, and empty sides, give no pairs."""
    assert matching_pairs(["a"], ["b"]) == []
    assert matching_pairs([], ["b"]) == []
    assert matching_pairs(["a"], []) == []
