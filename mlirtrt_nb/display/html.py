"""Cards as HTML. Real tables, folding by <details>; reads well where styles and scripts are stripped."""

from __future__ import annotations

import re
from html import escape

from .card import Card, Code, Note, Section, Table, more_rows
from .ir import code_html
from .style import framed

__all__ = ["card_html", "cell_html", "scroll_html", "table_html"]

_LONG = 25  # characters from which on a cell may have several lines, and a name breaks behind its punctuation
_WORD = re.compile(rf"\S{{{_LONG},}}")
_JOINT = re.compile(r"(?<=[/.:_,])(?=[^\s/.:_,])")


def card_html(card: Card) -> str:
    """The card as one self-contained output."""
    parts = [f"<h3>{escape(card.title)}</h3>"]
    if card.subtitle:
        parts.append(f"<p>{escape(card.subtitle)}</p>")
    parts += [_facts(card.facts), *map(_note, card.notes), *map(_section, card.sections)]
    return framed("".join(parts), label=card.title)


def _facts(facts: tuple[tuple[str, str], ...]) -> str:
    if not facts:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in facts
    )
    return f'<table class="mt-facts"><tbody>{rows}</tbody></table>'


def _note(note: Note) -> str:
    return f'<p class="mt-note mt-{note.level}">{note.sign} {escape(note.text)}</p>'


def _section(section: Section) -> str:
    body = code_html(section.body) if isinstance(section.body, Code) else table_html(section.body)
    opened = " open" if section.open else ""
    scrolled = scroll_html(body, section.title)
    return f"<details{opened}><summary>{escape(section.title)}</summary>{scrolled}</details>"


def scroll_html(body: str, label: str) -> str:
    """`body` in a box that scrolls by itself, from the keyboard too, and so never widens what is around it."""
    name = escape(label, quote=True)
    return f'<div class="mt-scroll" tabindex="0" role="region" aria-label="{name}">{body}</div>'


def table_html(table: Table) -> str:
    """A <table> with column headers; the first column of a row is the row's header."""
    head = "".join(
        f'<th scope="col"{_align(table, column) or _room(header)}>{escape(header)}</th>'
        for column, header in enumerate(table.headers)
    )
    body = "".join(_row(table, number) for number in range(len(table.rows)))
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    rest = f"<p>{more_rows(table)}</p>" if table.more else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _row(table: Table, number: int) -> str:
    cells = []
    for column, text in enumerate(table.rows[number]):
        tag = 'th scope="row"' if column == 0 else "td"
        bar = _bar(table, number, column)
        if column == 0 and text and number < len(table.levels):
            level = table.levels[number]
            shown = f'<span class="mt-{level}" style="white-space:nowrap">{escape(text)}</span>'
        else:
            shown = _breakable(text)
        cells.append(f"<{tag}{_align(table, column) or _room(text)}>{shown}{bar}</{tag.split()[0]}>")
    return f"<tr>{''.join(cells)}</tr>"


def cell_html(text: str) -> str:
    """A <td>. Only a long text may have several lines there."""
    return f"<td{_room(text)}>{_breakable(text)}</td>"


def _breakable(text: str) -> str:
    """The text, escaped, in which long names may break behind their punctuation."""
    parts: list[str] = []
    end = 0
    for word in _WORD.finditer(text):
        parts.append(escape(text[end : word.start()]))
        parts.append("<wbr>".join(map(escape, _JOINT.split(word.group()))))
        end = word.end()
    return "".join([*parts, escape(text[end:])])


def _room(text: str) -> str:
    """Only a long cell may have several lines, and is never squeezed to a word a line."""
    return ' class="mt-words"' if len(text) >= _LONG else ""


def _align(table: Table, column: int) -> str:
    # Inline as well, since some viewers strip the style sheet but keep this.
    right = column < len(table.right) and table.right[column]
    return ' class="mt-right" style="text-align:right"' if right else ""


def _bar(table: Table, number: int, column: int) -> str:
    if table.bars is None or table.bars[0] != column:
        return ""
    share = table.bars[1][number]
    # An empty track keeps the column's numbers in line where a row has no value.
    fill = "" if share is None else f'<span class="mt-fill" style="width:{share:.1%}"></span>'
    return f'<span class="mt-track" aria-hidden="true">{fill}</span>'
