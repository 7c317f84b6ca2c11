"""The cards of what the rounding reference finds: error curves, sensitivities and ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .card import Card, Note, Section, Table
from .html import card_html
from .text import card_text
from .units import MISSING, count, decibels, number, plural, share

if TYPE_CHECKING:
    from ..numerics.error_curve import ErrorCurve, OpErrors
    from ..numerics.ranges import Finding, OpRange, Ranges
    from ..numerics.sensitivity import OpSensitivity, Sensitivity

__all__ = [
    "error_curve_html",
    "error_curve_text",
    "ranges_html",
    "ranges_text",
    "sensitivity_html",
    "sensitivity_text",
]

_MOST_ROWS = 60
_MOST_PATTERNS = 4  # that a cell spells out
_SNR_BAR_DB = 60.0  # where the bar of a signal-to-noise ratio is full


def error_curve_html(curve: ErrorCurve) -> str:
    """The card as HTML."""
    return card_html(_error_curve(curve))


def error_curve_text(curve: ErrorCurve) -> str:
    """The card as text."""
    return card_text(_error_curve(curve))


def _error_curve(curve: ErrorCurve) -> Card:
    facts = [("inputs", curve.inputs), ("bad below", decibels(curve.threshold))]
    if curve.place:
        facts.append(("for", curve.place))
    if curve.outputs is not None:
        facts.insert(0, ("at the outputs", decibels(curve.outputs.snr_db)))
    return Card(
        title=f"{curve.name} at {curve.precision}: error along the graph",
        subtitle="rounding reference, each op by itself",
        facts=tuple(facts),
        notes=tuple(_curve_notes(curve)),
        sections=(Section("Ops in program order", _curve_table(curve.ops, curve.threshold)),),
    )


def _curve_notes(curve: ErrorCurve) -> list[Note]:
    notes = []
    if curve.random:
        text = f"errors of what depends on {curve.random} cannot be told: it draws random numbers"
        notes.append(Note(text, "warn"))
    if curve.overflow is not None:
        notes.append(Note(f"{_named(curve.overflow)} is the first whose result is not finite", "bad"))
    bad, worst = curve.first_bad, curve.worst
    if bad is not None:
        notes.append(Note(f"first bad op: {_named(bad)}, {decibels(bad.reached.snr_db)}", "bad"))
    else:
        notes.append(Note("no op's result is bad"))
    if worst is not None:
        text = f"the largest error of its own: {_named(worst)}, {decibels(worst.own.snr_db)}"
        notes.append(Note(text, "warn" if bad is not None else "good"))
    return notes


def _named(entry: OpErrors | OpSensitivity) -> str:
    return f"{entry.op} '{entry.source}'"


def _curve_table(ops: list[OpErrors], threshold: float) -> Table:
    shown = _around_the_bad(ops, threshold)
    rows = tuple(
        (
            entry.op,
            entry.source,
            entry.element,
            number(entry.largest),
            MISSING if entry.random else decibels(entry.reached.snr_db),
            MISSING if entry.random == "draws" else decibels(entry.own.snr_db),
            MISSING if entry.random else number(entry.reached.max_abs_error),
            _verdict(entry, threshold),
        )
        for entry in shown
    )
    headers = ("op", "source", "type", "largest", "snr", "own snr", "max abs error", "verdict")
    bars = tuple(0.0 if entry.random else _filled(entry.reached.snr_db) for entry in shown)
    right = (False, False, False, True, True, True, True, False)
    return Table(headers, rows, right, more=len(ops) - len(shown), bars=(4, bars))


def _around_the_bad(ops: list[OpErrors], threshold: float) -> list[OpErrors]:
    """At most `_MOST_ROWS` ops: from a little before the first bad one, if it is late in the program."""
    first = next((n for n, entry in enumerate(ops) if entry.reached.snr_db < threshold), 0)
    start = max(0, min(first - _MOST_ROWS // 3, len(ops) - _MOST_ROWS))
    return ops[start : start + _MOST_ROWS]


def _verdict(entry: OpErrors, threshold: float) -> str:
    if entry.random:
        return "⚠ draws random numbers" if entry.random == "draws" else "⚠ depends on random numbers"
    if entry.reached.broken:
        return f"✗ {plural(entry.reached.broken, 'value')} not finite"
    return "✗ bad" if entry.reached.snr_db < threshold else "✓"


def _filled(snr_db: float) -> float:
    return min(max(snr_db / _SNR_BAR_DB, 0.0), 1.0)


def sensitivity_html(found: Sensitivity) -> str:
    """The card as HTML."""
    return card_html(_sensitivity(found))


def sensitivity_text(found: Sensitivity) -> str:
    """The card as text."""
    return card_text(_sensitivity(found))


def _sensitivity(found: Sensitivity) -> Card:
    total = sum(entry.output.squares for entry in found.ops)
    shares = [entry.output.squares / total if total else 0.0 for entry in found.ops[:_MOST_ROWS]]
    rows = tuple(
        (
            entry.op,
            entry.source,
            entry.element,
            decibels(entry.own.snr_db),
            decibels(entry.output.snr_db),
            number(entry.output.max_abs_error),
            share(part),
        )
        for entry, part in zip(found.ops, shares, strict=False)
    )
    headers = ("op", "source", "type", "own snr", "output snr", "output max abs error", "noise share")
    table = Table(
        headers,
        rows,
        (False, False, False, True, True, True, True),
        more=len(found.ops) - len(rows),
        bars=(6, tuple(shares)),
    )
    notes = []
    if found.ops:
        top = plural(min(3, len(shares)), "costliest op")
        notes.append(Note(f"the {top} make {share(sum(shares[:3]))} of the noise at the outputs", "warn"))
    else:
        notes.append(Note("no op makes an error of its own"))
    return Card(
        title=f"{found.name} at {found.precision.label}: what each op costs alone",
        subtitle="rounding reference; all other ops are exact",
        facts=(("inputs", found.inputs), *([("for", found.place)] if found.place else [])),
        notes=tuple(notes),
        sections=(Section("Ops, costliest first", table),),
    )


def ranges_html(found: Ranges) -> str:
    """The card as HTML."""
    return card_html(_ranges(found))


def ranges_text(found: Ranges) -> str:
    """The card as text."""
    return card_text(_ranges(found))


def _ranges(found: Ranges) -> Card:
    findings = found.findings
    largest = max((entry.largest for entry in found.ops), default=0.0)
    facts = (
        ("inputs", found.inputs),
        ("largest magnitude", f"{number(largest)} (f16 holds 65504)"),
        ("findings", count(len(findings))),
    )
    notes: list[Note] = []
    if any(finding.keep for finding in findings):
        notes.append(
            Note(".precision('fp16') gives a Precision that keeps in fp32 what the last column says", "warn")
        )
    elif not any(finding.level != "good" for finding in findings):
        notes.append(Note("every value has a place in f16"))
    sections = []
    if findings:
        sections.append(Section("Findings, worst first", _findings_table(findings)))
    sections.append(Section("Ranges in program order", _ranges_table(found.ops), open=not findings))
    return Card(f"{found.name}: ranges of values", "computed in fp32", facts, tuple(notes), tuple(sections))


def _findings_table(findings: list[Finding]) -> Table:
    shown = findings[:_MOST_ROWS]
    rows: tuple[tuple[str, ...], ...] = tuple(
        (
            f"{Note('', entry.level).sign} {entry.source}",
            entry.op.removeprefix("tensorrt."),
            entry.problem,
            entry.cure,
            _applied_by(entry),
        )
        for entry in shown
    )
    headers: tuple[str, ...] = ("source", "op", "problem", "cure", "applied by")
    if not any(entry.keep for entry in shown):
        headers, rows = headers[:-1], tuple(row[:-1] for row in rows)
    levels = tuple(entry.level for entry in shown)
    return Table(headers, rows, more=len(findings) - len(shown), levels=levels)


def _applied_by(entry: Finding) -> str:
    """The exceptions that cure a finding: "keep=('blow', 'shrink')"."""
    patterns = entry.patterns
    if len(patterns) > _MOST_PATTERNS:
        return f"keep= {plural(len(patterns), 'pattern')}: .patterns of the finding"
    if not patterns:
        return MISSING
    shown = patterns[0] if len(patterns) == 1 else patterns
    return f"keep={shown!r}"


def _ranges_table(ops: list[OpRange]) -> Table:
    shown = ops[:_MOST_ROWS]
    rows = tuple(
        (
            entry.op,
            entry.source,
            number(entry.low),
            number(entry.high),
            count(entry.overflowing) if entry.overflowing else MISSING,
            share(entry.subnormal) if entry.subnormal else MISSING,
            share(entry.vanishing) if entry.vanishing else MISSING,
            f"{len(entry.dead)} of {entry.channels}" if entry.dead else MISSING,
        )
        for entry in shown
    )
    headers = ("op", "source", "low", "high", "overflow f16", "subnormal f16", "vanish in f16", "dead channels")
    right = (False, False, *[True] * 6)
    return Table(headers, rows, right, more=len(ops) - len(shown))
