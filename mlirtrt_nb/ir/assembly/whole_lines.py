"""The layer of the translation for lines that are one op each, which is most of a large module."""

from __future__ import annotations

import re
from functools import cache

from .attributes import Problem
from .emit import Emitter
from .generic_form import read_generic
from .meanings import Meanings
from .naming import NameKeeper
from .parsed import Parsed
from .syntax import dialect_names, syntax_of
from .templates import Template, Templates, has_stand_in
from .tokens import IDENT, VALUE, Unbalanced

__all__ = ["LineReader"]

_DOTTED = re.compile(IDENT, re.ASCII)


@cache
def _whole_line(dialects: tuple[str, ...]) -> re.Pattern[str]:
    """A line that begins with one of the package's ops and has nothing on the next: results, name, the rest."""
    results = rf"(?:({VALUE}(?::\d++)?+(?:, {VALUE}(?::\d++)?+)*+) = )?+"
    following = r'\s*\Z|\n[ \t]*+(?:[}^"/\n]|(?!loc\()[A-Za-z_]|%[^\n=]*+=)'
    return re.compile(
        rf"\n[ \t]*+{results}(\"?(?:{'|'.join(dialects)})\.{IDENT}\"?)([^\n]*+)(?={following})", re.ASCII
    )


class LineReader(NameKeeper):
    """A translation that looks whole lines up before it reads them."""

    def __init__(self, text: str, filename: str, *, names: bool, meanings: Meanings | None) -> None:
        super().__init__(text, filename, names=names, meanings=meanings)
        self._templates = Templates(self._template, text)
        self._match_line = _whole_line(dialect_names()).match

    def whole_line(self) -> re.Match[str] | None:
        """The line that begins behind the position, if it is one op: results, name, the rest."""
        return self._match_line(self.text, self.position)

    def look_up(self, line: re.Match[str]) -> bool:
        """Translate a line that is like one before; whether it is."""
        found = self._templates.lookup(line.group(2) + line.group(3))
        if found is None:
            return False
        self._from_template(line, *found)
        return True

    def _from_template(self, match: re.Match[str], template: Template, values: list[str]) -> None:
        start, end = match.start(2), match.end()
        self.out.copy(self.text, self.position, start)
        results = match.group(1)
        location = ""
        if results is not None:
            names = self._note_results(results, start, template.types)
            if not results[1].isdigit():
                location = self.line_location(names, match.start(), start)
        self.out.write(template.fill(values) + location, start)
        self.position = self._moved_from = end

    def _note_results(self, results: str, start: int, types: list[str]) -> list[str]:
        """Note the types of a line's results; gives their names."""
        if "," not in results and ":" not in results:
            if types:
                self.known[results] = types[0]
            return [results]
        names = self.result_names(start)
        self.remember(names, types)
        return [name for name, _ in names]

    def _template(self, text: str) -> Template | None:
        """What a whole line becomes; None where it is not one op, or depends on more than its text."""
        generic = text[0] == '"'
        match = _DOTTED.match(text, int(generic))
        name = match.group() if match else ""
        syntax = syntax_of(name)
        if syntax is None or ("{" in text and text.count("{") != text.count("}")) or "loc(" in text:
            return None
        line = Emitter(text, "", self.meanings)
        line.position = len(name) + 2 * generic
        parsed = Parsed(syntax, 0)
        try:
            if generic:
                read_generic(line, parsed)
            else:
                syntax.read(line, parsed)
            if parsed.regions or text[line.position :].strip():
                return None
            written, results = line.without_regions(parsed)
        except (Problem, Unbalanced):
            return None
        if line.looked_up or (has_stand_in(text) and (line.inferred or syntax.array_defaults)):
            return None
        return Template(written, results)
