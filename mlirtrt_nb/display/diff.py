"""A diff as HTML, inline or side by side: unchanged stretches folded, signs beside the colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from ..ir.diff import Row, TextDiff, diff_texts, stretches
from .lines import Span, cut_middle, highlight_line, name_spans, word_changes
from .shorten import is_constant
from .style import framed
from .units import plural

__all__ = ["DIFF_RULES", "DiffLimits", "diff_html", "framed_diff"]

DIFF_RULES = (
    ".mt.mt .mt-diff{overflow:auto}"
    ".mt.mt .mt-diff pre{border-radius:0;overflow:visible;padding:0 8px;display:inline-block;"
    "min-width:100%;box-sizing:border-box}"
    ".mt.mt .mt-diff pre .p,.mt.mt .mt-diff pre .m{display:block;margin:0 -8px;padding:0 8px}"
    ".mt.mt .mt-diff .p{background:var(--mt-came);box-shadow:inset 3px 0 var(--mt-good)}"
    ".mt.mt .mt-diff .m{background:var(--mt-went);box-shadow:inset 3px 0 var(--mt-bad)}"
    ".mt.mt .mt-diff details{margin:0;padding:0;border:none;background:var(--mt-head)}"
    ".mt.mt .mt-diff summary{font-weight:400;font-size:12px;padding:1px 8px}"
    ".mt.mt .mt-diff table{width:100%;table-layout:fixed;font:12px/1.45 var(--jp-code-font-family,"
    "var(--vscode-editor-font-family,ui-monospace,Menlo,Consolas,monospace))}"
    ".mt.mt .mt-diff table th,.mt.mt .mt-diff table td{width:50%;white-space:pre-wrap;max-width:none;"
    "border:none;padding:0 8px 0 calc(8px + 4ch);text-indent:-4ch;overflow-wrap:anywhere;"
    "background:var(--mt-code)}"
    ".mt.mt .mt-diff table thead th{background:var(--mt-head);position:static}"
    ".mt.mt .mt-diff table td.p{background:var(--mt-came)}.mt.mt .mt-diff table td.m{background:var(--mt-went)}"
    ".mt.mt .mt-diff table td.e{background:var(--mt-page)}"
)


# A longer run of constants that went or came is folded.
_MOST_CONSTANTS = 4


@dataclass(frozen=True)
class DiffLimits:
    """How much of a diff is drawn: lines of context around a change, of a folded stretch, and in all."""

    context: int = 3
    folded: int = 60
    lines: int = 400


def diff_html(
    diff: TextDiff,
    *,
    side_by_side: bool = False,
    limits: DiffLimits = DiffLimits(),
    labels: tuple[str, str] = ("before", "after"),
) -> str:
    """The diff without a frame; one line that says so where nothing changed."""
    if diff.is_empty:
        lines = plural(len(diff.after), "line")
        return f'<p class="mt-note" style="padding:0 12px">= no difference in {lines}</p>'
    writer = _Columns(diff, limits, labels) if side_by_side else _Lines(diff, limits)
    return f'<div class="mt-diff">{"".join(writer.parts())}</div>'


def framed_diff(before: str, after: str, name: str, note: str = "") -> str:
    """The diff of a step's two texts as an output of its own; `note` is what they do not show."""
    body = diff_html(diff_texts(before, after))
    title = f"<h3>What {escape(name)} changed</h3>" + (f"<p>{escape(note)}</p>" if note else "")
    return framed(f"<style>{DIFF_RULES}</style>{title}{body}", label=f"What {name} changed")


