"""What every line magic does first: read its line, and find the variables that it can see."""

from __future__ import annotations

import linecache
import re
import sys
from argparse import Namespace
from collections.abc import Callable
from functools import wraps
from typing import Any

from IPython.core.magic import line_magic, needs_local_scope, no_var_expand

from ..errors import Cancelled
from .arguments import Parser, documented
from .namespace import Scope, check_name

__all__ = ["command"]


def command(parser: Parser) -> Callable[[Callable[[Any, Namespace, Scope], Any]], Any]:
    """Decorator: make a line magic of a method of the parsed arguments and the scope.

    The line is taken to the letter, a semicolon at its end silences what is shown (`plan = %trt_compile model;`
    shows nothing anyway, and keeps the Plan), and a line that asks for
    help gets it and nothing else. Where there is a `--name`, it is checked before any work is done; storing the
    result is the method's own. The stop button raises Cancelled, whose report is short.
    """

    def decorate(method: Callable[[Any, Namespace, Scope], Any]) -> Any:
        @no_var_expand
        @needs_local_scope
        @line_magic
        @documented(parser)
        @wraps(method)
        def magic(self: Any, line: str, local_ns: dict[str, Any] | None = None) -> Any:
            words = line.rstrip()
            # IPython's own way leaves the semicolon in the line, and reads that as Python when all is done.
            silent = words.endswith(";")
            arguments = parser.parse(words.removesuffix(";"))
            if arguments is None:
                return None
            check_name(getattr(arguments, "name", None))
            try:
                result = method(self, arguments, Scope(self.shell, local_ns))
            except KeyboardInterrupt:
                # Where in the project it was stopped says nothing to the user.
                raise Cancelled(f"{parser.magic} was stopped") from None
            return None if silent and not _is_assigned() else result

        return magic

    return decorate


# What IPython makes of `plan = %trt_compile model;`.
_ASSIGNMENT = re.compile(r".*=\s*get_ipython\(\)\.run_line_magic\(")


def _is_assigned() -> bool:
    """Whether the line that the magic stands in gives its result a name."""
    frame = sys._getframe()
    while frame.f_code.co_name != "run_line_magic":
        if frame.f_back is None:
            return False
        frame = frame.f_back
    caller = frame.f_back
    if caller is None:
        return False
    return bool(_ASSIGNMENT.match(linecache.getline(caller.f_code.co_filename, caller.f_lineno)))
