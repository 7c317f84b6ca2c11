"""From text in custom assembly to text that MLIR reads.

The package's own ops become MLIR's generic form; everything else is copied. Each line break stays where it
is, and the first op of a line keeps its column, so most locations are right without a word about them; the
other ops get theirs written out.
"""

from __future__ import annotations

import re
from functools import cache

from ..context import definitions
from ..hints import nearest
from ..symbols import ENGINES_MARK
from .attributes import Problem, clean, to_generic, unclosed
from .generic_form import read_generic
from .meanings import Meanings
from .names import arguments_at, begins_statement, function_arguments
from .parsed import Parsed
from .syntax import dialect_names, shown_names, syntax_of
from .tokens import BLANK, IDENT, STRING, Unbalanced, deep_end, skip_blank
from .whole_lines import LineReader

__all__ = ["Translator"]


@cache
def _stops(dialects: tuple[str, ...]) -> re.Pattern[str]:
    """What the scan of copied text stops at."""
    own = rf"(?:{'|'.join(dialects)})\.{IDENT}"
    return re.compile(
        # Not the op that a pattern looks for or makes, nor the one that torch's generic operator stands for.
        rf'(?P<generic>(?<!operation )(?<!operator )"{own}")(?={BLANK}\()'
        rf"|(?P<string>{STRING})|(?P<comment>//[^\n]*+)"
        rf'|(?P<trailer>\{{-#)|(?P<open>\{{)|(?P<close>\}})|(?P<op>(?<![\w$.#!@%"^-]){own})'
        rf"|(?P<attribute>#(?={own})|dense_resource<__elided__>)"
        rf"|(?P<alias>^[ \t]*[#!][A-Za-z_][\w$]*+(?=[ \t]*=(?!=)))"
        rf"|(?P<bare>(?<![\w$.#!@%\"^-])yield(?![\w$.]))|(?P<function>\bfunc\.func\b)"
        rf"|(?P<label>^[ \t]*\^[\w$.-]++\()|(?P<named>^[ \t]*%[A-Za-z_$.-][^=\n]*+=[ \t]*+(?![=\"]|(?:{own})))",
        re.ASCII | re.MULTILINE,
    )


_NEXT = re.compile(rf"{BLANK}(.?)(.?)", re.DOTALL)


