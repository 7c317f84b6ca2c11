"""Cards as plain text, for terminals and for the text/plain of each output."""

from __future__ import annotations

import unicodedata

from .card import Card, Code, Section, Table, more_rows
from .shorten import cut_lines

__all__ = ["card_text", "table_text"]

_WIDEST = 64  # characters of one cell
_WIDEST_LAST = 240  # of one in the last column, which often has sentences and pushes nothing aside


def card_text(card: Card, *, limit: int = 12, code: bool = False) -> str:
    """The card as lines of text: at most `limit` rows a table; code only if `code` is true."""
    lines = [card.title + (f"  ({card.subtitle})" if card.subtitle else "")]
    width = max((len(name) for name, _ in card.facts), default=0)
    lines += [f"  {name.ljust(width)}  {value}" for name, value in card.facts]
    lines += [f"  {note.sign} {note.text}" for note in card.notes]
    for section in card.sections:
        lines += _section(section, limit, code)
    return "\n".join(lines)


def _section(section: Section, limit: int, code: bool) -> list[str]:
    if isinstance(section.body, Code):
        return ["", section.title, *cut_lines(section.body)] if code else []
    return ["", section.title, *(f"  {line}" for line in table_text(section.body, limit).split("\n"))]


def table_text(table: Table, limit: int = 50) -> str:
    """The table in columns under a rule; numbers to the right, long cells cut in the middle."""
    limit = len(table.rows) if table.whole else limit
    shown = [_row(row, whole=table.whole) for row in table.rows[:limit]]
    widths = [
        max([_width(header), *(_width(row[column]) for row in shown)])
        for column, header in enumerate(table.headers)
    ]
    lines = [_line(table, list(table.headers), widths), "  ".join("─" * width for width in widths)]
    lines += [_line(table, row, widths) for row in shown]
    rest = more_rows(Table((), (), more=table.more + len(table.rows) - len(shown)))
    return "\n".join(filter(None, [table.caption, *lines, rest]))


def _line(table: Table, cells: list[str], widths: list[int]) -> str:
    padded = []
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - _width(cell))
        right = column < len(table.right) and table.right[column]
        padded.append(space + cell if right else cell + space)
    return "  ".join(padded).rstrip()


def _row(row: tuple[str, ...], *, whole: bool) -> list[str]:
    cells = [" ".join(cell.split()) for cell in row]
    return cells if whole or not cells else [*map(_cut, cells[:-1]), _cut(cells[-1], _WIDEST_LAST)]


def _cut(cell: str, widest: int = _WIDEST) -> str:
    if len(cell) <= widest:
        return cell
    half = (widest - 1) // 2
    return f"{cell[:half]}…{cell[-half:]}"


def _width(text: str) -> int:
    """Columns that `text` takes in a terminal: wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
