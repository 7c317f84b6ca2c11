"""What is shown of a pipeline: its passes in order, which are on, their options, and what each does."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING

from .card import Card, Section, Table
from .html import card_html
from .units import MISSING, plural

if TYPE_CHECKING:
    from ..passes.pipeline import Entry, Pipeline

__all__ = ["pipeline_html"]

_MOST = 100  # passes that are listed
_LONGEST = 160  # characters of options, and of what a pass does


def pipeline_html(pipeline: Pipeline) -> str:
    """The passes as a static HTML table."""
    off = sum(not entry.enabled for entry in pipeline)
    rows = tuple(_row(place, entry) for place, entry in enumerate(pipeline.entries[:_MOST]))
    headers = ("", "pass", "status", "options", "what it does")
    table = Table(headers, rows, (True,), more=len(pipeline) - len(rows))
    return card_html(
        Card(
            "Pipeline",
            plural(len(pipeline), "entry") + (f", {off} switched off" if off else ""),
            sections=(Section("Passes, in the order in which they run", table),) if rows else (),
        )
    )


def _row(place: int, entry: Entry) -> tuple[str, ...]:
    from ..passes.pipeline_text import options_text

    options = options_text(entry.pass_).removeprefix("{").removesuffix("}")
    return (
        str(place),
        entry.name,
        "● on" if entry.enabled else "○ off",
        shorten(options, _LONGEST, placeholder=" …") or MISSING,
        shorten(entry.pass_.__doc__ or "", _LONGEST, placeholder=" …"),
    )
