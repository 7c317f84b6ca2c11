"""Words that a native library writes by itself are taken; those of others are left where they belong."""

from __future__ import annotations

import os

import pytest

from mlirtrt_nb.native_output import NativeOutput


def test_marked_lines_are_taken_and_others_left(capfd: pytest.CaptureFixture[str]) -> None:
    """Lines with a mark go to `take`, all others to where they were written, once the block ends."""
    taken: list[str] = []
    with NativeOutput(taken.append, ("LIB",)) as output:
        os.write(1, b"one\n")
        os.write(2, b"LIB: two\nthree\n")
        with output.as_it_was():
            os.write(1, b"four\n")
        assert taken == []
    assert taken == ["LIB: two"]
    assert capfd.readouterr() == ("four\none\n", "three\n")


def test_one_block_at_a_time(capfd: pytest.CaptureFixture[str]) -> None:
    """A block inside another leaves the descriptors to it, and both put them back."""
    taken: list[str] = []
    with NativeOutput(taken.append, ("LIB",)):
        with NativeOutput(taken.append, ("LIB",)):
            os.write(2, b"LIB: inside\n")
        assert taken == []
    os.write(2, b"LIB: after\n")
    assert taken == ["LIB: inside"] and capfd.readouterr() == ("", "LIB: after\n")
