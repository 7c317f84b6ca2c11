"""Writing ops in MLIR's generic form, and noting where each piece came from."""

from __future__ import annotations

import re
from bisect import bisect_right

from .attributes import Problem
from .groups import joined
from .meanings import Meanings
from .output import Output
from .parsed import Parsed
from .reader import Reader
from .slots import SEGMENTS
from .sourcemap import Lines
from .tokens import VALUE

__all__ = ["Emitter"]

_RESULTS = re.compile(rf"({VALUE}(?::\d++)?+(?:\s*+,\s*+{VALUE}(?::\d++)?+)*+)\s*+=\s*+$", re.ASCII)
_RESULT = re.compile(r"(%[-\w$.]+)(?::(\d+))?", re.ASCII)
# Names that MLIR gives by itself need not be kept.
_NUMBERED = re.compile(r"%(?:\d|arg\d+$)")
_LOCATION = re.compile(r"\s*loc\(")
# What may follow a translated op on its line without being an op itself.
_QUIET = re.compile(r"(?:[ \t)\]},;{]|else\b|loc\((?:[^()\n]|\([^()\n]*\))*\))*+(?://.*)?$", re.MULTILINE)


class Emitter(Reader):
    """A reader that writes the text for MLIR.

    Attributes:
        out: that text so far.
        lines: the lines of the user's text.
        shifted_lines: lines on which ops of other dialects have lost their column.
        looked_up: whether a type was taken from where a value was defined.
        inferred: whether result types were inferred.
    """

    def __init__(self, text: str, filename: str, meanings: Meanings | None = None) -> None:
        super().__init__(text, meanings)
        self.lines = Lines(text)
        self.out = Output()
        self.shifted_lines: set[int] = set()
        self.looked_up = self.inferred = False
        self._file = filename.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        # The end of the last text that was not copied: what follows on its line has moved.
        self._moved_from = 0

    def region(self, parsed: Parsed, index: int) -> None:
        """Read a region of `parsed`; the ones before it must have been."""
        raise Problem("a region cannot stand here", self.position)

    def copy(self, start: int, end: int) -> None:
        """Write the user's text as it is."""
        if start < end:
            self.out.copy(self.text, start, end)
            if (
                start == self._moved_from
                and self.text[start] != "\n"
                and not _QUIET.match(self.text, start, end)
            ):
                self.shifted_lines.add(self.lines.locate(start)[0])

    def write(self, piece: str, start: int, end: int) -> None:
        """Write `piece` for the user's text from `start` to `end`."""
        self.out.write(piece, start)
        self._moved_from = end

    def breaks(self, start: int, end: int) -> str:
        """The line breaks of the user's text from `start` to `end`."""
        return "\n" * self.text.count("\n", start, end)

    # Names and locations.

    def result_names(self, start: int) -> list[tuple[str, int]]:
        """The values that the op at `start` defines: name and count of each."""
        match = _RESULTS.search(self.text, self.text.rfind("\n", 0, start) + 1, start)
        if match is None:
            return []
        return [(name, int(count or 1)) for name, count in _RESULT.findall(match.group(1))]

    def location(self, start: int, names: list[str], end: int) -> str:
        """` loc(...)` for an op, where MLIR would not give it the right one by itself."""
        name = None if not names or _NUMBERED.match(names[0]) else joined(names)
        moved = self.text.rfind("\n", 0, start) < self._moved_from
        if (name is None and not moved) or _LOCATION.match(self.text, end):
            return ""
        return f" loc({self.place(start, name)})"

    def line_location(self, names: list[str], before: int, start: int) -> str:
        """` loc(...)` for an op with named results that begins the line after the break at `before`."""
        if _NUMBERED.match(names[0]):
            return ""
        name = names[0][1:] if len(names) == 1 else joined(names)[1:]
        line = bisect_right(self.lines.starts, start)
        return f' loc("{name}"("{self._file}":{line}:{start - before}))'

    def place(self, offset: int, name: str | None) -> str:
        """A place in the user's text, as the inside of `loc(...)`, with a value's name for MLIR to keep."""
        line, column = self.lines.locate(offset)
        place = f'"{self._file}":{line}:{column}'
        return f'"{name[1:]}"({place})' if name else place

    def named_place(self, name: str, offset: int) -> str:
        """` loc(...)` for a block argument whose name is to be kept, or nothing."""
        return "" if _NUMBERED.match(name) else f" loc({self.place(offset, name)})"

    # An op's types, attributes and segment sizes.

    def tail(self, parsed: Parsed) -> tuple[str, list[str]]:
        """What follows operands and regions in the generic form; and the types of the results."""
        types = self._operand_types(parsed)
        attributes = self.attributes(parsed)
        results = self._results(parsed, attributes)
        if parsed.syntax.sized_operands or parsed.syntax.sized_results:
            attributes = self._with_segments(parsed, attributes, len(results))
        returned = results[0] if len(results) == 1 and results[0][0] != "(" else f"({', '.join(results)})"
        return f"{attributes} : ({', '.join(types)}) -> {returned}", results

    def _operand_types(self, parsed: Parsed) -> list[str]:
        """One type per operand, from the text or from where the values were defined."""
        types: list[str] = []
        for n, values in enumerate(parsed.operands):
            given = parsed.operand_types[n]
            if given is None:
                given = parsed.operand_types[n] = [self._known_type(value, parsed) for value in values]
            if len(given) != len(values):
                name = parsed.syntax.op.operands[n].name
                raise Problem(
                    f"{parsed.syntax.shown}: {name} has {len(values)} values but {len(given)} types",
                    parsed.position,
                    parsed.syntax.sample,
                    len(parsed.syntax.shown),
                )
            types += given
        return types

    def _known_type(self, value: str, parsed: Parsed) -> str:
        self.looked_up = True
        found = self.known.get(value) or self.known.get(value.removesuffix("#0"))
        if found is None:
            at = max(self.text.find(value, parsed.position), parsed.position)
            raise Problem(f"{value} is not defined before it is used here", at, length=len(value))
        return found

    @staticmethod
    def attributes(parsed: Parsed) -> str:
        """The attribute dictionary with a blank before it, or nothing."""
        if not parsed.attributes:
            return ""
        items = [key if value is None else f"{key} = {value}" for key, value in parsed.attributes.items()]
        return f" {{{', '.join(items)}}}"

    def _results(self, parsed: Parsed, attributes: str) -> list[str]:
        """One type per result, from the text or inferred."""
        given = [types for types in parsed.result_types if types is not None]
        if given:
            return given[0] if len(given) == 1 else [kind for types in given for kind in types]
        op = parsed.syntax.op
        if op.infer is None and all(entry.variadic for entry in op.results):
            return []
        self.inferred = True
        return self.meanings.infer(parsed, attributes)

    def _with_segments(self, parsed: Parsed, attributes: str, results: int) -> str:
        """The dictionary with the segment sizes that MLIR wants."""
        op = parsed.syntax.op
        added = []
        if parsed.syntax.sized_operands:
            counts = tuple([len(values) for values in parsed.operands])
            sizes = self.meanings.sizes(op, counts, parsed.position, of_results=False)
            added.append(f"{SEGMENTS[0]} = {sizes}")
        if parsed.syntax.sized_results:
            fixed = len(op.results) - 1
            counts = (1,) * fixed + (results - fixed,)
            sizes = self.meanings.sizes(op, counts, parsed.position, of_results=True)
            added.append(f"{SEGMENTS[1]} = {sizes}")
        return f"{attributes[:-1]}, {', '.join(added)}}}" if attributes else f" {{{', '.join(added)}}}"

    def without_regions(self, parsed: Parsed) -> tuple[str, list[str]]:
        """A whole op in generic form, whose regions, if it has any, are empty; and its results' types."""
        tail, results = self.tail(parsed)
        empty = parsed.syntax.op.regions
        regions = f" ({', '.join('{}' for _ in empty)})" if empty else ""
        head = f'"{parsed.syntax.name}"({", ".join(parsed.values)}){parsed.successors}{regions}'
        return head + tail, results

    def remember(self, names: list[tuple[str, int]], types: list[str]) -> None:
        """Note the types of the values that an op defines."""
        at = 0
        for name, count in names:
            if at < len(types):
                self.known[name] = types[at]
            if count > 1:
                for k, kind in enumerate(types[at : at + count]):
                    self.known[f"{name}#{k}"] = kind
            at += count
