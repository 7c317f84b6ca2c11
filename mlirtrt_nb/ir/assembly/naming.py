"""The layer of the translation that keeps the names of values: of functions, blocks and other dialects' ops."""

from __future__ import annotations

import re
from functools import cache

from .attributes import clean, to_generic
from .emit import Emitter
from .groups import joined
from .meanings import Meanings
from .names import NamedArgument, region_op_end, simple_op_end
from .syntax import dialect_names

__all__ = ["NameKeeper"]


@cache
def _own_op(dialects: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![#!@.\w])(?:{'|'.join(dialects)})\.\w(?!.*=)")


class NameKeeper(Emitter):
    """An emitter that writes names into locations.

    Attributes:
        guessed: whether the end of another dialect's op was guessed, to keep its name.
    """

    def __init__(self, text: str, filename: str, *, names: bool, meanings: Meanings | None) -> None:
        super().__init__(text, filename, meanings)
        self.guessed = False
        self._names = names
        # Where a named op's last `}` stands -> the op's end, and its location.
        self._endings: dict[int, tuple[int, str]] = {}

    def _arguments(self, arguments: list[NamedArgument], start: int, end: int) -> None:
        """Arguments of a function or block: note their types, keep their names."""
        for argument in arguments:
            self.known[argument.name] = to_generic(clean(argument.type), argument.start)
        position = start
        for argument in arguments if self._names else ():
            place = "" if argument.located else self.named_place(argument.name, argument.start)
            if place:
                self._pass_on(position, argument.end)
                self.write(place, argument.end, argument.end)
                position = argument.end
        if position == start:
            self._pass_on(start, end)
            position = end
        self.position = position

    def _pass_on(self, start: int, end: int) -> None:
        """Copy, with the package's attributes in MLIR's form."""
        text = self.text[start:end]
        generic = to_generic(text, start)
        if generic is text or generic == text:
            self.copy(start, end)
        else:
            self.write(generic, start, end)

    def _named(self, results: str, start: int, end: int) -> None:
        """An op of another dialect whose result has a name."""
        names = [name.partition(":")[0].strip() for name in results[: results.index("=")].split(",")]
        place = f" loc({self.place(end, joined(names))})"
        stop = simple_op_end(self.text, end) if self._names else None
        if stop is not None and not _own_op(dialect_names()).search(self.text, end, stop):
            self.guessed = True
            self._pass_on(start, stop)
            self.write(place, stop, stop)
            self.position = stop
            return
        regions = region_op_end(self.text, end) if self._names else None
        if regions is not None:
            self.guessed = True
            self._endings[regions[0]] = (regions[1], place)
        self._pass_on(start, end)
        self.position = end

    def _end_named(self, copied: int, close: int) -> int:
        """Write a location behind an op with regions, whose last `}` is at `close`; gives the op's end."""
        end, place = self._endings.pop(close)
        self.copy(copied, close + 1)
        self._pass_on(close + 1, end)
        self.write(place, end, end)
        return end
