"""What `mt.doctor()` found, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .card import Card, Note, Section, Table
from .html import card_html
from .text import card_text

if TYPE_CHECKING:
    from ..diagnosis import Machine

__all__ = ["machine_html", "machine_text"]


def _card(machine: Machine) -> Card:
    rows = tuple((check.name, Note("", check.level).sign, check.found) for check in machine.checks)
    advice = tuple(Note(f"{c.name}: {c.advice}", c.level) for c in machine.checks if c.advice)
    return Card(
        title="What this machine can do",
        subtitle=machine.summary,
        sections=(Section("Checks", Table(("check", "", "found"), rows)),),
        notes=advice,
    )


def machine_html(machine: Machine) -> str:
    """The findings as HTML."""
    return card_html(_card(machine))


def machine_text(machine: Machine) -> str:
    """The findings as text."""
    return card_text(_card(machine), limit=100)