class Translator(LineReader):
    """Translates one text.

    After `translate()`, beside what `Emitter` has: `problems` says what is wrong with the user's text,
    `trailer` is the text of the file's resources.
    """

    def __init__(
        self, text: str, filename: str, *, names: bool = True, meanings: Meanings | None = None
    ) -> None:
        super().__init__(text, filename, names=names, meanings=meanings)
        self.problems: list[Problem] = []
        self.trailer = ""
        self._hoisted: list[tuple[str, int]] = []

    def translate(self) -> None:
        """Translate the whole text."""
        try:
            self._block(None, bare_yield=False)
        except Problem as problem:
            self.problems.append(problem)

    def prefix(self) -> list[tuple[str, int]]:
        """What must stand before the rest: aliases, with the offsets they come from."""
        return [(f"{alias} = {value} ", 0) for value, alias in self.meanings.segments.items()] + self._hoisted

    def _block(self, opened: int | None, *, bare_yield: bool) -> None:
        """Translate up to the `}` that closes the region opened at `opened`, or to the end of the text."""
        search = _stops(dialect_names()).search
        text, copied = self.text, self._own_lines()
        braces: list[int] = []
        match = search(text, copied)
        while match is not None:
            kind, at = match.lastgroup or "", match.end()
            if kind == "open":
                braces.append(match.start())
            elif kind == "close":
                if braces:
                    braces.pop()
                    if match.start() in self._endings:
                        copied = at = self._end_named(copied, match.start())
                elif opened is not None:
                    self.copy(copied, match.start())
                    self.position = at
                    return
                elif not self.problems:  # else it may close a region of the op that was given up
                    self.problems.append(Problem("this '}' closes nothing", match.start()))
            elif kind not in ("string", "comment") and self._is_ours(kind, match, bare_yield and not braces):
                self.copy(copied, match.start())
                self._guarded(kind, match)
                copied = at = self._own_lines()
            match = search(text, at)
        if braces or opened is not None:
            raise Problem("this '{' is never closed", braces[-1] if braces else opened or 0)
        self.copy(copied, len(text))
        self.position = len(text)

    def _is_ours(self, kind: str, match: re.Match[str], bare_yield: bool) -> bool:
        """Whether the stop is something to translate, not a name that only looks so."""
        if kind not in ("op", "bare"):
            return True
        name = match.group() if kind == "op" else "plan.yield"
        return (kind == "op" or bare_yield) and self._is_op(name, match.start(), match.end())

    def _is_op(self, name: str, start: int, end: int) -> bool:
        """Whether a dotted name is an op, not an attribute's name in a dictionary."""
        match = _NEXT.match(self.text, end)
        following, second = match.groups() if match else ("", "")
        if following not in ("=", ",", "}") or following + second == "==":
            return True
        if self._before(start) not in ("{", ","):
            return True
        syntax = syntax_of(name)
        return following == "}" and syntax is not None and syntax.terminator

    def _before(self, start: int) -> str:
        """The last character before `start` that is neither blank nor in a comment."""
        for line in reversed(self.text[max(0, start - 400) : start].split("\n")):
            code = line.partition("//")[0].rstrip()
            if code:
                return code[-1]
        return ""

    def _guarded(self, kind: str, match: re.Match[str], group: int = 0) -> None:
        """Translate what the scan stopped at; on a problem, note it and go on at the next line."""
        try:
            self._stop(kind, match, group)
        except Problem as problem:
            self._give_up(problem)
        except Unbalanced as error:
            self._give_up(unclosed(error.position))

    def _give_up(self, problem: Problem) -> None:
        self.problems.append(problem)
        end = self.text.find("\n", max(problem.position, self.position))
        self.position = len(self.text) if end < 0 else end

    def _stop(self, kind: str, match: re.Match[str], group: int) -> None:
        start, end = match.span(group)
        if kind in ("op", "generic", "bare"):
            name = "plan.yield" if kind == "bare" else match.group(group).strip('"')
            self._op(name, start, end, generic=kind == "generic")
        elif kind == "attribute":
            self._attribute(start)
        elif kind == "alias":
            self._alias(match.group().strip(), start, end)
        elif kind == "trailer":
            self._trailer(start)
        elif kind == "function":
            self._arguments(function_arguments(self.text, start), start, end)
        elif kind == "label":
            self._arguments(arguments_at(self.text, end - 1), start, end)
        elif kind == "named":
            self._named(match.group(), start, end)

    def _attribute(self, start: int) -> None:
        """`#dialect.name<...>` of the package, or an elided weight, in text that is otherwise copied."""
        self.position = end = deep_end(self.text, start, typed=self.text[start] == "d")
        self.write(to_generic(clean(self.text[start:end]), start) + self.breaks(start, end), start, end)

    def _alias(self, name: str, start: int, end: int) -> None:
        """`#name = attribute` or `!name = type`: taken to the front, where MLIR wants it."""
        self.position = value_start = skip_blank(self.text, self.text.index("=", end) + 1)
        end = deep_end(self.text, value_start, typed=True)
        if end == value_start:
            raise Problem(f"expected what {name} stands for", value_start)
        value = to_generic(clean(self.text[value_start:end]), value_start)
        self.meanings.aliases[name] = self.meanings.expand(value)
        self._hoisted.append((f"{name} = {value} ", start))
        self.write(self.breaks(start, end), start, end)
        self.position = end

    def _trailer(self, start: int) -> None:
        """The resources of the file; the package keeps them itself."""
        end = self.text.find("#-}", start)
        if end < 0:
            raise Problem("'{-#' is never closed by '#-}'", start)
        self.position = end + 3
        self.trailer = self.text[start : self.position]
        self.write(self.breaks(start, self.position), start, self.position)

    def _op(self, name: str, start: int, end: int, *, generic: bool) -> None:
        syntax = syntax_of(name)
        if syntax is None:
            dialect = shown_names(definitions()[name.partition(".")[0]])
            known = list(dict.fromkeys(entry.name if generic else entry.shown for entry in dialect.values()))
            raise Problem(f"unknown op {name}", start + generic, nearest(name, known), len(name))
        self.position = end
        parsed = Parsed(syntax, start)
        if generic:
            read_generic(self, parsed)
            if name == ENGINES_MARK:
                parsed.attributes[ENGINES_MARK] = None
        else:
            self._read(parsed)
        self._finish(parsed)

    def _read(self, parsed: Parsed) -> None:
        """Read an op in its own syntax. What is wrong with that comes with an example; what is missing is
        missed behind the op, not where the next one begins."""
        try:
            parsed.syntax.read(self, parsed)
        except Problem as problem:
            behind = len(self.text[: problem.position].rstrip())
            if "\n" in self.text[behind : problem.position] and begins_statement(self.text, behind):
                problem.position = behind
            problem.hint = problem.hint or parsed.syntax.sample
            raise

    def region(self, parsed: Parsed, index: int) -> None:
        """Translate a region of `parsed`; the ones before it must have been."""
        start = skip_blank(self.text, self.position)
        if self.text[start : start + 1] != "{":
            raise Problem(f"expected '{{' and the region {parsed.syntax.op.regions[index].name}", start)
        opening = self._opening(parsed) if parsed.regions == 0 else ", "
        label = "" if parsed.generic else self._entry_label(parsed, start)
        self.write(f"{opening}{self.breaks(parsed.written_to, start)}{{{label}", start, start + 1)
        self.position = start + 1
        self._block(start, bare_yield=parsed.syntax.op.dialect == "plan")
        self.write("}", self.position - 1, self.position)
        parsed.regions += 1
        parsed.written_to = self.position

    @staticmethod
    def _is_engines_module(parsed: Parsed) -> bool:
        """Whether the op is `tensorrt.module` in its own syntax. To MLIR it is a marked builtin.module."""
        return parsed.syntax.name == ENGINES_MARK and not parsed.generic

    def _opening(self, parsed: Parsed) -> str:
        """What stands before an op's first region."""
        if not self._is_engines_module(parsed):
            name = "builtin.module" if parsed.syntax.name == ENGINES_MARK else parsed.syntax.name
            return f'"{name}"({", ".join(parsed.values)}){parsed.successors} ('
        symbol = parsed.attributes.pop("sym_name", None)
        parsed.attributes[ENGINES_MARK] = None
        return f"builtin.module {'@' + symbol if symbol else ''} attributes{self.attributes(parsed)} "

    def _entry_label(self, parsed: Parsed, start: int) -> str:
        """The label of a region's first block, where the syntax implies one."""
        arguments, parsed.arguments = parsed.arguments, None
        if arguments is None:
            body = skip_blank(self.text, start + 1)
            empty = self.text[body : body + 1] == "}" and not self._is_engines_module(parsed)
            return "^entry:" if empty else ""
        listed = []
        for argument in arguments:
            self.known[argument.name] = argument.type
            place = self.named_place(argument.name, argument.position)
            listed.append(f"{argument.name}: {argument.type}{place}")
        return f"^entry({', '.join(listed)}):" if listed else "^entry:"

    def _finish(self, parsed: Parsed) -> None:
        """Write the op, or what of it follows its regions."""
        op = parsed.syntax.op
        start, end = parsed.position, self.position
        names = self.result_names(start)
        location = self.location(start, [name for name, _ in names], end)
        if self._is_engines_module(parsed):
            self.write(location + self.breaks(parsed.written_to, end), start, end)
            return
        if parsed.regions:
            tail, results = self.tail(parsed)
            text = f"{', {}' * (len(op.regions) - parsed.regions)}){tail}"
        else:
            text, results = self.without_regions(parsed)
        self.remember(names, results)
        self.write(text + location + self.breaks(parsed.written_to, end), start, end)

    def _own_lines(self) -> int:
        """Translate as many lines as there are with one op of the package and nothing else."""
        while line := self.whole_line():
            if self.look_up(line):
                continue
            name = line.group(2)
            generic = name[0] == '"'
            if not generic and not self._is_op(name, *line.span(2)):
                break
            self.copy(self.position, line.start(2))
            self._guarded("generic" if generic else "op", line, 2)
        return self.position
