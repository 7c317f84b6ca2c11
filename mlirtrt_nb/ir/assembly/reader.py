"""Reading pieces of syntax at a position in the user's text."""

from __future__ import annotations

from .attributes import Problem, clean, to_generic
from .meanings import Meanings
from .parsed import Argument
from .tokens import VALUE, balanced_end, deep_end, deep_list_end, pattern, skip_blank

__all__ = ["Reader"]


class Reader:
    """A position in a text, and methods that take a piece of syntax there or raise `Problem`.

    Attributes:
        text, position: the text and where reading stands.
        meanings: what its pieces mean.
        known: the types of the values seen so far, for ops whose syntax leaves types out.
    """

    def __init__(self, text: str, meanings: Meanings | None = None) -> None:
        self.text = text
        self.position = 0
        self.meanings = meanings or Meanings()
        self.known: dict[str, str] = {}

    def take(self, source: str, expected: str) -> str:
        """The text that the expression matches after blanks."""
        match = pattern(source).match(self.text, self.position)
        if match is None:
            raise Problem(f"expected {expected}", skip_blank(self.text, self.position))
        self.position = match.end()
        return match.group(1)

    def accept(self, source: str) -> bool:
        """Take what the expression matches, if it does."""
        match = pattern(source).match(self.text, self.position)
        if match is None:
            return False
        self.position = match.end()
        return True

    def sees(self, source: str) -> bool:
        """Whether the expression matches next."""
        return pattern(source).match(self.text, self.position) is not None

    def value(self, expected: str) -> Argument:
        """A value's name; its type is left empty."""
        name = self.take(VALUE, expected)
        return Argument(name, "", self.position - len(name))

    def type(self, expected: str) -> str:
        """A type, in MLIR's form."""
        start = skip_blank(self.text, self.position)
        end = deep_end(self.text, start, typed=False)
        if end == start:
            raise Problem(f"expected {expected}", start)
        self.position = end
        return to_generic(clean(self.text[start:end]), start)

    def types(self, expected: str) -> list[str]:
        """A list of types in MLIR's form, with or without parentheses around it."""
        start = skip_blank(self.text, self.position)
        if self.text[start : start + 1] == "(":
            self.position = balanced_end(self.text, start)
            return self.meanings.types(self.text[start + 1 : self.position - 1].strip(), start + 1)
        end = deep_list_end(self.text, start)
        if end == start:
            raise Problem(f"expected {expected}", start)
        self.position = end
        return self.meanings.types(self.text[start:end], start)

    def bracketed(self, opening: str, expected: str) -> tuple[str, int]:
        """A bracketed run with its brackets, and where it begins."""
        start = skip_blank(self.text, self.position)
        if not self.text.startswith(opening, start):
            raise Problem(f"expected {expected}", start)
        self.position = balanced_end(self.text, start)
        return self.text[start : self.position], start
