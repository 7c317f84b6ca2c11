"""Names on a magic's line: finding the user's objects and storing results under names."""

from __future__ import annotations

import keyword
import os
from collections.abc import Mapping
from difflib import get_close_matches
from operator import attrgetter
from types import ModuleType
from typing import Any

from IPython.core.error import UsageError

__all__ = ["Scope", "check_name"]

_CONSTANTS = ("True", "False", "None")
_SHELLS = frozenset({"In", "Out", "exit", "get_ipython", "open", "quit"})


class Scope:
    """What a magic can see: the variables of the calling frame, then the shell's own."""

    def __init__(self, shell: Any, local: Mapping[str, Any] | None = None) -> None:
        self._shell = shell
        self._local = local or {}

    def find(self, text: str, what: str) -> Any:
        """The object that `text` names: a variable, or an expression such as `plans["fp16"]`.

        Raises UsageError naming `what` was looked for and the nearest variable.
        """
        names = {**self._shell.user_ns, **self._local}
        if text in names:
            return names[text]
        if text.isidentifier() and text not in _CONSTANTS:
            visible = [name for name, value in names.items() if _users(name, value)]
            close = get_close_matches(text, visible, 1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            raise UsageError(f"no variable {text!r} to use as {what}{meant}")
        try:
            return eval(text, self._shell.user_global_ns, names)
        except Exception as error:
            raise UsageError(f"{text!r} as {what}: {type(error).__name__}: {error}") from error

    def get(self, name: str) -> Any:
        """The variable `name`; None if there is none."""
        return self._local.get(name, self._shell.user_ns.get(name))

    def precision(self, text: str) -> Any:
        """A precision's name as it is, also where it is misspelt; else what `text` names, see `find`."""
        from ..precision import PRECISIONS

        near = text.isidentifier() and self.get(text) is None and get_close_matches(text, PRECISIONS, 1)
        return text if text in PRECISIONS or near else self.find(text, "a precision")

    def source(self, text: str) -> Any:
        """A variable, an attribute of one (`plan.program`), or the path of a file."""
        if text not in self._shell.user_ns and text not in self._local and _like_path(text):
            path = os.path.expanduser(text)
            if os.path.exists(path) or not (text.isidentifier() or self._is_attribute(text)):
                return path
        return self.find(text, "the source")

    def _is_attribute(self, text: str) -> bool:
        """Whether `text` names an attribute that a variable has, rather than a file, as `model.onnx` does."""
        name, _, rest = text.partition(".")
        try:
            attrgetter(rest)(self.get(name))
        except AttributeError:
            return False
        return True

    def store(self, name: str | None, value: Any) -> None:
        """Assign `value` to the user's variable `name`, if there is one."""
        if name:
            self._shell.push({name: value})


def _users(name: str, value: Any) -> bool:
    """Whether a name is one that the user made, rather than the shell (`open`, `quit`, `In`) or a module."""
    return not (name.startswith("_") or name in _SHELLS or isinstance(value, ModuleType))


def _like_path(text: str) -> bool:
    return not any(char in text for char in "[](){}") or os.path.exists(os.path.expanduser(text))


def check_name(name: str | None) -> None:
    """Raise UsageError unless `name` can be a variable. Called before any work is done."""
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise UsageError(f"{name!r} cannot be the name of a variable")
