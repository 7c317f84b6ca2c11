"""The card of a Plan: what runs where, in how many layers and bytes, and what fell back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fallbacks import run_by
from .calibration import synthetic_note
from .card import Card, Code, Note, Section, Table, table_of
from .html import card_html
from .program import specs_text
from .text import card_text
from .units import byte_size, plural
from .weights import weights_text

if TYPE_CHECKING:
    import pandas as pd

    from ..plan import Plan

__all__ = ["plan_card", "plan_text", "report_html", "report_text"]

# Columns that fit beside each other; the DataFrames have more.
_FALLBACK_COLUMNS = ("op", "count", "reason", "location", "backend", "remedy")
_LAYER_COLUMNS = ("layer", "kind", "shapes", "dtypes", "weights_bytes", "output_bytes", "sources")
_UNUSED = "changes nothing: it is for TensorRT's ops, and there are none"
_LINES = 40
_LINE_CHARACTERS = 300


def _card(plan: Plan) -> Card:
    facts = [
        ("inputs", specs_text(plan.inputs)),
        ("outputs", specs_text(plan.outputs)),
        *_precision(plan),
        ("weights beside the engines", weights_text(plan.weights)),
    ]
    for device, schedule in plan.schedules.items():
        arena = f"{byte_size(schedule.arena_bytes)} arena, {byte_size(schedule.peak_live_bytes)} live at most"
        facts.append(
            (f"memory on {device}", f"{arena}; {plural(sum(1 for _ in schedule.all_steps()), 'step')} a call")
        )
    return Card(
        title=plan.name,
        subtitle=f"Plan for {', '.join(plan.targets)}",
        facts=tuple(facts),
        notes=_notes(plan),
        sections=_sections(plan),
    )


def _precision(plan: Plan) -> list[tuple[str, str]]:
    """What the metadata says of precision and calibration, where they have an effect."""
    if plan.metadata.get("precision_unused"):
        return []
    found = [("precision", str(plan.metadata.get("precision", "")))]
    found.append(("calibration", str(plan.metadata.get("calibration", ""))))
    return [(label, text) for label, text in found if text and text != "fp32"]


def _notes(plan: Plan) -> tuple[Note, ...]:
    precision: tuple[Note, ...] = ()
    if plan.metadata.get("precision_unused"):
        precision = (Note(f"precision {plan.metadata['precision']} {_UNUSED}", "warn"),)
    elif plan.metadata.get("synthetic_calibration"):
        precision = (synthetic_note(),)
    if all(target == "cpu" for target in plan.targets):
        return precision
    left = int(plan.fallbacks["count"].sum())
    if not left:
        return (Note("TensorRT takes every op"), *precision)
    refused = f"TensorRT does not take {plural(left, 'op')}{_without(plan)}; {run_by(plan.fallback_rows)}"
    return (Note(refused, "warn"), *precision)


def _without(plan: Plan) -> str:
    """That no part of the Plan is an engine of TensorRT's, where that is so."""
    if any(engine.target != "cpu" for engine in plan.engine_values):
        return ""
    return f", so that there is no engine for {' or '.join(name for name in plan.targets if name != 'cpu')}"


def _sections(plan: Plan) -> tuple[Section, ...]:
    fallbacks, memory, layers = plan.fallbacks, plan.memory, _built_layers(plan)
    sections = [Section("Engines", table_of(plan.engines))]
    if len(fallbacks):
        sections.append(Section("Not taken by TensorRT", table_of(fallbacks, columns=_FALLBACK_COLUMNS)))
    if len(plan.kept):
        sections.append(Section("Kept out of the precision", table_of(plan.kept, limit=20), open=False))
    largest = memory.sort_values("bytes", ascending=False, na_position="last", kind="stable")
    sections.append(Section("Buffers, largest first", table_of(largest, limit=20, bar="bytes"), open=False))
    if len(layers):
        sections.append(Section("Layers", table_of(layers, limit=30, columns=_LAYER_COLUMNS), open=False))
    written = _written(plan)
    if written is not None:
        sections.append(Section("Written by native code and passes", written, open=False))
    sections.append(Section("Plan IR", Code(plan.text(locations="sources")), open=False))
    return tuple(sections)


def _written(plan: Plan) -> Table | None:
    """What was written to standard output and error while the Plan was made, a row per line."""
    lines = [
        (step, line)
        for step, text in plan.metadata.get("output", ())
        for line in text.splitlines()
        if line.strip()
    ]
    shown = tuple((step, line[:_LINE_CHARACTERS]) for step, line in lines[:_LINES])
    return Table(("step", "line"), shown, more=len(lines) - len(shown)) if shown else None


def _built_layers(plan: Plan) -> pd.DataFrame:
    """The layers of TensorRT's engines; those of ONNX Runtime only where there are no others."""
    layers = plan.layers
    built = layers[layers["target"] != "cpu"]
    return built if len(built) else layers


def plan_card(plan: Plan) -> str:
    """The card as HTML."""
    return card_html(_card(plan))


def _report(plan: Plan) -> Card:
    """Every table of the Plan, long."""
    tables = (
        ("Engines", plan.engines),
        ("Not taken by TensorRT", plan.fallbacks),
        ("Layers", _built_layers(plan)[list(_LAYER_COLUMNS)]),
        ("Buffers", plan.memory),
    )
    return Card(
        title=f"Report of {plan.name}",
        subtitle=f"Plan for {', '.join(plan.targets)}",
        notes=_notes(plan),
        sections=tuple(
            Section(f"{title} ({len(frame)})", table_of(frame, limit=150)) for title, frame in tables
        ),
    )


def report_html(plan: Plan) -> str:
    """Every table of the Plan as HTML, up to 150 rows of each."""
    return card_html(_report(plan))


def report_text(plan: Plan, *, limit: int = 40) -> str:
    """Every table of the Plan as text."""
    return card_text(_report(plan), limit=limit)


def plan_text(plan: Plan, *, limit: int = 12) -> str:
    """The card as text, with at most `limit` rows of each table."""
    return card_text(_card(plan), limit=limit)
