"""The card of a LatencyReport: trtexec's metrics, what makes them doubtful, and the conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .card import Card, Note, Section, Table, table_of
from .html import card_html
from .text import card_text
from .units import MISSING, count, duration, number

if TYPE_CHECKING:
    from ..reports.latency import LatencyReport

__all__ = ["condition_rows", "latency_html", "latency_text"]


def _card(report: LatencyReport) -> Card:
    facts = (
        ("throughput", f"{report.throughput:.4g} queries per second"),
        ("measured", f"{count(report.queries)} queries in {duration(report.walltime)}"),
    )
    sections = [Section("Metrics", _metrics(report))]
    if len(report.layers):
        columns = ("engine", "layer", "kind", "average_ms", "median_ms", "percentage", "sources")
        sections.append(
            Section("Layers, slowest first", table_of(report.layers, columns=columns, bar="percentage"))
        )
    sections.append(Section("Conditions", Table(("condition", "value"), condition_rows(report)), open=False))
    return Card(
        title=f"Latency of {report.conditions.get('session', 'a session')}",
        subtitle=f"measured on {report.conditions.get('device', 'this machine')}",
        facts=facts,
        notes=tuple(Note(text, "warn") for text in report.warnings),
        sections=tuple(sections),
    )


def _metrics(report: LatencyReport) -> Table:
    """All times in ms, so that columns can be compared at a glance."""
    names = list(report.df.columns[1:])
    rows = [
        (row[0], *(f"{value:.3f}" for value in row[1:])) for row in report.df.itertuples(index=False, name=None)
    ]
    return Table(("in ms", *names), tuple(rows), (False, *(True for _ in names)))


def condition_rows(report: LatencyReport) -> tuple[tuple[str, str], ...]:
    """Name and value of each condition of the measurement, in words."""
    return tuple((name.replace("_", " "), _words(value)) for name, value in report.conditions.items())


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_words(entry)}" for key, entry in value.items()) or "none"
    if isinstance(value, list | tuple):
        return "x".join(map(str, value)) or "scalar"
    if value is None:
        return MISSING
    return number(value) if isinstance(value, float) else str(value)


def latency_html(report: LatencyReport) -> str:
    """The card as HTML."""
    return card_html(_card(report))


def latency_text(report: LatencyReport) -> str:
    """The card as text."""
    return card_text(_card(report))
