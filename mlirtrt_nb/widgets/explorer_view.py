"""The explorer's widgets: they show an `ExplorerState` and pass on what the user does. Core ipywidgets only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets
from ipywidgets import Layout

from ..display.steps import SIGNS, total_delta
from ..display.style import sheet
from ..display.units import duration
from ..errors import MlirTrtError
from .explorer_html import RULES, details_html, heading_html, pane_html
from .explorer_keyboard import keyboard_html
from .explorer_keys import KEYS_HELP, press
from .explorer_rows import MODES, StepRow
from .explorer_state import ExplorerState
from .option_form import option_form

__all__ = ["ExplorerView"]

_ROW = 24  # pixels of one line of the list, and of the check box beside it
_MODE_NAMES = {
    "inline": "Diff",
    "side by side": "Side by side",
    "before": "Before",
    "after": "After",
    "against": "Compare",
}
_FONT = "var(--jp-code-font-family,var(--vscode-editor-font-family,ui-monospace,Menlo,Consolas,monospace))"
# The list's lines and its check boxes are widgets of their own, so both get the same height; what a check
# box is called is for screen readers, since the list says it beside.
_LAYOUT_RULES = (
    f".mt-steps select{{font:12px {_FONT};padding:0!important;overflow-x:auto}}"
    f".mt-steps select option{{height:{_ROW}px;line-height:{_ROW - 8}px;padding:4px 6px;box-sizing:border-box}}"
    f".mt-checks .widget-checkbox{{height:{_ROW}px;line-height:{_ROW}px;margin:0;width:24px;min-width:24px}}"
    ".mt-checks .widget-checkbox input{margin:0 4px}"
    ".mt-checks .widget-label-basic span{position:absolute;clip-path:inset(50%);width:1px;height:1px;"
    "overflow:hidden}"
    ".mt-read,.mt-read .widget-html-content{width:100%;max-width:100%;min-width:0;overflow:hidden;margin:0}"
    ".mt-small .widget-html-content{line-height:1.4;font-size:11px}"
    "@keyframes mt-ready{from{opacity:0}to{opacity:0}}"
)


class ExplorerView:
    """Builds the widgets once, and then only changes what differs. `box` is the whole."""

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self._quiet = False
        self._checks: dict[int, ipywidgets.Checkbox] = {}
        self._form_of: object = None
        self._typed = ""
        self._make_widgets()
        self._observe()
        self.box = self._arranged()
        self.refresh()

    # Making -----------------------------------------------------------------------------------------

    def _make_widgets(self) -> None:
        auto = Layout(width="auto")
        self.filter = ipywidgets.Text(placeholder="filter passes and ops", layout=Layout(width="170px"))
        self.keys = ipywidgets.Text(
            placeholder="keys: j k x u …", tooltip=KEYS_HELP, layout=Layout(width="130px")
        )
        self.hide = ipywidgets.Checkbox(description="hide unchanged", indent=False, layout=auto)
        self.undo = _button("Undo", "Take the last change of the pipeline back")
        self.redo = _button("Redo", "Do again what was undone")
        self.rerun = _button("Run again", "Run every step anew, taking nothing over")
        self.steps = ipywidgets.Select(layout=Layout(width="100%", min_width="330px", margin="0"))
        self.checks = ipywidgets.VBox(layout=Layout(margin="1px 0 0", min_width="26px"))
        self.up = _button("▲", "Move the selected pass up")
        self.down = _button("▼", "Move the selected pass down")
        self.remove = _button("Remove", "Take the selected pass out")
        self.passes = ipywidgets.Dropdown(layout=Layout(width="220px"), tooltip="a pass to add")
        self.condense = ipywidgets.Checkbox(
            description="only passes that would change this IR", indent=False, layout=auto
        )
        self.add = _button("Add", "Put the pass after the selected one")
        self.modes = ipywidgets.ToggleButtons(
            options=[(_MODE_NAMES[mode], mode) for mode in MODES],
            style={"button_width": "auto"},
            tooltips=[
                "what changed",
                "before and after in columns",
                "",
                "",
                "beside the pipeline compared with",
            ],
        )
        self.function = ipywidgets.Dropdown(description="function", layout=Layout(width="240px"))
        self.fold = ipywidgets.Checkbox(description="fold regions", indent=False, layout=auto)
        self.locations = ipywidgets.Checkbox(description="source nodes", indent=False, layout=auto)
        self.value = ipywidgets.Text(
            placeholder="mark a value: %3", continuous_update=False, layout=Layout(width="140px")
        )
        self.compare = _button("Compare with this", "Compare later pipelines with the one that is shown now")
        self.heading, self.pane, self.details = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
        self.form = ipywidgets.VBox(layout=Layout(margin="0 0 0 12px"))

    def _arranged(self) -> ipywidgets.VBox:
        wrap = Layout(flex_flow="row wrap", align_items="center")
        rules = ipywidgets.HTML(f"<style>{sheet()}{RULES}{_LAYOUT_RULES}</style>{keyboard_html()}")
        rules.layout = Layout(width="0", height="0", margin="0", overflow="hidden")
        legend = " &nbsp; ".join(f"{SIGNS[status]} {status}" for status in SIGNS)
        for part in (self.heading, self.pane, self.details):
            part.add_class("mt-read")
        steps = ipywidgets.HBox([self.checks, self.steps], layout=Layout(align_items="flex-start"))
        steps.add_class("mt-steps")
        self.keys.add_class("mt-keys")
        self.checks.add_class("mt-checks")
        left = ipywidgets.VBox(
            [
                ipywidgets.HBox([self.filter, self.keys], layout=wrap),
                ipywidgets.HBox([self.hide, self.undo, self.redo, self.rerun], layout=wrap),
                steps,
                _small(legend),
                ipywidgets.HBox([self.up, self.down, self.remove], layout=wrap),
                ipywidgets.HBox([self.passes, self.add], layout=wrap),
                self.condense,
                _small(f"Keys, on the list or typed into the field above. {KEYS_HELP}"),
            ],
            layout=Layout(width="430px", flex="0 0 auto", max_width="100%", margin="0 10px 0 0"),
        )
        right = ipywidgets.VBox(
            [
                self.heading,
                self.form,
                ipywidgets.HBox([self.modes], layout=wrap),
                ipywidgets.HBox(
                    [self.function, self.fold, self.locations, self.value, self.compare], layout=wrap
                ),
                self.pane,
                self.details,
            ],
            layout=Layout(flex="1 1 480px", min_width="0", overflow="hidden"),
        )
        body = ipywidgets.HBox([left, right], layout=Layout(flex_flow="row wrap", align_items="flex-start"))
        box = ipywidgets.VBox([rules, body])
        box.add_class("mt-explorer")
        return box

    # Listening --------------------------------------------------------------------------------------

    def _observe(self) -> None:
        state = self.state
        self.steps.observe(self._selected, "value")
        self.filter.observe(lambda change: self._look(words=change["new"]), "value")
        self.hide.observe(lambda change: self._look(hide_unchanged=change["new"]), "value")
        self.modes.observe(lambda change: self._look(mode=change["new"]), "value")
        self.function.observe(lambda change: self._look(function=change["new"] or ""), "value")
        self.fold.observe(lambda change: self._look(fold_regions=change["new"]), "value")
        self.locations.observe(lambda change: self._look(locations=change["new"]), "value")
        self.value.observe(lambda change: self._look(value=change["new"].strip()), "value")
        self.condense.observe(lambda change: self._act(lambda: None), "value")
        self.keys.observe(self._pressed, "value")
        for button, action in (
            (self.undo, state.undo),
            (self.redo, state.redo),
            (self.rerun, state.run_again),
            (self.up, lambda: state.move(state.selected, -1)),
            (self.down, lambda: state.move(state.selected, 1)),
            (self.remove, lambda: state.remove(state.selected)),
            (self.add, self._add),
            (self.compare, state.compare_with_this),
        ):
            self._on_click(button, action)

    def _on_click(self, button: ipywidgets.Button, action: Callable[[], Any]) -> None:
        button.on_click(lambda _: self._act(action))

    def _selected(self, change: dict[str, Any]) -> None:
        if change["new"] is not None:
            self._act(lambda: self.state.select(change["new"]))

    def _look(self, **settings: Any) -> None:
        def change() -> None:
            for name, value in settings.items():
                setattr(self.state.view, name, value)

        self._act(change)

    def _pressed(self, change: dict[str, Any]) -> None:
        """Letters that were added at the end; the front end may send several at once."""
        text, before = change["new"], self._typed
        self._typed = text
        if text.startswith(before):
            self._act(lambda: press(self.state, text[len(before) :]))

    def _add(self) -> None:
        if self.passes.value:
            items = self.state.items
            self.state.insert(self.passes.value, self.state.selected if items else None)

    def _act(self, action: Callable[[], Any]) -> None:
        """Do something for the user and show what came of it. A mistake is shown, and changes nothing."""
        if self._quiet:
            return
        message = ""
        try:
            action()
        except MlirTrtError as error:
            message = str(error)
            self._form_of = None  # what was typed is not what is set
        self.refresh(message)

    # Showing ----------------------------------------------------------------------------------------

    def refresh(self, message: str = "") -> None:
        """Bring every widget up to date with the state."""
        self._quiet = True
        try:
            self._show_list()
            self._show_controls()
            self._show_form()
            self.heading.value = heading_html(self.state, message)
            self.pane.value = pane_html(self.state)
            self.details.value = details_html(self.state)
        finally:
            self._quiet = False

    def _show_list(self) -> None:
        rows = self.state.shown()
        width = max((len(row.name) for row in rows), default=0)
        options = tuple((_label(row, width), row.item.key) for row in rows)
        if options != self.steps.options:
            self.steps.options = options
            self.steps.rows = max(len(rows), 2)
            self.steps.layout.height = f"{_ROW * max(len(rows), 2) + 4}px"
        if rows and self.steps.value != self.state.selected:
            self.steps.value = self.state.selected
        checks = tuple(self._check(row) for row in rows)
        if checks != self.checks.children:
            self.checks.children = checks

    def _check(self, row: StepRow) -> ipywidgets.Checkbox:
        key = row.item.key
        if key not in self._checks:
            made = ipywidgets.Checkbox(description=f"run {row.name}", indent=False)
            made.observe(lambda change: self._act(lambda: self.state.set_enabled(key, change["new"])), "value")
            self._checks[key] = made
        self._checks[key].value = row.item.entry.enabled
        return self._checks[key]

    def _show_controls(self) -> None:
        state, view = self.state, self.state.view
        functions = state.functions() if state.items else []
        if view.function and view.function not in functions:
            functions.append(view.function)
        options = (("whole module", ""), *((path, path) for path in functions))
        if options != self.function.options:
            self.function.options = options
        self.function.value = view.function
        self.modes.value, self.filter.value, self.hide.value = view.mode, view.words, view.hide_unchanged
        self.fold.value, self.value.value = view.fold_regions, view.value
        self.locations.value = view.locations
        self.undo.disabled, self.redo.disabled = not state.can_undo, not state.can_redo
        for button in (self.up, self.down, self.remove):
            button.disabled = not state.items
        passes = self._changing_passes() if self.condense.value else self._all_passes()
        if passes != self.passes.options:
            self.passes.options = passes
            self.passes.index = 0 if passes else None

    def _all_passes(self) -> tuple[tuple[str, str], ...]:
        from ..passes.base import available

        names = sorted({*available(), *(item.entry.name for item in self.state.items if _is_plain(item))})
        return tuple((name, name) for name in names)

    def _changing_passes(self) -> tuple[tuple[str, str], ...]:
        found = [effect for effect in self.state.effects() if effect.changed]
        return tuple(
            (f"{effect.name}  {total_delta(effect.op_delta)}".strip(), effect.name) for effect in found
        )

    def _show_form(self) -> None:
        row = self.state.row
        shown = (row.item.key, row.item.entry.pass_) if row else None
        if shown is not None and self._form_of is not None and _is_same_form(shown, self._form_of):
            return
        self._form_of = shown
        self.form.children = tuple(option_form(row.item.entry.pass_, self._set_option)) if row else ()

    def _set_option(self, name: str, value: Any) -> None:
        self._act(lambda: self.state.set_option(self.state.selected, name, value))


def _is_same_form(one: Any, other: Any) -> bool:
    return one[0] == other[0] and one[1].does_the_same_as(other[1])


def _is_plain(item: Any) -> bool:
    """Whether an entry's pass can be made again from its name."""
    from ..passes.mlir_pass import MlirPass

    return isinstance(item.entry.pass_, MlirPass)


def _small(html: str) -> ipywidgets.HTML:
    made = ipywidgets.HTML(html)
    made.add_class("mt-small")
    return made


def _button(text: str, tooltip: str) -> ipywidgets.Button:
    return ipywidgets.Button(description=text, tooltip=tooltip, layout=Layout(width="auto"))


def _label(row: StepRow, width: int) -> str:
    """One line of the list: sign, name, ops that came and went, time; in columns of a fixed-width font."""
    delta = total_delta(row.step.op_delta) if row.step else ""
    time = duration(row.step.seconds) if row.step else row.status
    # An option of a list keeps no ordinary blanks.
    return f"{SIGNS[row.status]} {row.name:<{width}} {delta:>9} {time:>8}".replace(" ", "\u00a0")
