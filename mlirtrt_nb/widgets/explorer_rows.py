"""The lines of the explorer's list, and what is looked at: plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..passes.pipeline import Entry
from ..passes.run import Step

__all__ = ["MODES", "Item", "Mode", "StepRow", "View", "rows_of"]

Mode = Literal["inline", "side by side", "before", "after", "against"]
MODES: tuple[Mode, ...] = ("inline", "side by side", "before", "after", "against")
Status = Literal["changed", "same", "off", "failed", "not run"]


@dataclass(frozen=True)
class Item:
    """An entry with a number that stays with it when it moves, so that a selection can follow it."""

    key: int
    entry: Entry


@dataclass(frozen=True)
class StepRow:
    """One line of the list. `step` is None where the pass did not run or failed."""

    item: Item
    status: Status
    step: Step | None

    @property
    def name(self) -> str:
        return self.item.entry.name


@dataclass
class View:
    """What is looked at and how. `function` is a symbol path or "" for the whole module; `locations`: each op
    with its source nodes in a comment, which then count as differences."""

    mode: Mode = "inline"
    function: str = ""
    words: str = ""
    hide_unchanged: bool = False
    context: int = 3
    fold_regions: bool = False
    locations: bool = False
    value: str = ""

    def shows(self, row: StepRow) -> bool:
        """Whether the filter and the setting for unchanged steps leave a row. What is off stays in sight, to
        be switched on again."""
        if self.hide_unchanged and row.status not in ("changed", "failed", "off"):
            return False
        text = " ".join([row.name, *(row.step.op_delta if row.step else ())])
        return all(_is_within(word, text) for word in self.words.lower().split())


def rows_of(items: Sequence[Item], steps: Sequence[Step], *, failed: bool) -> list[StepRow]:
    """Every entry with what became of it in a run of so many steps, in order; `failed` if it ended early."""
    left = iter(steps)
    rows = []
    for item in items:
        step = next(left, None) if item.entry.enabled else None
        status: Status = "not run"
        if not item.entry.enabled:
            status = "off"
        elif step is not None:
            status = "changed" if step.changed else "same"
        elif failed:
            status, failed = "failed", False
        rows.append(StepRow(item, status, step))
    return rows


def _is_within(word: str, text: str) -> bool:
    """Whether the characters of `word` come in `text` in that order, as in a fuzzy search."""
    rest = iter(text.lower())
    return all(character in rest for character in word)
