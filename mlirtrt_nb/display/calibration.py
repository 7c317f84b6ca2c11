"""The card of a Calibration: how its ranges were found, and which are unusual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .card import Card, Note, Section, table_of
from .html import card_html
from .text import card_text
from .units import plural

if TYPE_CHECKING:
    from ..activation_ranges import Calibration

__all__ = ["calibration_html", "calibration_text", "synthetic_note"]


def synthetic_note() -> Note:
    """What every table says that rests on made-up inputs."""
    return Note("Calibrated on made-up inputs: accuracy on real data may be worse. Give calibration=", "warn")


def _card(calibration: Calibration) -> Card:
    frame = calibration.df
    unusual = frame[frame["note"] != ""]
    notes = [synthetic_note()] if calibration.synthetic else []
    if len(unusual):
        notes.append(Note(f"{plural(len(unusual), 'range')} unusual; they come first", "warn"))
    ordered = frame.sort_values("note", ascending=False, kind="stable") if len(unusual) else frame
    return Card(
        title="Calibration",
        subtitle=f"{plural(len(frame), 'range')} by {calibration.method}",
        facts=(
            ("inputs", calibration.inputs),
            ("model", calibration.model),
            *((("file", calibration.path),) if calibration.path else ()),
        ),
        notes=tuple(notes),
        sections=(Section("Largest magnitudes", table_of(ordered, limit=50)),),
    )


def calibration_html(calibration: Calibration) -> str:
    """The card as HTML."""
    return card_html(_card(calibration))


def calibration_text(calibration: Calibration) -> str:
    """The card as text."""
    return card_text(_card(calibration), limit=12)
