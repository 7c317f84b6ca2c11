"""The card of a Partition: its parts, what passes between them, and what other settings would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .card import Card, Note, Section, table_of
from .html import card_html
from .text import card_text
from .units import byte_size, count, plural

if TYPE_CHECKING:
    from ..reports.partition import Partition

__all__ = ["partition_card", "partition_html", "partition_text"]


def partition_card(partition: Partition) -> Card:
    """What is shown of a Partition."""
    facts = (
        ("engines", count(partition.engines)),
        ("ops in engines", f"{count(partition.engine_ops)} of {count(partition.ops)}"),
        ("between parts", byte_size(partition.boundary_bytes)),
        ("of that between engines and host", byte_size(partition.copied_bytes)),
        ("pass", partition.pass_text),
    )
    notes = [Note(partition.unknown_sizes, "warn")] if partition.unknown_sizes else []
    sections = [Section(f"{plural(len(partition.parts), 'part')}", table_of(partition.df, limit=40, bar="ops"))]
    if len(partition.edges):
        sections.append(Section("Between the parts", table_of(partition.edges, limit=40), open=False))
    sections.append(Section("What other settings would do", table_of(partition.what_if), open=False))
    return Card(
        title=f"Partition of {partition.name}",
        subtitle="engines and host parts in the order in which they run; no engine was built for this view",
        facts=facts,
        notes=tuple(notes),
        sections=tuple(sections),
    )


def partition_html(partition: Partition) -> str:
    """The card as HTML."""
    return card_html(partition_card(partition))


def partition_text(partition: Partition) -> str:
    """The card as text."""
    return card_text(partition_card(partition))
