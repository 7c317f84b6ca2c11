"""What every object that shows itself has in common."""

from __future__ import annotations

import pytest
from IPython.lib.pretty import pretty

from mlirtrt_nb.shown import Shown


class Loud(Shown):
    """Has a short `repr` of its own."""

    def __repr__(self) -> str:
        return "<Loud>"

    def __str__(self) -> str:
        return "one line\nand another"

    def _repr_html_(self) -> str:
        return "<b>loud</b>"


class Text(str, Shown):
    """Is of a type that IPython prints in its own way."""

    def _repr_html_(self) -> str:
        return "<b>text</b>"


@pytest.mark.parametrize("shown", [Loud(), Text("first\nsecond")], ids=["object", "text"])
def test_a_terminal_shows_the_text(shown: Shown) -> None:
    """IPython prints `str`, not the `repr`, also where a class has one or IPython knows its base."""
    assert pretty(shown) == str(shown) != repr(shown)


def test_html_cannot_be_forgotten() -> None:
    """A class that does not say its HTML cannot be made."""
    silent = type("Silent", (Shown,), {})
    with pytest.raises(TypeError, match="_repr_html_"):
        silent()


def test_every_public_object_with_html_is_shown_the_same_way() -> None:
    """No public class brings a text display of its own beside its HTML."""
    import mlirtrt_nb as mt

    public = [getattr(mt, name) for name in dir(mt) if not name.startswith("_")]
    classes = [one for one in public if isinstance(one, type) and hasattr(one, "_repr_pretty_")]
    assert {mt.Program, mt.Plan, mt.Comparison} <= set(classes)
    assert [one for one in classes if not issubclass(one, Shown)] == []
