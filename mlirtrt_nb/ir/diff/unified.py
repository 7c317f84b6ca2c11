"""A diff as text, in the form of `diff -u`."""

from __future__ import annotations

from collections.abc import Iterator

from .rows import Row, TextDiff, diff_texts
from .stretches import stretches

__all__ = ["unified_text"]


def unified_text(before: str, after: str, from_name: str, to_name: str, context: int = 3) -> str:
    """The changed lines with `context` lines around them; "" if nothing changed.

    Lines are shown as they are; where values were only renumbered, the new line stands as context.
    """
    diff = diff_texts(before, after)
    if diff.is_empty:
        return ""
    lines = [f"--- {from_name}", f"+++ {to_name}"]
    for changed, rows in stretches(diff, context):
        if changed:
            lines += _hunk(diff, rows)
    return "\n".join(lines)


def _hunk(diff: TextDiff, rows: list[Row]) -> Iterator[str]:
    yield f"@@ -{_range([row.before for row in rows])} +{_range([row.after for row in rows])} @@"
    waiting: list[str] = []
    for row in rows:
        if row.kind == "same":
            yield from waiting
            waiting = []
            yield " " + _line(diff.after, row.after)
            continue
        if row.before is not None:
            yield "-" + diff.before[row.before]
        if row.after is not None:
            waiting.append("+" + diff.after[row.after])
    yield from waiting


def _line(lines: list[str], index: int | None) -> str:
    return "" if index is None else lines[index]


def _range(numbers: list[int | None]) -> str:
    present = [number for number in numbers if number is not None]
    return f"{present[0] + 1},{len(present)}" if present else "0,0"
