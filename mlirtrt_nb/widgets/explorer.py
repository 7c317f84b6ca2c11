"""`explore`: a pipeline that one can play with, on one program."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..display.card import Note
from ..display.html import card_html
from ..display.steps import run_card
from ..display.text import card_text
from ..errors import MissingDependencyError, OptionError
from ..passes.base import PassContext
from ..passes.pipeline import Pipeline
from ..passes.run import PipelineRun
from ..profiles import parse_profiles
from ..program import Program
from ..targets import parse_targets
from .explorer_state import ExplorerState

if TYPE_CHECKING:
    from ipywidgets import VBox

    from ..precision import Precision

__all__ = ["Explorer", "explore"]


class Explorer:
    """A program's pipeline under edit. In a notebook it is a widget; from code it is driven by its methods,
    which the widget follows. Saved, or without ipywidgets, it is a table of the steps.

    Attributes:
        state: the edits, the run and what is looked at; see `ExplorerState`.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self._view: Any = None

    @property
    def run(self) -> PipelineRun:
        """The last run; up to the step that failed if one did."""
        return self.state.run

    @property
    def pipeline(self) -> Pipeline:
        """A copy of the pipeline as it is now."""
        return self.state.pipeline

    @property
    def program(self) -> Program:
        """What the pipeline makes of the program."""
        return self.state.run.program

    def toggle(self, *names: str) -> Explorer:
        """Switch passes on or off, each by its name."""
        for name in names:
            self.state.toggle(self.state.find(name))
        return self._shown()

    def set(self, name: str, **options: Any) -> Explorer:
        """Set options of a pass. Raises OptionError."""
        for option, value in options.items():
            self.state.set_option(self.state.find(name), option, value)
        return self._shown()

    def insert(self, pass_: Any, *, after: str | None = None) -> Explorer:
        """Put a pass, or one by its text, after another, else at the end."""
        self.state.insert(pass_, None if after is None else self.state.find(after))
        return self._shown()

    def remove(self, name: str) -> Explorer:
        """Take a pass out."""
        self.state.remove(self.state.find(name))
        return self._shown()

    def move(self, name: str, by: int) -> Explorer:
        """Move a pass down by so many places, or up if negative. Raises OptionError for what is no number."""
        if not isinstance(by, int) or isinstance(by, bool):
            hint = "give the number of places: explorer.move(name, -1) moves it up by one"
            raise OptionError(f"a pass is moved by a number of places, not by {by!r}", hint=hint)
        self.state.move(self.state.find(name), by)
        return self._shown()

    def select(self, name: str) -> Explorer:
        """Look at a pass."""
        self.state.select(self.state.find(name))
        return self._shown()

    def undo(self) -> Explorer:
        """Take the last edit back."""
        self.state.undo()
        return self._shown()

    def redo(self) -> Explorer:
        """Do again what was undone."""
        self.state.redo()
        return self._shown()

    def _shown(self) -> Explorer:
        if self._view is not None:
            self._view.refresh()
        return self

    def to_html(self, path: str | os.PathLike[str], **settings: Any) -> None:
        """Write the run as one HTML file that needs nothing else, beside the pipeline compared with if that is
        another; settings as of `PipelineRun.to_html`."""
        if self.state.baseline.pipeline != self.run.pipeline:
            settings.setdefault("against", self.state.baseline)
        if self.state.error is not None:
            settings.setdefault("error", str(self.state.error))
        self.run.to_html(path, **settings)

    @property
    def widget(self) -> VBox:
        """The widgets, made when first asked for. Raises MissingDependencyError."""
        if self._view is None:
            try:
                from .explorer_view import ExplorerView
            except ImportError:
                raise MissingDependencyError(
                    "the pass explorer needs ipywidgets", hint="pip install ipywidgets; or use Pipeline.run"
                ) from None
            self._view = ExplorerView(self.state)
        return self._view.box

    def _card(self) -> Any:
        error = self.state.error
        note = None if error is None else Note(error.what, "bad")
        return run_card(self.run, note=note)

    def __repr__(self) -> str:
        return card_text(self._card(), limit=100)

    def _repr_html_(self) -> str:
        return card_html(self._card())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        static = {"text/plain": repr(self), "text/html": self._repr_html_()}
        try:
            widget = self.widget
        except MissingDependencyError:
            return static
        return {**(widget._repr_mimebundle_() or {}), **static}


def explore(
    program: Program | Any,
    pipeline: Pipeline | str | None = None,
    *,
    against: Pipeline | str | None = None,
    target: str | Iterable[str] = "cpu",
    precision: Precision | str = "fp32",
    shapes: Any = None,
) -> Explorer:
    """Open the pass explorer on a program.

    Args:
        program: a Program, or anything that `mt.load` takes.
        pipeline: the passes to start with, or their text; the default pipeline if None.
        against: a pipeline to compare with, aligned by pass; the one at the start if None.
        target, precision, shapes: as for `mt.compile`; dynamic inputs may go without shapes.

    Raises:
        SourceError, ShapeError, TargetError, OptionError. A pass that fails is shown in the explorer.
    """
    from ..frontends.load import load

    targets = parse_targets(target)
    source = program if isinstance(program, Program) else load(program)
    context = PassContext(targets, parse_profiles(source.inputs, shapes) if shapes else ())
    start = Pipeline.of(pipeline, targets, precision)
    other = None if against is None else Pipeline.of(against)
    return Explorer(ExplorerState(source, start, context, other))