class _Writer:
    """Walks the stretches of a diff and stops when its lines are used up."""

    def __init__(self, diff: TextDiff, limits: DiffLimits) -> None:
        self.diff = diff
        self.limits = limits
        self.room = limits.lines

    def parts(self) -> Iterator[str]:
        turns = list(stretches(self.diff, self.limits.context))
        for number, (changed, rows) in enumerate(turns):
            if self.room <= 0:
                rest = [row for _, later in turns[number:] for row in later if row.kind != "same"]
                if rest:
                    yield f'<p class="mt-note">⋯ {plural(len(rest), "more changed line")} not shown</p>'
                return
            if changed:
                yield from self._changed(rows)
            else:
                yield self._fold(rows, "unchanged line")

    def _changed(self, rows: Sequence[Row]) -> Iterator[str]:
        """A stretch of changes; long runs of constants in it are folded, to show what computes."""
        for kind, run in self._runs(rows):
            if kind:
                yield self._fold(run, f"{kind} constant")
            elif self.room > 0:
                yield self.changes(run[: self.room])
                self.room -= len(run)
        if self.room < 0:
            yield f'<p class="mt-note">⋯ {plural(-self.room, "more line")} of this change not shown</p>'

    def _runs(self, rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
        """Rows in turns; a run of constants on one side comes with its kind, all else with ""."""
        other: list[Row] = []
        for kind, group in groupby(rows, self._constant_kind):
            run = list(group)
            if kind and len(run) > _MOST_CONSTANTS:
                if other:
                    yield "", other
                yield kind, run
                other = []
            else:
                other += run
        if other:
            yield "", other

    def _constant_kind(self, row: Row) -> str:
        if row.kind == "removed" and row.before is not None:
            return "removed" if is_constant(self.diff.before[row.before]) else ""
        if row.kind == "added" and row.after is not None:
            return "added" if is_constant(self.diff.after[row.after]) else ""
        return ""

    def _fold(self, rows: Sequence[Row], noun: str) -> str:
        shown = rows[: self.limits.folded]
        more = len(rows) - len(shown)
        rest = f'<p class="mt-note">⋯ {plural(more, f"more {noun}")}</p>' if more else ""
        first, last = _number(rows[0]), _number(rows[-1])
        where = f"line {first}" if first == last else f"lines {first} to {last}"
        title = f"⋯ {plural(len(rows), noun)} ({where})"
        return f"<details><summary>{title}</summary>{self.changes(shown)}{rest}</details>"

    def changes(self, rows: Sequence[Row]) -> str:
        raise TypeError(f"{type(self).__name__} does not define changes")

    def sides(self, row: Row) -> tuple[str | None, str | None]:
        """Both lines as HTML; what differs in a pair is underlined."""
        old = None if row.before is None else cut_middle(self.diff.before[row.before])
        new = None if row.after is None else cut_middle(self.diff.after[row.after])
        olds: list[Span] = []
        news: list[Span] = []
        if old is not None and new is not None and row.kind == "rewired":
            olds, news = name_spans(old, row.names), name_spans(new, row.names)
        elif old is not None and new is not None and row.kind == "changed":
            olds, news = word_changes(old, new)
        return (
            None if old is None else highlight_line(old, olds),
            None if new is None else highlight_line(new, news),
        )


def _number(row: Row) -> int:
    index = row.after if row.after is not None else row.before
    return (index or 0) + 1


class _Lines(_Writer):
    """One column: what went, then what came."""

    def changes(self, rows: Sequence[Row]) -> str:
        return f"<pre>{''.join(self._lines(rows))}</pre>"

    def _lines(self, rows: Sequence[Row]) -> Iterator[str]:
        waiting: list[str] = []
        for row in rows:
            old, new = self.sides(row)
            if row.kind == "same":
                yield from waiting
                waiting = []
                yield f"  {new}\n"
                continue
            if old is not None:
                yield f"<span class=m>- {old}\n</span>"
            if new is not None:
                waiting.append(f"<span class=p>+ {new}\n</span>")
        yield from waiting


class _Columns(_Writer):
    """Two columns, each line beside what it became."""

    def __init__(self, diff: TextDiff, limits: DiffLimits, labels: tuple[str, str]) -> None:
        super().__init__(diff, limits)
        heads = "".join(f'<th scope="col">{label}</th>' for label in labels)
        self._head = f"<thead><tr>{heads}</tr></thead>"

    def changes(self, rows: Sequence[Row]) -> str:
        # Only the first of the tables says which side is which.
        head, self._head = self._head, ""
        body = "".join(f"<tr>{''.join(self._cells(row))}</tr>" for row in rows)
        return f"<table>{head}<tbody>{body}</tbody></table>"

    def _cells(self, row: Row) -> Iterator[str]:
        old, new = self.sides(row)
        for html, kind, sign in ((old, "m", "-"), (new, "p", "+")):
            if html is None:
                yield "<td class=e></td>"
            elif row.kind == "same":
                yield f"<td>  {html}</td>"
            else:
                yield f"<td class={kind}>{sign} {html}</td>"
