"""Entries of a pipeline are put and moved where they are told, or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import OptionError

TEXT = "canonicalize,cse,symbol-dce"


def test_moving_and_inserting() -> None:
    """After the last entry of a name, before the first, or at the end."""
    assert str(mt.Pipeline.parse(TEXT).move("symbol-dce", before="cse")) == "canonicalize,symbol-dce,cse"
    assert str(mt.Pipeline.parse(TEXT).move("canonicalize", after="cse")) == "cse,canonicalize,symbol-dce"
    assert str(mt.Pipeline.parse(TEXT).move("cse")) == "canonicalize,symbol-dce,cse"
    assert str(mt.Pipeline.parse("cse,cse").insert("canonicalize", after="cse")) == "cse,cse,canonicalize"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.move("cse", after="inline"), "the pipeline has no pass 'inline'"),
        (lambda p: p.move("cse", before="cse"), "the pipeline has no pass 'cse'"),
        (lambda p: p.move("cse", after="canonicalize", before="symbol-dce"), "are two places"),
        (lambda p: p.insert("inline", after="canonicalize", before="cse"), "are two places"),
        (lambda p: p.insert("inline", before="nothing"), "the pipeline has no pass 'nothing'"),
    ],
)
def test_a_mistake_changes_nothing(change: Callable[[mt.Pipeline], object], message: str) -> None:
    """A pass that cannot be moved stays where it is, and is not lost on the way."""
    pipeline = mt.Pipeline.parse(TEXT)
    with pytest.raises(OptionError, match=message):
        change(pipeline)
    assert str(pipeline) == TEXT


def test_the_text_of_a_pipeline_is_text() -> None:
    """Anything else is one error."""
    with pytest.raises(OptionError, match="the text of a pipeline is None"):
        mt.Pipeline.parse(None)  # type: ignore[arg-type]
