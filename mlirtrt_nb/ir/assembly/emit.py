"""Writing ops in MLIR's generic form, and noting where each piece came from."""

from __future__ import annotations

import re

from ..irdl import needs_segments
from ..opdef import VARIADIC_SLOTS
from ..symbols import ENGINES_MARK
from .attributes import Problem
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
        segments: long segment sizes -> the alias that stands for them.
    """

    def __init__(self, text: str, filename: str) -> None:
        super().__init__(text)
        self.lines = Lines(text)
        self.out = Output()
        self.shifted_lines: set[int] = set()
        self.segments: dict[str, str] = {}
        self._sizes_of: dict[tuple[str, tuple[int, ...]], str] = {}
        self._file = filename.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        # The end of the last text that was not copied: what follows on its line has moved.
        self._moved_from = 0

    def copy(self, start: int, end: int) -> None:
        """Write the user's text as it is."""
        if start < end:
            self.out.copy(self.text, start, end)
            if start == self._moved_from and self.text[start] != "\n":
                self._note_shift(start, end)

    def _note_shift(self, start: int, end: int) -> None:
        quiet = _QUIET.match(self.text, start, end)
        if quiet is None:
            self.shifted_lines.add(self.lines.locate(start)[0])

    def write(self, piece: str, start: int, end: int) -> None:
        """Write `piece` for the user's text from `start` to `end`."""
        self.out.write(piece, start)
        self._moved_from = end

    def breaks(self, start: int, end: int) -> str:
        """The line breaks of the user's text from `start` to `end`."""
        return "\n" * self.text.count("\n", start, end)

    # Locations and names.

    def result_names(self, start: int) -> list[tuple[str, int]]:
        """The values that the op at `start` defines: name and count of each."""
        match = _RESULTS.search(self.text, self.text.rfind("\n", 0, start) + 1, start)
        if match is None:
            return []
        return [(name, int(count or 1)) for name, count in _RESULT.findall(match.group(1))]

    def location(self, start: int, names: list[tuple[str, int]], end: int) -> str:
        """` loc(...)` for an op, where MLIR would not give it the right one by itself."""
        named = bool(names) and not _NUMBERED.match(names[0][0])
        moved = self.text.rfind("\n", 0, start) < self._moved_from
        if not (named or moved) or _LOCATION.match(self.text, end):
            return ""
        return f" loc({self.place(start, names[0][0] if named else None)})"

    def place(self, offset: int, name: str | None) -> str:
        """A place in the user's text, as the inside of `loc(...)`, with a value's name for MLIR to keep."""
        line, column = self.lines.locate(offset)
        place = f'"{self._file}":{line}:{column}'
        return f'"{name[1:]}"({place})' if name else place

    def named_place(self, name: str, offset: int) -> str:
        """` loc(...)` for a block argument whose name is to be kept, or nothing."""
        return "" if _NUMBERED.match(name) else f" loc({self.place(offset, name)})"

    # Types, attributes and segment sizes of an op.

    def operand_types(self, parsed: Parsed) -> list[str]:
        """One type per operand, from the text or from where the values were defined."""
        types: list[str] = []
        for n, values in enumerate(parsed.operands):
            given = parsed.operand_types[n]
            if given is None:
                given = parsed.operand_types[n] = [self._known_type(value, parsed) for value in values]
            if len(given) != len(values):
                name = parsed.definition.operands[n].name
                raise Problem(f"{name}: {len(values)} values but {len(given)} types", parsed.position)
            types += given
        return types

    def _known_type(self, value: str, parsed: Parsed) -> str:
        found = self.known.get(value)
        if found is None:
            at = self.text.find(value, parsed.position)
            raise Problem(
                f"{value} is not defined before it is used here", max(at, parsed.position), length=len(value)
            )
        return found

    @staticmethod
    def attributes(parsed: Parsed) -> str:
        """The attribute dictionary with a blank before it, or nothing."""
        if not parsed.attributes:
            return ""
        items = [key if value is None else f"{key} = {value}" for key, value in parsed.attributes.items()]
        return f" {{{', '.join(items)}}}"

    def results(self, parsed: Parsed, attributes: str) -> list[str]:
        """One type per result, from the text or inferred."""
        op = parsed.definition
        if any(types is not None for types in parsed.result_types):
            return [kind for types in parsed.result_types for kind in types or ()]
        if op.infer is None and all(entry.variadic for entry in op.results):
            return []
        return self.infer(parsed, attributes)

    def remember(self, names: list[tuple[str, int]], types: list[str]) -> None:
        """Note the types of the values that an op defines."""
        at = 0
        for name, count in names:
            if count == 1:
                self.known[name] = types[at] if at < len(types) else ""
            for k in range(count):
                self.known[f"{name}#{k}"] = types[at + k] if at + k < len(types) else ""
            at += count

    def with_segments(self, parsed: Parsed, attributes: str, results: int) -> str:
        """The dictionary with the segment sizes that MLIR wants."""
        op = parsed.definition
        added = []
        if needs_segments(op.operands):
            sizes = self._sizes(parsed, op.operands, tuple(len(values) for values in parsed.operands))
            added.append(f"{SEGMENTS[0]} = {sizes}")
        if needs_segments(op.results):
            fixed = len(op.results) - 1
            added.append(
                f"{SEGMENTS[1]} = {self._sizes(parsed, op.results, (1,) * fixed + (results - fixed,))}"
            )
        if not added:
            return attributes
        return f"{attributes[:-1]}, {', '.join(added)}}}" if attributes else f" {{{', '.join(added)}}}"

    def _sizes(self, parsed: Parsed, entries: tuple, counts: tuple[int, ...]) -> str:
        kind = "o" if entries is parsed.definition.operands else "r"
        key = (kind + parsed.definition.name, counts)
        found = self._sizes_of.get(key)
        if found is None:
            found = self._sizes_of[key] = self._new_sizes(parsed, entries, counts)
        return found

    def _new_sizes(self, parsed: Parsed, entries: tuple, counts: tuple[int, ...]) -> str:
        """Segment sizes; long ones as an alias, since MLIR takes far longer to read them in full each time."""
        sizes: list[str] = []
        for entry, count in zip(entries, counts, strict=True):
            if not entry.variadic:
                sizes.append(str(count))
            elif count > VARIADIC_SLOTS:
                raise Problem(f"{entry.name}: {count} values; at most {VARIADIC_SLOTS} fit", parsed.position)
            else:
                sizes += ["1"] * count + ["0"] * (VARIADIC_SLOTS - count)
        text = f"array<i32: {', '.join(sizes)}>"
        if len(sizes) < VARIADIC_SLOTS:
            return text
        return self.segments.setdefault(text, f"#mlirtrt_segments_{len(self.segments)}")

    @staticmethod
    def is_engines_module(parsed: Parsed) -> bool:
        """Whether the op is `tensorrt.module`, which is a marked builtin.module to MLIR."""
        return parsed.definition.name == ENGINES_MARK
