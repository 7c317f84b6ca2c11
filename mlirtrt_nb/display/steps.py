"""What is shown of a pipeline's steps: one line each, a heading, what fired, and the run as a card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from .card import Card, Note, Section, Table
from .html import card_html
from .text import card_text
from .units import MISSING, duration, plural

if TYPE_CHECKING:
    from ..passes.run import PipelineRun, Step

__all__ = [
    "SIGNS",
    "delta_table",
    "delta_text",
    "error_html",
    "fired_table",
    "run_card",
    "run_html",
    "run_text",
    "step_facts",
    "step_html",
    "step_text",
    "total_delta",
]

# How a status is shown; the words stand beside the signs wherever there is room.
SIGNS = {"changed": "●", "same": "·", "off": "○", "failed": "✗", "not run": "–"}
_MOST_PLACES = 6
_MOST_ROWS = 40
_LONGEST_LINE = 300  # characters of what was written


def total_delta(delta: Mapping[str, int]) -> str:
    """How many ops came and went: "+3 −12"; "" if no count changed."""
    came = sum(change for change in delta.values() if change > 0)
    went = -sum(change for change in delta.values() if change < 0)
    return " ".join([f"+{came}"] * bool(came) + [f"−{went}"] * bool(went))


def signed(change: int) -> str:
    """A change in a count, with a true minus sign."""
    return f"{change:+d}".replace("-", "−")


def delta_text(delta: Mapping[str, int], most: int = 6) -> str:
    """Ops by name with their change, largest first: "tensorrt.activation −2, plan.cluster +1"."""
    ordered = sorted(delta.items(), key=lambda item: (-abs(item[1]), item[0]))
    shown = [f"{name} {signed(change)}" for name, change in ordered[:most]]
    more = [f"{plural(len(ordered) - most, 'more kind')}"] if len(ordered) > most else []
    return ", ".join(shown + more)


def step_facts(step: Step) -> str:
    """Time, ops and verifier in one line of text."""
    assert step.before is not None and step.after is not None
    ops = f"{plural(step.before.op_counts.total(), 'op')} → {step.after.op_counts.total()}"
    reused = "; taken over from the run before" if step.reused else ""
    return f"{duration(step.seconds)}{reused} · {ops} · verified ✓"


def delta_table(step: Step) -> Table:
    """Counts of each op that changed in number, before and after."""
    assert step.before is not None and step.after is not None
    rows = [
        (name, str(step.before.op_counts[name]), str(step.after.op_counts[name]), signed(change))
        for name, change in sorted(step.op_delta.items(), key=lambda item: (-abs(item[1]), item[0]))
    ]
    return Table(
        ("op", "before", "after", "change"),
        tuple(rows[:_MOST_ROWS]),
        (False, True, True, True),
        more=max(0, len(rows) - _MOST_ROWS),
    )


def fired_table(step: Step) -> Table:
    """Which rule replaced which ops how often, and the first source nodes or lines that they came from."""
    counts = Counter((firing.rule or step.name, firing.op) for firing in step.fired)
    places: dict[tuple[str, str], dict[str, None]] = {}
    for firing in step.fired:
        places.setdefault((firing.rule or step.name, firing.op), {}).update(dict.fromkeys(firing.sources))
    most = counts.most_common(_MOST_ROWS)
    rows = [(*which, str(times), _places(list(places[which]))) for which, times in most]
    return Table(
        ("rule", "op", "times", "where"),
        tuple(rows),
        (False, False, True, False),
        more=max(0, len(counts) - _MOST_ROWS),
    )


def _places(sources: list[str]) -> str:
    more = [f"… {len(sources) - _MOST_PLACES} more"] if len(sources) > _MOST_PLACES else []
    return ", ".join(sources[:_MOST_PLACES] + more)


def run_card(run: PipelineRun, *, title: str = "", note: Note | None = None) -> Card:
    """The run: one row a step, with its time, what it changed and how often its rules fired."""
    kept = all(step.after is not None for step in run.steps)
    count = sum(step.changed for step in run.steps) if kept else 0
    changed = f"{count} of which changed something" if kept else "no snapshots kept"
    steps = plural(len(run.steps), "step")
    longest = max((step.seconds for step in run.steps), default=0.0)
    table = Table(
        ("pass", "status", "ops", "time", "fired"),
        tuple(
            (
                step.name,
                _status(step) if kept else MISSING,
                (kept and (delta_text(step.op_delta, 3) or step.weights_note)) or MISSING,
                duration(step.seconds),
                str(len(step.fired) or MISSING),
            )
            for step in run.steps
        ),
        (False, False, False, True, True),
        bars=(3, tuple(step.seconds / longest if longest else None for step in run.steps)),
    )
    return Card(
        title=title or f"Passes on {run.program.name}",
        subtitle=f"{steps}, {changed}, in {duration(run.seconds)}",
        notes=(note,) if note else (),
        sections=(Section("Steps", table),),
    )


def _status(step: Step) -> str:
    status = "changed" if step.changed else "same"
    return f"{SIGNS[status]} {status}"


def run_html(run: PipelineRun) -> str:
    """The run's card as HTML."""
    return card_html(run_card(run))


def run_text(run: PipelineRun) -> str:
    """The run's card as text, with every step."""
    return card_text(run_card(run), limit=100)


def _step_card(step: Step) -> Card:
    """One step: time, ops that came and went, which rules fired, and what was written meanwhile."""
    kept = step.before is not None and step.after is not None
    sections = [Section("Ops that changed in number", delta_table(step))] if kept and step.op_delta else []
    if step.fired:
        sections.append(Section("What fired", fired_table(step)))
    lines = tuple((line[:_LONGEST_LINE],) for line in step.output.splitlines() if line.strip())
    if lines:
        written = Table(("line",), lines[:_MOST_ROWS], more=max(0, len(lines) - _MOST_ROWS))
        sections.append(Section("Written by native code and the pass", written, open=False))
    return Card(
        title=f"Pass {step.name}",
        subtitle=f"{_status(step)} · {step_facts(step)}"
        if kept
        else f"{duration(step.seconds)}; no snapshots kept",
        notes=(Note(step.weights_note),) if kept and step.weights_note else (),
        sections=tuple(sections),
    )


def step_html(step: Step) -> str:
    """The step's card as HTML."""
    return card_html(_step_card(step))


def step_text(step: Step) -> str:
    """The step's card as text."""
    return card_text(_step_card(step))


def error_html(text: str) -> str:
    """An error's own text, with its carets in line."""
    return f'<pre class="mt-bad" role="alert">✗ {escape(text)}</pre>'
