"""A run of a pipeline as one HTML file: complete without script; keys and highlights where scripts may run."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from ..errors import OptionError
from ..kind_name import kind_name
from .diff import DIFF_RULES, DiffLimits, diff_html
from .html import scroll_html, table_html
from .regions import regions_html
from .steps import SIGNS, delta_table, delta_text, error_html, fired_table, run_card, step_facts, total_delta
from .style import framed, page, sheet
from .units import duration

if TYPE_CHECKING:
    from ..passes.run import PipelineRun, Step
    from .card import Table

__all__ = ["run_page"]

_LARGEST = 480_000  # characters of a page
_PAGE_RULES = (
    "body{margin:0;background:Canvas}"
    ".mt.mt.mt-page{border:none;border-radius:0;margin:0;padding:12px 20px;min-height:100vh}"
    ".mt.mt h2{font-size:20px;margin:0 0 4px}"
    ".mt.mt .mt-list{list-style:none;margin:8px 0;padding:0}"
    ".mt.mt .mt-list a{display:grid;grid-template-columns:1.4em 1fr auto auto;gap:8px;padding:2px 8px;"
    "color:var(--mt-text);text-decoration:none;font-variant-numeric:tabular-nums}"
    ".mt.mt .mt-list a:hover,.mt.mt .mt-list a[aria-current]{background:var(--mt-head)}"
    ".mt.mt .mt-list a[aria-current]{box-shadow:inset 3px 0 var(--mt-accent);font-weight:600}"
    ".mt.mt .mt-list a:focus-visible{outline:2px solid var(--mt-accent)}"
    ".mt.mt .mt-list .mt-gone{display:none}"
    ".mt.mt .mt-tools{display:none;gap:10px;align-items:center;flex-wrap:wrap;margin:6px 0}"
    ".mt.mt .mt-tools input,.mt.mt .mt-tools button,.mt.mt button{font:inherit;color:var(--mt-text);"
    "background:var(--mt-head);border:1px solid var(--mt-line);border-radius:4px;padding:2px 8px}"
    ".mt.mt section>details>summary{font-size:14px}"
    ".mt.mt section .mt-diff{margin-top:6px}"
    "::highlight(mt-use){background-color:#8884;text-decoration:underline}"
    "::highlight(mt-def){background-color:#8884;text-decoration:underline double}"
    # With script: the list beside one step. Without: one below the other.
    "@media(min-width:900px){.mt-live .mt-body{display:grid;gap:20px;"
    "grid-template-columns:minmax(300px,26%) 1fr}"
    ".mt-live nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto}"
    ".mt-live .mt-body>div{min-width:0}}"
    ".mt-live .mt.mt .mt-tools{display:flex}.mt-live .mt.mt section[id]:not(.mt-now){display:none}"
    "button.mt-copy{display:none}.mt-live button.mt-copy{display:inline-block}"
)


def run_page(
    run: PipelineRun,
    *,
    title: str = "",
    view: Literal["inline", "side by side"] = "inline",
    against: PipelineRun | None = None,
    error: str = "",
) -> str:
    """The whole document, of at most about 480 kB: diffs are cut shorter where there are many.

    Args:
        title: the heading; the program's name if "".
        view: how diffs are drawn.
        against: another run, to be compared with step by step, aligned by pass.
        error: why the run ended early, shown above the steps that went well.

    Raises OptionError for another view, or for what is no run.
    """
    if view not in ("inline", "side by side"):
        raise OptionError(f"view={view!r}", hint="one of inline, side by side")
    if against is not None and not hasattr(against, "steps"):
        raise OptionError(f"against= is {kind_name(against)}", hint="give another PipelineRun, or None")
    lines = 400
    while True:
        html = _document(run, title, view == "side by side", against, error, lines)
        if len(html) <= _LARGEST or lines <= 12:
            return html
        lines = max(12, min(lines // 2, lines * _LARGEST // len(html)))


def _document(
    run: PipelineRun, title: str, columns: bool, against: PipelineRun | None, error: str, lines: int
) -> str:
    name = title or f"Passes on {run.program.name}"
    rules = f"<style>{sheet()}{DIFF_RULES}{_PAGE_RULES}</style>"
    body = (
        f"{rules}<h2>{escape(name)}</h2><p>{escape(run_card(run).subtitle)}</p>"
        f"{error_html(error) if error else ''}{_tools()}"
        f'<div class="mt-body"><nav aria-label="Steps"><ol class="mt-list">{"".join(_entries(run))}</ol></nav>'
        f"<div>{''.join(_sections(run, columns, against, lines))}</div></div>{_ends(run, lines)}"
        f"<script>{_script()}</script>"
    )
    framed_body = framed(body, label=name, with_sheet=False).replace('class="mt"', 'class="mt mt-page"', 1)
    return page(framed_body, title=name)


def _script() -> str:
    return files(__package__).joinpath("run_page.js").read_text(encoding="utf-8")


def _tools() -> str:
    return (
        '<div class="mt-tools"><input type="search" placeholder="filter steps" aria-label="filter steps">'
        '<label><input type="checkbox"> hide unchanged</label>'
        "<span>j / k or arrows: step · h: hide unchanged · f: fold all · click a value: mark it</span></div>"
    )


def _entries(run: PipelineRun) -> Iterator[str]:
    for number, step in enumerate(run.steps, 1):
        status = "changed" if step.changed else "same"
        yield (
            f'<li><a href="#step-{number}" data-status="{status}"><span title="{status}">{SIGNS[status]}</span>'
            f"<span>{escape(step.name)}</span><span>{total_delta(step.op_delta)}</span>"
            f"<span>{duration(step.seconds)}</span></a></li>"
        )


def _sections(run: PipelineRun, columns: bool, against: PipelineRun | None, lines: int) -> Iterator[str]:
    likes = _likes(run, against)
    last: tuple[Step, Step] | None = None
    first = next((number for number, step in enumerate(run.steps) if step.changed), 0)
    for number, step in enumerate(run.steps):
        status = "changed" if step.changed else "same"
        heading = f"{number + 1}. {escape(step.name)} {SIGNS[status]} {status}"
        opened = " open" if number == first else ""
        like = likes[number]
        compared = "" if like is None else _compared(step, like, last, lines)
        last = last if like is None else (step, like)
        yield (
            f'<section id="step-{number + 1}"><details{opened}><summary>{heading}</summary>'
            f"{_step(step, columns, lines)}{compared}</details></section>"
        )


def _step(step: Step, columns: bool, lines: int) -> str:
    parts = [f"<p>{escape(step_facts(step))}</p>"]
    if not step.changed:
        return parts[0]
    assert step.before is not None and step.after is not None
    if step.weights_note:
        parts.append(f"<p>{escape(step.weights_note)}</p>")
    if step.op_delta:
        parts.append(f"<p>{escape(delta_text(step.op_delta))}</p>")
        parts.append(_table("Ops before and after", delta_table(step)))
    if step.fired:
        parts.append(_table("Rewrites that fired", fired_table(step)))
    parts.append(_difference(step.before.shown_text, step.after.shown_text, columns, lines))
    return "".join(parts)


def _table(title: str, table: Table) -> str:
    return _folded(title, scroll_html(table_html(table), title))


def _difference(before: str, after: str, columns: bool, lines: int) -> str:
    from ..ir.diff import diff_texts

    limits = DiffLimits(folded=min(40, lines), lines=lines)
    return diff_html(diff_texts(before, after), side_by_side=columns, limits=limits)


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _likes(run: PipelineRun, against: PipelineRun | None) -> list[Step | None]:
    """For each step, the other run's step of the same name."""
    from ..ir.diff.alignment import matching_pairs

    if against is None:
        return [None] * len(run.steps)
    names = [step.name for step in run.steps], [step.name for step in against.steps]
    pairs = dict(matching_pairs(*names))
    return [against.steps[pairs[n]] if n in pairs else None for n in range(len(run.steps))]


