"""Where each piece of the text given to MLIR came from in the user's text.

The translation keeps every line break, so lines are the same in both; only columns move, and only after a
translated op on the same line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

__all__ = ["Lines", "SourceMap"]


class Lines:
    """Offsets to lines and columns of one text; lines and columns count from 1."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        return [0, *[match.end() for match in re.finditer("\n", self.text)]]

    def locate(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its break."""
        if not 1 <= number <= len(self.starts):
            return ""
        start = self.starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end]

    def offset(self, line: int, column: int) -> int:
        """The offset of a column that counts UTF-8 bytes, as MLIR's do; clamped to the text."""
        if not 1 <= line <= len(self.starts):
            return len(self.text)
        content = self.line(line)
        before = column - 1
        if not content.isascii():
            before = len(content.encode()[:before].decode(errors="ignore"))
        return self.starts[line - 1] + min(before, len(content))


_TOKEN = re.compile(r"[%#!@^]?[\w$.]+(?:#\d+)?|.", re.DOTALL)


class SourceMap:
    """Offsets in the translated text to offsets in the user's.

    `marks` are (translated offset, user's offset, whether the text up to the next mark was copied as it is).
    """

    def __init__(self, user: Lines, translated: Lines, marks: list[tuple[int, int, bool]]) -> None:
        self.user = user
        self.translated = translated
        self._marks = marks

    def user_offset(self, line: int, column: int) -> int:
        """The user's offset for a place in the translated text."""
        offset = self.translated.offset(line, column)
        index = bisect_right(self._marks, offset, key=lambda mark: mark[0]) - 1
        if index < 0:
            return 0
        start, origin, copied = self._marks[index]
        limit = self._marks[index + 1][1] if index + 1 < len(self._marks) else len(self.user.text)
        if copied:
            return min(origin + offset - start, limit)
        return self._same_token(offset, origin, limit)

    def _same_token(self, offset: int, origin: int, limit: int) -> int:
        """Inside a translated op: the first place in its text with the token at `offset`, or its start."""
        match = _TOKEN.match(self.translated.text, offset)
        if match is None or len(match.group()) < 2:
            return origin
        found = re.compile(re.escape(match.group()) + r"(?![\w$.])").search(self.user.text, origin, limit)
        return found.start() if found else origin
