"""What the explorer holds, in plain Python: a pipeline that can be edited, its run, and what is looked at.

No widget is needed to use it: `Explorer` draws it, tests drive it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import MlirTrtError, OptionError
from ..passes.base import PassContext
from ..passes.effects import Effect, effects
from ..passes.pipeline import Entry, Pipeline
from ..passes.run import PipelineRun, Step
from ..passes.snapshot import Snapshot
from ..program import Program
from .explorer_functions import function_text, functions_of
from .explorer_rows import Item, StepRow, View, rows_of

__all__ = ["ExplorerState"]

_MOST_UNDOS = 200
_KEPT_RUNS = 4


class ExplorerState:
    """A pipeline under edit, run after each edit from the first step that differs.

    Attributes:
        program: what the pipeline starts from; it stays as it is.
        context: what passes may ask about the compilation.
        run: the last run; the steps before the failed one where `error` is set.
        error: why the last run ended early, or None.
        view: what is looked at; free to be assigned.
        baseline: the run that is compared with, of the pipeline given or of the one at the start.
    """

    def __init__(
        self,
        program: Program,
        pipeline: Pipeline,
        context: PassContext | None = None,
        against: Pipeline | None = None,
    ) -> None:
        self.program = program
        self.context = context or PassContext()
        self.view = View()
        self.error: MlirTrtError | None = None
        self._items = [Item(key, entry) for key, entry in enumerate(pipeline.copy().entries)]
        self._next_key = len(self._items)
        self._undone: list[list[Item]] = []
        self._done: list[list[Item]] = []
        self._runs: list[PipelineRun] = []
        self._effects: tuple[Snapshot, list[Effect]] | None = None
        self.run = self._run()
        self.selected = self._first_changed()
        self.baseline = self.run if against is None else self._baseline(against)

    # The pipeline -----------------------------------------------------------------------------------

    @property
    def pipeline(self) -> Pipeline:
        """A copy of the pipeline as it is now."""
        return Pipeline([item.entry for item in self._items]).copy()

    @property
    def items(self) -> list[Item]:
        """The entries in order, each with its key."""
        return list(self._items)

    def item(self, key: int) -> Item:
        """The entry of a key. Raises OptionError."""
        return self._items[self._place(key)]

    def _place(self, key: int) -> int:
        for place, item in enumerate(self._items):
            if item.key == key:
                return place
        raise OptionError(f"the pipeline has no entry with key {key}")

    def find(self, name: str) -> int:
        """The key of the first entry called `name`. Raises OptionError with near names."""
        for item in self._items:
            if item.entry.name == name:
                return item.key
        # The pipeline's own message has the nearest names, or says what no name is.
        self.pipeline.disable(name)
        raise OptionError(f"the pipeline has no pass {name!r}")

    def set_enabled(self, key: int, enabled: bool) -> None:
        """Switch an entry on or off."""
        item = self.item(key)
        if item.entry.enabled != enabled:
            self._put(key, replace(item.entry, enabled=enabled))

    def toggle(self, key: int) -> None:
        """Switch an entry on if it is off, off if it is on."""
        self.set_enabled(key, not self.item(key).entry.enabled)

    def set_option(self, key: int, name: str, value: Any) -> None:
        """Set one option of an entry. Text is read as in a pipeline's text. Raises OptionError."""
        entry = self.item(key).entry
        changed = Pipeline([replace(entry)]).copy().set(entry.name, **{name: value}).entries[0]
        if not changed.pass_.does_the_same_as(entry.pass_):
            self._put(key, changed)

    def move(self, key: int, by: int) -> None:
        """Move an entry `by` places down, or up if negative, as far as the ends."""
        place = self._place(key)
        target = min(max(place + by, 0), len(self._items) - 1)
        if target != place:
            items = self.items
            items.insert(target, items.pop(place))
            self._edit(items)

    def insert(self, pass_: Any, after: int | None = None) -> int:
        """Put a pass, or one by its text, after the entry of a key, else at the end; its key is given back and
        it is selected."""
        entry = Pipeline().insert(pass_).entries[0]
        item = Item(self._next_key, entry)
        self._next_key += 1
        items = self.items
        items.insert(len(items) if after is None else self._place(after) + 1, item)
        self.selected = item.key
        self._edit(items)
        return item.key

    def remove(self, key: int) -> None:
        """Take an entry out; its neighbour is selected if it was."""
        place = self._place(key)
        items = self.items
        del items[place]
        if self.selected == key and items:
            self.selected = items[min(place, len(items) - 1)].key
        self._edit(items)

    def undo(self) -> bool:
        """Take the last edit back; whether there was one."""
        return self._restore(self._done, self._undone)

    def redo(self) -> bool:
        """Do again what was undone last; whether there was anything."""
        return self._restore(self._undone, self._done)

    @property
    def can_undo(self) -> bool:
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

    def _restore(self, source: list[list[Item]], target: list[list[Item]]) -> bool:
        if not source:
            return False
        target.append(self._items)
        self._items = source.pop()
        self._changed()
        return True

    def _put(self, key: int, entry: Entry) -> None:
        items = self.items
        items[self._place(key)] = Item(key, entry)
        self._edit(items)

    def _edit(self, items: list[Item]) -> None:
        self._done = [*self._done, self._items][-_MOST_UNDOS:]
        self._undone = []
        self._items = items
        self._changed()

    def _changed(self) -> None:
        self.run = self._run()
        if all(item.key != self.selected for item in self._items) and self._items:
            self.selected = self._items[-1].key

    # Running ----------------------------------------------------------------------------------------

    def _run(self) -> PipelineRun:
        """Run the pipeline, taking over as many steps as one of the last runs has."""
        pipeline = self.pipeline
        self.error = None
        try:
            run = pipeline.run(self.program, self.context, reuse=self._most_alike(pipeline))
        except MlirTrtError as error:
            self.error = error
            run = self._partial(error)
        self._runs = [*self._runs, run][-_KEPT_RUNS:]
        return run

    def _partial(self, error: MlirTrtError) -> PipelineRun:
        partial = error.partial_run
        if isinstance(partial, PipelineRun):
            return partial
        return PipelineRun(self.program.clone(), str(self.pipeline), context=self.context)

    def _most_alike(self, pipeline: Pipeline) -> PipelineRun | None:
        passes = [entry.pass_ for entry in pipeline if entry.enabled]

        def shared(run: PipelineRun) -> int:
            count = 0
            for step, pass_ in zip(run.steps, passes, strict=False):
                if step.ran is None or not step.ran.does_the_same_as(pass_):
                    break
                count += 1
            return count

        return max(reversed(self._runs), key=shared, default=None)

    def run_again(self) -> None:
        """Run every step anew: for passes that read what is no option of theirs."""
        self._runs = []
        self.run = self._run()

    def compare_with_this(self) -> None:
        """From now on compare with the pipeline as it is now."""
        self.baseline = self.run

    def effects(self) -> list[Effect]:
        """What each usual pass would do to the IR after the selected entry; see `passes.effects`."""
        after = self.around(self.selected)[1] if self._items else Snapshot.of(self.program)
        if self._effects is None or self._effects[0] is not after:
            self._effects = (after, effects(after, self.context))
        return self._effects[1]

    def _baseline(self, pipeline: Pipeline) -> PipelineRun:
        return pipeline.run(self.program, self.context, reuse=self.run)

    # Looking ----------------------------------------------------------------------------------------

    def rows(self) -> list[StepRow]:
        """Every entry with what became of it, in order."""
        return rows_of(self._items, self.run.steps, failed=self.error is not None)

    def shown(self) -> list[StepRow]:
        """The rows that the filter and the setting for unchanged steps leave; the selected one always."""
        return [row for row in self.rows() if row.item.key == self.selected or self.view.shows(row)]

    def select(self, key: int) -> None:
        """Look at an entry. Raises OptionError."""
        self._place(key)
        self.selected = key

    def step_by(self, by: int) -> None:
        """Select the entry `by` lines further down in the list that is shown."""
        keys = [row.item.key for row in self.shown()]
        if keys:
            place = keys.index(self.selected) if self.selected in keys else 0
            self.selected = keys[min(max(place + by, 0), len(keys) - 1)]

    @property
    def row(self) -> StepRow | None:
        """The selected row; None for an empty pipeline."""
        return next((row for row in self.rows() if row.item.key == self.selected), None)

    def _first_changed(self) -> int:
        rows = self.rows()
        chosen = next((row for row in rows if row.status in ("changed", "failed")), rows[0] if rows else None)
        return chosen.item.key if chosen else 0

    def around(self, key: int) -> tuple[Snapshot, Snapshot]:
        """The IR before and after an entry; the same twice where it did not run: the last good IR."""
        last = Snapshot.of(self.program) if not self.run.steps else self.run.steps[0].before
        for row in self.rows():
            if row.step is not None and row.step.before is not None and row.step.after is not None:
                if row.item.key == key:
                    return row.step.before, row.step.after
                last = row.step.after
            elif row.item.key == key:
                break
        assert last is not None
        return last, last

    def across(self, key: int) -> tuple[Snapshot, Snapshot, str]:
        """The IR after the like of an entry in the baseline, the IR after the entry, and the baseline's pass.

        Passes are aligned by name; an entry that the baseline lacks stands beside the last one before it that
        both have.
        """
        from ..ir.diff.alignment import matching_pairs

        mine = [row for row in self.rows() if row.step is not None]
        theirs = self.baseline.steps
        pairs = dict(matching_pairs([row.name for row in mine], [step.name for step in theirs]))
        like: Step | None = None
        for number, row in enumerate(mine):
            like = theirs[pairs[number]] if number in pairs else like
            if row.item.key == key:
                break
        after = self.around(key)[1]
        if like is not None and like.after is not None:
            return like.after, after, like.name
        first = theirs[0].before if theirs else None
        return first or Snapshot.of(self.program), after, "the start"

    def functions(self) -> list[str]:
        """Symbol paths of the functions around the selected entry."""
        before, after = self.around(self.selected)
        return list(dict.fromkeys([*functions_of(before), *functions_of(after)]))

    def text(self, snapshot: Snapshot) -> str:
        """The text of a snapshot, or of the function that is looked at; "" where it has no such function."""
        if not self.view.function:
            return snapshot.located_text if self.view.locations else snapshot.shown_text
        return function_text(snapshot, self.view.function, "sources" if self.view.locations else False)
