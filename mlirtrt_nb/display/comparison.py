"""The card of a Comparison: a row per variant, each with a sign, and where the numbers come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .card import Card, Note, Section, Table
from .html import card_html
from .latency import condition_rows
from .text import card_text
from .units import MISSING, byte_size, count, decibels, duration, missing, number, share

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison

__all__ = ["comparison_html", "comparison_markdown", "comparison_text"]

_GOOD_SNR_DB = 30.0
_BAD_SNR_DB = 20.0


def comparison_html(found: Comparison) -> str:
    """The card as HTML."""
    return card_html(_card(found))


def comparison_text(found: Comparison) -> str:
    """The card as text."""
    return card_text(_card(found))


def comparison_markdown(found: Comparison) -> str:
    """Title, table, notes and sources as Markdown."""
    lines = [f"### {found.name}: precisions compared", ""]
    for table in (_speed(found), _errors(found)):
        lines += [*_markdown_table(table), ""]
    for variant in found.variants:
        lines += [f"- **{' '.join(variant.split())}**: {note}" for note in found.notes(variant)]
    lines += ["", *(f"- {label}: {text}" for label, text in _facts(found))]
    return "\n".join(lines) + "\n"


def _markdown_table(table: Table) -> list[str]:
    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"

    rule = "|".join("---:" if right else "---" for right in table.right)
    return [line(table.headers), f"|{rule}|", *map(line, table.rows)]


def _card(found: Comparison) -> Card:
    notes = [Note(text, "warn") for text in found.warnings]
    if found.samples.synthetic:
        notes.append(Note("errors are on synthetic inputs: give inputs= for those of your data", "warn"))
    sections = [
        Section("Speed and memory", _speed(found)),
        Section("Error", _errors(found)),
        Section("Why", _why(found)),
        Section("Where the numbers come from", _sources(found), open=False),
    ]
    if found.reports:
        sections.append(Section("Conditions of the measurement", _conditions(found), open=False))
    return Card(
        title=f"{found.name}: precisions compared",
        subtitle=f"against {found.reference}",
        facts=_facts(found),
        notes=tuple(notes),
        sections=tuple(sections),
    )


def _facts(found: Comparison) -> tuple[tuple[str, str], ...]:
    sources = found.sources
    return (
        ("latency", sources["latency_ms"]),
        ("layers and bytes", sources["engine_layers"]),
        ("error", sources["max_abs_error"]),
        ("signs", f"✓ from {_GOOD_SNR_DB:g} dB, ⚠ from {_BAD_SNR_DB:g} dB, ✗ below, or failed"),
    )


def _rows(found: Comparison) -> list[dict[str, Any]]:
    return [dict(row) for row in found.df.to_dict("records")]


def _level(row: dict[str, Any]) -> str:
    """How good a variant is: its sign and colour."""
    if row["failed"]:
        return "bad"
    if missing(row["snr_db"]):
        return "warn"
    if row["snr_db"] >= _GOOD_SNR_DB:
        return "good"
    return "warn" if row["snr_db"] >= _BAD_SNR_DB else "bad"


def _named(row: dict[str, Any]) -> str:
    return f"{Note('', _level(row)).sign} {row['variant']}"


def _speed(found: Comparison) -> Table:
    rows = _rows(found)
    base = next(row for row in rows if row["variant"] == found.reference)
    cells = tuple(
        (
            _named(row),
            _beside(row, base, "latency_ms", lambda value: duration(value / 1e3)),
            duration(None if missing(row["latency_p99_ms"]) else row["latency_p99_ms"] / 1e3),
            MISSING if missing(row["throughput_qps"]) else f"{row['throughput_qps']:.4g} /s",
            _beside(row, base, "weights_bytes", byte_size),
            byte_size(row["activation_bytes"]),
            byte_size(row["peak_memory_bytes"]),
            count(row["engine_layers"]),
            count(row["reformat_layers"]),
            count(row["qdq_layers"]),
        )
        for row in rows
    )
    headers = (
        "variant", "latency", "p99", "throughput", "weights", "activations", "peak memory", "layers",
        "reformat", "Q/DQ",
    )  # fmt: skip
    return Table(headers, cells, (False, *[True] * 9), levels=tuple(map(_level, rows)))


def _beside(row: dict[str, Any], base: dict[str, Any], column: str, show: Any) -> str:
    """A value and how it stands to the reference's: "4.1 ms ▼ 0.62×"."""
    value, other = row[column], base[column]
    if missing(value):
        return MISSING
    if row is base or missing(other) or not other:
        return str(show(value))
    ratio = float(value) / float(other)
    sign = "▼" if ratio < 0.995 else "▲" if ratio > 1.005 else "="
    return f"{show(value)} {sign} {ratio:.2f}×"


def _errors(found: Comparison) -> Table:
    rows = _rows(found)
    cells = tuple(
        (
            _named(row),
            decibels(row["snr_db"]),
            number(row["max_abs_error"]),
            number(row["mean_abs_error"]),
            MISSING if missing(row["cosine"]) else f"{row['cosine']:.6f}",
            share(row["top1_agreement"]),
            MISSING if missing(row["op_types"]) else row["op_types"],
        )
        for row in rows
    )
    headers = (
        "variant",
        "signal to noise",
        "max abs error",
        "mean abs error",
        "cosine",
        "top-1",
        "ops compute in",
    )
    return Table(headers, cells, (False, *[True] * 5, False), levels=tuple(map(_level, rows)))


def _why(found: Comparison) -> Table:
    """A row per sentence; a variant is named in its first."""
    rows, levels = [], []
    for row in _rows(found):
        for place, sentence in enumerate(found.notes(row["variant"]) or ["nothing to note"]):
            rows.append((_named(row) if place == 0 else "", sentence))
            levels.append(_level(row))
    return Table(("variant", "notes"), tuple(rows), (False, False), levels=tuple(levels), whole=True)


def _conditions(found: Comparison) -> Table:
    """One column where all rows agree, else one per variant."""
    reports = {name: dict(condition_rows(report)) for name, report in found.reports.items()}
    names = list(dict.fromkeys(name for rows in reports.values() for name in rows))
    cells = [tuple(rows.get(name, MISSING) for rows in reports.values()) for name in names]
    headers: tuple[str, ...] = tuple(reports)
    if all(len(set(row)) == 1 for row in cells):
        headers, cells = ("value",), [row[:1] for row in cells]
    rows = tuple((name, *row) for name, row in zip(names, cells, strict=True))
    return Table(("condition", *headers), rows, whole=True)


def _sources(found: Comparison) -> Table:
    """Columns of one source share a row."""
    columns: dict[str, list[str]] = {}
    for column, text in found.sources.items():
        columns.setdefault(text, []).append(column)
    rows = tuple((", ".join(names), text) for text, names in columns.items())
    return Table(("columns", "come from"), rows, whole=True)
