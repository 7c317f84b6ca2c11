"""`StepDiff`: what a step changed, as text that a notebook shows as a diff."""

from __future__ import annotations

from typing import Self

from ..shown import Shown

__all__ = ["StepDiff"]


class StepDiff(str, Shown):
    """A unified diff of a step's IR, or one sentence where nothing changed. `before` and `after` are the texts
    that were compared; `note` says what differs beside them."""

    name: str
    before: str
    after: str
    note: str

    @classmethod
    def of(cls, name: str, before: str, after: str, *, changed: bool, note: str = "") -> Self:
        """The diff of the step `name`. `changed`: whether the program differs, be it in what texts leave out;
        `note`: what differs there, in words."""
        from ..ir.diff import unified_text

        text = unified_text(before, after, f"before {name}", f"after {name}")
        nothing = f"{name} changed nothing that its text shows" if changed else f"{name} changed nothing"
        made = cls(text or (f"{name}: {note}" if note else nothing))
        made.name, made.before, made.after, made.note = name, before, after, note
        return made

    def _repr_html_(self) -> str:
        from ..display.diff import framed_diff

        return framed_diff(self.before, self.after, self.name, self.note)
