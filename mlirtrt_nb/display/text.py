"""Cards as plain text, for terminals and for the text/plain of each output."""

from __future__ import annotations

import unicodedata
from itertools import zip_longest
from textwrap import shorten, wrap

from .card import Card, Code, Section, Table, more_rows
from .shorten import cut_lines

__all__ = ["card_text", "table_text"]

_WIDEST = 64  # characters of one cell
_MOST_LINES = 4  # of a cell that is a sentence
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
    """The table in columns under a rule; numbers to the right. Long names are cut in the middle; sentences are
    wrapped, and cut at their end."""
    limit = len(table.rows) if table.whole else limit
    shown = [_row(row, whole=table.whole) for row in table.rows[:limit]]
    widths = [
        max([_width(header), *(_width(line) for row in shown for line in row[column])])
        for column, header in enumerate(table.headers)
    ]
    lines = [_line(table, list(table.headers), widths), "  ".join("─" * width for width in widths)]
    lines += [_line(table, list(line), widths) for row in shown for line in zip_longest(*row, fillvalue="")]
    rest = more_rows(Table((), (), more=table.more + len(table.rows) - len(shown)))
    return "\n".join(filter(None, [table.caption, *lines, rest]))


def _line(table: Table, cells: list[str], widths: list[int]) -> str:
    padded = []
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - _width(cell))
        right = column < len(table.right) and table.right[column]
        padded.append(space + cell if right else cell + space)
    return "  ".join(padded).rstrip()


def _row(row: tuple[str, ...], *, whole: bool) -> list[list[str]]:
    """The lines of each cell."""
    cells = [" ".join(cell.split()) for cell in row]
    if whole or not cells:
        return [[cell] for cell in cells]
    return [*map(_lines, cells[:-1]), [_cut(cells[-1], _WIDEST_LAST)]]


def _lines(cell: str) -> list[str]:
    if len(cell) <= _WIDEST or " " not in cell:
        return [_cut(cell, _WIDEST)]
    return wrap(cell, _WIDEST, max_lines=_MOST_LINES, placeholder=" …")


def _cut(cell: str, widest: int) -> str:
    if len(cell) <= widest:
        return cell
    if " " in cell:
        return shorten(cell, widest, placeholder=" …")
    half = (widest - 1) // 2
    return f"{cell[:half]}…{cell[-half:]}"


def _width(text: str) -> int:
    """Columns that `text` takes in a terminal: wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
