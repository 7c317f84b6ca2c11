"""Parsing a magic's line: argparse with IPython's errors, the nearest spelling, and a docstring for `?`."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from IPython.core.error import UsageError

from ..options import unknown_option

__all__ = ["Parser", "split"]


class Parser(argparse.ArgumentParser):
    """A parser for the magic `name` ("%trt_run", "%%mlir").

    `parse(line)` gives the namespace, or None if the line asked for help, which is then printed. Mistakes
    raise UsageError, so that the cell fails without a traceback.
    """

    def __init__(self, name: str, description: str) -> None:
        super().__init__(
            # A percent sign starts a format specification in argparse.
            prog=name.replace("%", "%%"),
            description=description,
            add_help=False,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.magic = name
        self.color = False  # Python 3.14 colours help, which a notebook would show as escape codes
        self.add_argument("-h", "--help", action="store_true", help="show this and do nothing")

    def parse(self, line: str) -> argparse.Namespace | None:
        words = split(line)
        if "-h" in words or "--help" in words:
            print(self.help_text())
            return None
        arguments, rest = self.parse_known_args(words)
        if rest:
            self.error(unknown_option(rest[0], self.options))
        return arguments

    def help_text(self) -> str:
        """The help, which is also the magic's docstring."""
        return self.format_help().replace("%%", "%")

    @property
    def options(self) -> list[str]:
        """Every long option."""
        return [text for text in self._option_string_actions if text.startswith("--")]

    def takes_value(self, option: str) -> bool:
        """Whether `option` is followed by a value."""
        action = self._option_string_actions.get(option)
        return action is not None and action.nargs != 0

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.magic}: {message} ({self.magic} --help)")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        self.error(message or "stopped")


_WORD = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")
# A word, or an option's value, that is quoted as a whole; quotes inside, as in plans["a"], stay.
_QUOTED = re.compile(r"""(--[\w-]+=|)(["'])((?:(?!\2).)*)\2""")


def split(line: str) -> list[str]:
    """The words of a line. Quotes group; a backslash is an ordinary character, as in Windows paths."""
    rest = _WORD.sub("", line).strip()
    if rest:
        raise UsageError(f"a quote is not closed in: {line.strip()}")
    return [_unquoted(word) for word in _WORD.findall(line)]


def _unquoted(word: str) -> str:
    match = _QUOTED.fullmatch(word)
    return match[1] + match[3] if match else word


def documented(parser: Parser) -> Any:
    """Decorator: use the parser's help as the magic's docstring, and keep the parser for completion."""

    def decorate(function: Any) -> Any:
        function.__doc__ = parser.help_text()
        function.parser = parser
        return function

    return decorate