def _compared(step: Step, like: Step, last: tuple[Step, Step] | None, lines: int) -> str:
    """The step beside its like, unless nothing came of either since `last`, the pair before."""
    assert like.after is not None and step.after is not None
    if like.after.is_same(step.after):
        return "<p>= the pipeline compared with has the same IR here</p>"
    if last is not None and not (step.changed or like.changed):
        return f"<p>≠ the pipeline compared with differs here as after {escape(last[0].name)}</p>"
    if like.after.has_same_ir(step.after):
        return "<p>≠ the pipeline compared with has the same IR here, but other weights</p>"
    body = _difference(like.after.shown_text, step.after.shown_text, True, lines)
    return _folded("Beside the pipeline compared with (left)", body)


def _ends(run: PipelineRun, lines: int) -> str:
    """The reproducer, and the IR at both ends."""
    parts = [
        _folded(
            "Reproducer",
            f"<pre>{escape(run.reproducer())}</pre><button class='mt-copy' type='button'>Copy</button>",
        )
    ]
    ends = (("start", run.steps[0].before), ("end", run.steps[-1].after)) if run.steps else ()
    for title, snapshot in ends:
        assert snapshot is not None
        body = regions_html(snapshot.located_text, limit=lines)
        parts.append(_folded(f"IR at the {title}", f'<div class="mt-scroll" tabindex="0">{body}</div>'))
    return "".join(parts)
