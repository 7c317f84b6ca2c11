"""A `Card`: what is shown of an object, before it is drawn as HTML or text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .units import MISSING, byte_size, count, duration, missing, plural

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Card", "Code", "Note", "Section", "Table", "table_of"]


@dataclass(frozen=True)
class Table:
    """Rows of text under headers. `right` marks the columns of numbers; `more` counts rows left out.

    `bars` gives one column, by index, a share per row (0 to 1, or None) that HTML draws as a bar. `levels`
    gives each row one of `Note`'s levels, by which HTML colours its first cell; the cell has its sign itself.
    `whole`: text shows every row, and no cell is cut.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...] = ()
    more: int = 0
    caption: str = ""
    bars: tuple[int, tuple[float | None, ...]] | None = None
    levels: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True)
class Code:
    """MLIR text, highlighted in HTML; at most `limit` lines and `characters` of it are shown."""

    text: str
    limit: int = 200
    characters: int = 16_000


@dataclass(frozen=True)
class Note:
    """One sentence. `level` is "good", "warn" or "bad"; each has its own sign, so colour is not needed."""

    text: str
    level: str = "good"

    @property
    def sign(self) -> str:
        """What says the level where colours do not."""
        return {"good": "✓", "warn": "⚠", "bad": "✗"}[self.level]


@dataclass(frozen=True)
class Section:
    """A titled part that HTML can fold."""

    title: str
    body: Table | Code
    open: bool = True


@dataclass(frozen=True)
class Card:
    """The whole: a title, a line below it, facts as label and value, notes, and sections."""

    title: str
    subtitle: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()
    sections: tuple[Section, ...] = field(default_factory=tuple)


# Column-name ending -> how the unit is dropped from the header and shown in the cells.
_UNITS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("_bytes", byte_size),
    ("_seconds", duration),
    ("_ms", lambda value: duration(None if missing(value) else value / 1e3)),
)
_MOST_PARTS = 12

# Columns that are sizes though their name is the unit alone.
_WHOLE = {"bytes": byte_size, "seconds": duration}


def table_of(
    frame: pd.DataFrame,
    *,
    limit: int = 50,
    columns: Sequence[str] | None = None,
    caption: str = "",
    bar: str | None = None,
) -> Table:
    """A table of the first `limit` rows of a DataFrame.

    Units are taken from the column names (`weights_bytes` is shown as "weights", in MiB). `columns` picks and
    orders columns, skipping those that the frame lacks; `bar` names the one that gets bars.
    """
    names = [name for name in (columns or list(frame.columns)) if name in frame.columns]
    shown = frame.head(limit)
    styles = [_style(name, shown[name], names) for name in names]
    cells = [[show(value) for value in shown[name]] for name, (_, show, _) in zip(names, styles, strict=True)]
    return Table(
        headers=tuple(header for header, _, _ in styles),
        rows=tuple(zip(*cells, strict=True)) if cells else (),
        right=tuple(right for _, _, right in styles),
        more=len(frame) - len(shown),
        caption=caption,
        bars=(names.index(bar), _shares(shown[bar])) if bar in names else None,
    )


def _style(name: str, values: pd.Series, names: Sequence[str]) -> tuple[str, Callable[[Any], str], bool]:
    """Header, cell text, and whether the column is aligned right."""
    if name in _WHOLE:
        return name, _WHOLE[name], True
    for ending, show in _UNITS:
        if name.endswith(ending):
            header = name.removesuffix(ending).replace("_", " ")
            # `engine_bytes` beside `engine` would give two columns of one name.
            return header if header not in names else f"{header} size", show, True
    header = name.replace("_", " ")
    if values.dtype.kind in "iu":
        return header, count, True
    if values.dtype.kind == "f":
        return header, lambda value: MISSING if missing(value) else f"{value:.4g}", True
    if values.dtype.kind == "b":
        return header, lambda value: "yes" if value else "no", False
    return header, _plain, False


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        # A fused layer may have hundreds of sources.
        parts = [str(part) for part in value]
        more = [f"… {len(parts) - _MOST_PARTS} more"] if len(parts) > _MOST_PARTS else []
        return ", ".join(parts[:_MOST_PARTS] + more)
    return MISSING if missing(value) else str(value)


def _shares(values: pd.Series) -> tuple[float | None, ...]:
    numbers = [None if missing(value) else float(value) for value in values]
    largest = max((value for value in numbers if value is not None), default=0.0)
    return tuple(None if value is None or not largest else value / largest for value in numbers)


def more_rows(table: Table) -> str:
    """The line below a table that was cut, or ""."""
    return f"… {plural(table.more, 'more row')}" if table.more else ""
