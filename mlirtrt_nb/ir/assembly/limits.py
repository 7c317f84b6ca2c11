"""What is refused before any parser sees it, so that no text can bring the process down."""

from __future__ import annotations

import re
import sys

from ...errors import ParseError
from ..diagnostics import span_at
from .sourcemap import Lines
from .tokens import STRING

__all__ = ["MAX_DEPTH", "allow_depth", "check_text"]

# MLIR's parser calls itself for each level of brackets, on the thread's stack.
MAX_DEPTH = 400

# Calls of Python functions for each level of regions, and room for what is on the stack already.
_CALLS_PER_LEVEL = 12

_BRACKETS = b"<>(){}[]"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_SKIP = re.compile(rf"{STRING}|//[^\n]*|->|[<>]=|([<({{\[])|([>)}}\]])")


def allow_depth() -> None:
    """Let Python's functions call themselves as often as MAX_DEPTH takes; they need no room on the C stack.

    The limit stays raised: it is the interpreter's, and another thread may have come to need it.
    """
    needed = _CALLS_PER_LEVEL * MAX_DEPTH + 2000
    if sys.getrecursionlimit() < needed:
        sys.setrecursionlimit(needed)


def check_text(text: str, filename: str) -> None:
    """Raise ParseError for text that no parser should see: characters that are none, too deep nesting."""
    lines = Lines(text)
    bad = re.search("[\0\ud800-\udfff]", text)
    if bad is not None:
        line, column = lines.locate(bad.start())
        code = f"U+{ord(bad.group()):04X}"
        raise ParseError(
            f"the text has a character that is not allowed ({code})",
            span=span_at(filename, line, column, lines.line(line).replace(bad.group(), "?")),
        )
    if _may_be_deep(text):
        position = _too_deep(text)
        if position is not None:
            line, column = lines.locate(position)
            raise ParseError(
                f"brackets nest more than {MAX_DEPTH} deep",
                span=span_at(filename, line, column, lines.line(line)),
            )


def _may_be_deep(text: str) -> bool:
    """Whether more than MAX_DEPTH brackets could be open at once; fast for text that is not."""
    left = text.encode().replace(b"->", b"").translate(None, _NOT_BRACKETS)
    for _ in range(32):
        if len(left) <= MAX_DEPTH:
            return False
        shorter = left.replace(b"()", b"").replace(b"<>", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(shorter) == len(left):
            break
        left = shorter
    return True


def _too_deep(text: str) -> int | None:
    """Where the nesting exceeds the limit, if it does."""
    depth = 0
    for match in _SKIP.finditer(text):
        if match.group(1):
            depth += 1
            if depth > MAX_DEPTH:
                return match.start()
        elif match.group(2):
            depth = max(0, depth - 1)
    return None
