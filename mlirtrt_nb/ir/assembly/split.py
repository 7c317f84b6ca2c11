"""Several modules in one text, divided by `// -----` lines."""

from __future__ import annotations

import re

__all__ = ["split_input"]

_DIVIDER = re.compile(r"^[ \t]*// -----[ \t]*$", re.MULTILINE)


def split_input(text: str) -> list[tuple[str, int]]:
    """The parts of `text` between lines `// -----`, each with the number of its first line (from 1).

    Parts with nothing but white space are left out, unless the whole text is one.
    """
    parts: list[tuple[str, int]] = []
    start, line = 0, 1
    for match in _DIVIDER.finditer(text):
        parts.append((text[start : match.start()], line))
        line += text.count("\n", start, match.end())
        start = match.end()
    parts.append((text[start:], line))
    return [part for part in parts if part[0].strip()] or parts[:1]
