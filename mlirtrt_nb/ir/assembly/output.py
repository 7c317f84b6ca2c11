"""The text for MLIR while it is put together, with where each piece came from."""

from __future__ import annotations

__all__ = ["Output"]


class Output:
    """Pieces of text in order, each a copy of the user's text or made from it.

    `origins` has, for each piece, the offset in the user's text that it came from; `~offset` for a copy.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.origins: list[int] = []

    def copy(self, text: str, start: int, end: int) -> None:
        """Add the user's text from `start` to `end` as it is."""
        self.parts.append(text[start:end])
        self.origins.append(~start)

    def write(self, piece: str, origin: int) -> None:
        """Add text made from what the user has at `origin`."""
        self.parts.append(piece)
        self.origins.append(origin)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def marks(self, shift: int, end: int) -> list[tuple[int, int, bool]]:
        """For each piece up to `end`, and one more: its offset plus `shift`, the user's offset, whether it is a
        copy."""
        found: list[tuple[int, int, bool]] = []
        offset = shift
        for part, origin in zip(self.parts, self.origins, strict=True):
            found.append((offset, ~origin if origin < 0 else origin, origin < 0))
            if offset > end:
                break
            offset += len(part)
        return found
