"""The text for MLIR while it is put together, with marks that say where each piece came from."""

from __future__ import annotations

__all__ = ["Output"]


class Output:
    """Pieces of text in order.

    `marks` has, for each piece, its offset, the offset of the user's text it came from, and whether it is a
    copy of that text.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.marks: list[tuple[int, int, bool]] = []

    def copy(self, text: str, start: int, end: int) -> None:
        """Add the user's text from `start` to `end` as it is."""
        if start < end:
            self.marks.append((self.length, start, True))
            self.parts.append(text[start:end])
            self.length += end - start

    def write(self, piece: str, origin: int) -> None:
        """Add text made from what the user has at `origin`."""
        self.marks.append((self.length, origin, False))
        self.parts.append(piece)
        self.length += len(piece)

    @property
    def text(self) -> str:
        return "".join(self.parts)
