"""Commands of one letter, typed into the explorer's field for keys: core widgets see no other key strokes."""

from __future__ import annotations

from collections.abc import Callable

from .explorer_rows import MODES
from .explorer_state import ExplorerState

__all__ = ["KEYS_HELP", "press"]

KEYS_HELP = (
    "j / k: next, previous step · x: on or off · J / K: move down, up · u / r: undo, redo · "
    "h: hide unchanged steps · v: next view · f: fold regions · l: source nodes · g / G: first, last step"
)


def _move(by: int) -> Callable[[ExplorerState], None]:
    return lambda state: state.move(state.selected, by)


def _walk(by: int) -> Callable[[ExplorerState], None]:
    return lambda state: state.step_by(by)


def _hide(state: ExplorerState) -> None:
    state.view.hide_unchanged = not state.view.hide_unchanged


def _fold(state: ExplorerState) -> None:
    state.view.fold_regions = not state.view.fold_regions


def _locate(state: ExplorerState) -> None:
    state.view.locations = not state.view.locations


def _next_mode(state: ExplorerState) -> None:
    state.view.mode = MODES[(MODES.index(state.view.mode) + 1) % len(MODES)]


_ALL = 10**6
_COMMANDS: dict[str, Callable[[ExplorerState], object]] = {
    "j": _walk(1),
    "k": _walk(-1),
    "g": _walk(-_ALL),
    "G": _walk(_ALL),
    "x": lambda state: state.toggle(state.selected),
    "J": _move(1),
    "K": _move(-1),
    "u": lambda state: state.undo(),
    "r": lambda state: state.redo(),
    "h": _hide,
    "v": _next_mode,
    "f": _fold,
    "l": _locate,
}


def press(state: ExplorerState, keys: str) -> None:
    """Do what each letter stands for, in order; others mean nothing."""
    for key in keys:
        command = _COMMANDS.get(key)
        if command is not None and state.items:
            command(state)
