"""The card of a LatencyReport: the metrics, under which conditions, and what makes them doubtful."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from .card import Card, Note, Section, table_of
from .html import card_html
from .text import card_text
from .units import plural

if TYPE_CHECKING:
    from ..reports.latency import LatencyReport

__all__ = ["latency_html", "latency_text"]


def _card(report: LatencyReport) -> Card:
    conditions = report.conditions
    facts = (
        ("Throughput", f"{report.throughput:.4g} qps"),
        ("Total Host Walltime", f"{report.walltime:.3g} s, {plural(report.queries, 'query')}"),
        ("inputs", f"{conditions['inputs']}: {_shapes(conditions['shapes'])}"),
        ("conditions", _conditions(report)),
    )
    notes = tuple(Note(text, "warn") for text in report.warnings)
    sections = [Section("Times", table_of(_in_ms(report.df)))]
    if len(report.layers):
        sections.append(Section("Layers, slowest first", table_of(report.layers, limit=30, bar="percentage")))
    return Card(
        title=f"Latency of {conditions['session']}",
        subtitle=f"on {conditions['device']}, measured on {conditions['timed_on']}",
        facts=facts,
        notes=notes,
        sections=tuple(sections),
    )


def _in_ms(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns named so that the table shows them as times."""
    return frame.rename(columns={name: f"{name}_ms" for name in frame.columns if name != "metric"})


def _shapes(shapes: dict[str, list[int] | None]) -> str:
    return ", ".join(f"{name} {'x'.join(map(str, dims or ())) or 'scalar'}" for name, dims in shapes.items())


def _conditions(report: LatencyReport) -> str:
    shown = {
        key: value for key, value in report.conditions.items() if key not in ("session", "shapes", "inputs")
    }
    return ", ".join(f"{key} {value}" for key, value in shown.items())


def latency_html(report: LatencyReport) -> str:
    """The card as HTML."""
    return card_html(_card(report))


def latency_text(report: LatencyReport) -> str:
    """The card as text."""
    return card_text(_card(report), limit=20)
