"""The explorer's parts that are only read, as HTML: heading, IR or diff, and what lies folded below."""

from __future__ import annotations

from html import escape
from textwrap import shorten

from ..display.card import Table
from ..display.diff import DIFF_RULES, DiffLimits, diff_html
from ..display.html import scroll_html, table_html
from ..display.regions import regions_html
from ..display.steps import SIGNS, delta_table, delta_text, error_html, fired_table, step_facts
from ..display.style import framed
from ..display.units import plural
from ..ir.diff import diff_texts
from ..passes.as_python import as_python
from .explorer_rows import StepRow
from .explorer_state import ExplorerState

__all__ = ["RULES", "details_html", "heading_html", "pane_html"]

RULES = DIFF_RULES

_LONGEST_OUTPUT = 8_000  # characters
_WORDS = {
    "changed": "changed something",
    "same": "changed nothing",
    "off": "is switched off",
    "failed": "failed",
    "not run": "did not run, since a pass before it failed",
}


def _part(body: str, label: str) -> str:
    """A part in its frame; the style sheet stands once in the explorer."""
    return framed(body, label=label, bare=True, with_sheet=False)


def heading_html(state: ExplorerState, message: str = "") -> str:
    """The selected pass: what it is, what became of it, and what went wrong, if anything did."""
    row = state.row
    parts = [f'<p class="mt-note mt-warn" role="status">⚠ {escape(message)}</p>'] if message else []
    if row is None:
        return _part("".join([*parts, "<p>The pipeline is empty: add a pass.</p>"]), "Selected pass")
    kind = {"changed": "good", "failed": "bad"}.get(row.status, "note")
    parts.insert(
        0,
        f'<h3>{escape(row.name)} <span class="mt-{kind}">{SIGNS[row.status]} {_WORDS[row.status]}</span></h3>',
    )
    help_text = shorten(row.item.entry.pass_.__doc__ or "", 400, placeholder=" …")
    source = getattr(row.item.entry.pass_, "source", "")
    if source and source not in help_text:
        help_text = f"{help_text} ({source})"
    parts.append(f"<p>{escape(help_text)}</p>")
    if row.step is not None:
        parts.append(f"<p>{escape(step_facts(row.step))}</p>")
        said = filter(None, (row.step.weights_note, delta_text(row.step.op_delta)))
        parts += [f"<p>{escape(text)}</p>" for text in said]
    if state.error is not None:
        parts.append(_error(state, row))
    return _part(f'<div style="padding:8px 12px">{"".join(parts)}</div>', "Selected pass")


def _error(state: ExplorerState, row: StepRow) -> str:
    if row.status == "failed":
        return error_html(str(state.error)) + "<p>Below is the last good IR, which the pass got.</p>"
    failed = next((other.name for other in state.rows() if other.status == "failed"), "the pipeline")
    return f'<p class="mt-note mt-bad">✗ {escape(failed)} failed; what ran before it is kept.</p>'


def pane_html(state: ExplorerState, limits: DiffLimits | None = None) -> str:
    """The IR of the selected step in the chosen view, bounded in size."""
    view = state.view
    limits = limits or DiffLimits(context=view.context)
    before, after = state.around(state.selected)
    row = state.row
    if view.mode in ("before", "after") or (view.mode != "against" and (row is None or row.step is None)):
        # A pass that did not run changed nothing: what is to be seen is the IR that it would get.
        text = state.text(before if view.mode == "before" else after)
        body = regions_html(text, limit=limits.lines, folded=view.fold_regions, value=view.value or None)
        label = "IR after the pass" if view.mode == "after" else "IR before the pass"
        return _scrolled(body if text else "<p>There is no such function here.</p>", label)
    labels = ("before", "after")
    if view.mode == "against":
        before, after, like = state.across(state.selected)
        labels = (f"compared pipeline, after {like}", "this pipeline")
    diff = diff_texts(state.text(before), state.text(after))
    columns = view.mode != "inline"
    came, went = diff.counts
    hidden = ""
    if diff.is_empty and not before.is_same(after):
        hidden = '<p class="mt-note">What differs is not shown: weights, or other functions.</p>'
    counts = f"+ {plural(came, 'line')} · − {plural(went, 'line')}"
    summary = f'<p class="mt-note" style="padding:0 12px">{counts}</p>' if came + went else ""
    body = diff_html(diff, side_by_side=columns, limits=limits, labels=labels)
    return _scrolled(f"{summary}{hidden}{body}", "Difference")


def _scrolled(body: str, label: str) -> str:
    return _part(
        f'<div class="mt-scroll" style="max-height:560px;margin:0" tabindex="0" role="region" '
        f'aria-label="{label}">{body}</div>',
        label,
    )


def details_html(state: ExplorerState) -> str:
    """Folded below: op counts, what fired, the reproducer and the Python that make this pipeline."""
    row = state.row
    parts = []
    if row is not None and row.step is not None:
        parts.append(_folded("Ops before and after", delta_table(row.step)))
        if row.step.fired:
            count = plural(len(row.step.fired), "op")
            parts.append(_folded(f"Rewrites that fired ({count} replaced)", fired_table(row.step)))
    if row is not None and row.step is not None and row.step.output:
        parts.append(_code("Messages that it wrote", row.step.output[:_LONGEST_OUTPUT]))
    parts.append(_code("Reproducer, for a shell", reproducer(state)))
    parts.append(_code("Python", as_python(state.pipeline, state.program.source)))
    return _part(f'<div style="padding:0 12px 8px">{"".join(parts)}</div>', "Details")


def reproducer(state: ExplorerState) -> str:
    """The command that runs the pipeline, failed or not; a program that came from no file is saved first. Where
    passes of the user's own stand in it there is none, and a line says why."""
    from shlex import quote

    from ..passes.reproducer import own_passes

    own = own_passes(entry.pass_ for entry in state.pipeline)
    if own:
        return f"# a shell does not know {own}: run the Python"
    source = state.program.source
    lines = []
    if source.startswith("<"):
        source = f"{state.program.name}.mlir"
        lines = [f"# in Python, first: open({source!r}, 'w').write(program.text())"]
    return "\n".join(
        [*lines, f"python -m mlirtrt_nb opt {quote(source)} --passes {quote(str(state.pipeline))}"]
    )


def _folded(title: str, table: Table) -> str:
    body = "<p>Every kind of op is there as often as before.</p>"
    if table.rows:
        body = scroll_html(table_html(table), title)
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _code(title: str, text: str) -> str:
    # One click selects the whole, ready to be copied.
    return (
        f"<details><summary>{escape(title)}</summary>"
        f'<pre style="user-select:all;white-space:pre-wrap">{escape(text)}</pre></details>'
    )
