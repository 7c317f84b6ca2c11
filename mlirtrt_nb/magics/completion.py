"""Tab completion on the magics' lines: options, their values, variables and files."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from .arguments import Parser

__all__ = ["Completer"]

_DEVICES = ("auto", "cpu", "cuda")


class Completer:
    """A matcher for IPython. `parsers` maps a magic's name as typed ("%trt_run") to its parser."""

    def __init__(self, shell: Any, parsers: dict[str, Parser]) -> None:
        self._shell = shell
        self._parsers = parsers

    @context_matcher()
    def match(self, context: CompletionContext) -> SimpleMatcherResult:
        """Completions at the cursor, and nothing else, if its line is one of our magics."""
        line = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
        # The magic may stand after an assignment: `plan = %trt_compile ...`.
        before, percent, rest = line.rpartition("%")
        double = before.endswith("%")
        name, space, typed = rest.partition(" ")
        parser = self._parsers.get(("%%" if double else "%") + name)
        if not percent or not space or parser is None:
            return {"completions": []}
        words = typed.split(" ")
        found = self._candidates(parser, words)
        start = len(words[-1]) - len(context.token)
        texts = sorted(text for text in found if text.startswith(words[-1]))
        return {
            # IPython replaces its own token, which may be only the end of our word.
            "completions": [SimpleCompletion(text[start:], type="magic") for text in texts],
            "suppress": bool(texts),
        }

    def _candidates(self, parser: Parser, words: list[str]) -> Iterable[str]:
        word, previous = words[-1], words[-2] if len(words) > 1 else ""
        if parser.takes_value(previous):
            return self._values(previous, word)
        if word.startswith("-"):
            return parser.options
        if any(action.dest in ("source", "plan", "inputs") for action in parser._actions):
            takes_plan = any(action.dest == "plan" for action in parser._actions)
            wants_plan = takes_plan and len([w for w in words if w]) <= 1
            return [*self._variables(wants_plan), *([] if wants_plan else glob.glob(f"{glob.escape(word)}*"))]
        return []

    def _values(self, option: str, word: str) -> Iterable[str]:
        if option == "--target":
            from ..targets import TARGETS

            return _listed(word, TARGETS)
        if option in ("-i", "--input"):
            return self._variables(False)
        if option in ("--passes", "--against"):
            from ..passes import list_passes

            return _listed(word, list(list_passes()["name"]))
        if option in ("--precision", "--reference"):
            from ..precision import PRECISIONS

            return PRECISIONS
        if option in ("--inputs", "--executor"):
            return self._variables(False)
        return _DEVICES if option == "--device" else ()

    def _variables(self, plans_only: bool) -> Iterable[str]:
        namespace = {k: v for k, v in self._shell.user_ns.items() if not k.startswith("_")}
        if plans_only:
            return [name for name, value in namespace.items() if type(value).__name__ in ("Plan", "Session")]
        hidden = self._shell.user_ns_hidden
        return [name for name in namespace if name not in hidden]


def _listed(word: str, values: Iterable[str]) -> list[str]:
    """Values after the last comma of `word`, for options that take a list."""
    head, comma, _ = word.rpartition(",")
    return [f"{head}{comma}{value}" for value in values]
