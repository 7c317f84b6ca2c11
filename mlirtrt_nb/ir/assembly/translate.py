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
from .emit import Emitter
from .generic_form import read_generic
from .groups import joined
from .meanings import Meanings
from .names import NamedArgument, arguments_at, function_arguments, region_op_end, simple_op_end
from .parsed import Parsed
from .syntax import dialect_names, shown_names, syntax_of
from .templates import Template, Templates, has_stand_in
from .tokens import BLANK, IDENT, STRING, VALUE, Unbalanced, deep_end, skip_blank

__all__ = ["Translator"]


@cache
def _stops(dialects: tuple[str, ...]) -> re.Pattern[str]:
    """What the scan of copied text stops at."""
    own = rf"(?:{'|'.join(dialects)})\.{IDENT}"
    return re.compile(
        rf'(?P<generic>"{own}")(?={BLANK}\()|(?P<string>{STRING})|(?P<comment>//[^\n]*+)'
        rf'|(?P<trailer>\{{-#)|(?P<open>\{{)|(?P<close>\}})|(?P<op>(?<![\w$.#!@%"^-]){own})'
        rf"|(?P<attribute>#(?={own})|dense_resource<__elided__>)"
        rf"|(?P<alias>^[ \t]*[#!][A-Za-z_][\w$]*+(?=[ \t]*=(?!=)))"
        rf"|(?P<bare>(?<![\w$.#!@%\"^-])yield(?![\w$.]))|(?P<function>\bfunc\.func\b)"
        rf"|(?P<label>^[ \t]*\^[\w$.-]++\()|(?P<named>^[ \t]*%[A-Za-z_$.-][^=\n]*+=[ \t]*+(?![=\"]|(?:{own})))",
        re.ASCII | re.MULTILINE,
    )


@cache
def _whole_line(dialects: tuple[str, ...]) -> re.Pattern[str]:
    """A line that begins with one of the package's ops and has nothing on the next: results, name, the rest."""
    results = rf"(?:({VALUE}(?::\d++)?+(?:, {VALUE}(?::\d++)?+)*+) = )?+"
    following = r'\s*\Z|\n[ \t]*+(?:[}^"/\n]|(?!loc\()[A-Za-z_]|%[^\n=]*+=)'
    return re.compile(
        rf"\n[ \t]*+{results}(\"?(?:{'|'.join(dialects)})\.{IDENT}\"?)([^\n]*+)(?={following})", re.ASCII
    )


@cache
def _own_op(dialects: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![#!@.\w])(?:{'|'.join(dialects)})\.\w(?!.*=)")


def _name_end(text: str) -> int:
    match = _DOTTED.match(text)
    return match.end() if match else 0


_DOTTED = re.compile(rf"{IDENT}", re.ASCII)
_NEXT = re.compile(rf"{BLANK}(.?)(.?)", re.DOTALL)


class Translator(Emitter):
    """Translates one text.

    After `translate()`, beside what `Emitter` has: `problems` says what is wrong with the user's text,
    `trailer` is the text of the file's resources, `guessed` whether names of other dialects' ops were kept.
    """

    def __init__(
        self, text: str, filename: str, *, names: bool = True, meanings: Meanings | None = None
    ) -> None:
        super().__init__(text, filename, meanings)
        self.problems: list[Problem] = []
        self.guessed = False
        self.trailer = ""
        self._names = names
        self._hoisted: list[tuple[str, int]] = []
        # Where a named op's last `}` stands -> the op's end, and its location.
        self._endings: dict[int, tuple[int, str]] = {}
        self._dialects = dialect_names()
        self._templates = Templates(self._template)

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
        search = _stops(self._dialects).search
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
                else:
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
        if stop is not None and not _own_op(self._dialects).search(self.text, end, stop):
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
            known = list(shown_names(definitions()[name.partition(".")[0]]))
            raise Problem(f"unknown op {name}", start + generic, nearest(name, known), len(name))
        self.position = end
        parsed = Parsed(syntax, start)
        if generic:
            read_generic(self, parsed)
        else:
            syntax.read(self, parsed)
        self._finish(parsed)

    def region(self, parsed: Parsed, index: int) -> None:
        """Translate a region of `parsed`; the ones before it must have been."""
        start = skip_blank(self.text, self.position)
        if self.text[start : start + 1] != "{":
            raise Problem(f"expected '{{' and the region {parsed.syntax.op.regions[index].name}", start)
        opening = self._opening(parsed) if parsed.regions == 0 else ", "
        label = self._entry_label(parsed, start) if parsed.flat is None else ""
        self.write(f"{opening}{self.breaks(parsed.written_to, start)}{{{label}", start, start + 1)
        self.position = start + 1
        self._block(start, bare_yield=parsed.syntax.op.dialect == "plan")
        self.write("}", self.position - 1, self.position)
        parsed.regions += 1
        parsed.written_to = self.position

    @staticmethod
    def _is_engines_module(parsed: Parsed) -> bool:
        """Whether the op is `tensorrt.module`, which is a marked builtin.module to MLIR."""
        return parsed.syntax.name == ENGINES_MARK

    def _opening(self, parsed: Parsed) -> str:
        """What stands before an op's first region."""
        if not self._is_engines_module(parsed):
            return f'"{parsed.syntax.name}"({", ".join(parsed.values)}){parsed.successors} ('
        name = parsed.attributes.pop("sym_name", None)
        parsed.attributes[ENGINES_MARK] = None
        return f"builtin.module {'@' + name if name else ''} attributes{self.attributes(parsed)} "

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

    # Lines that are one op each, which is most of a large module.

    def _own_lines(self) -> int:
        """Translate as many lines as there are with one op of the package and nothing else."""
        match_line = _whole_line(self._dialects).match
        lookup = self._templates.lookup
        while match := match_line(self.text, self.position):
            found = lookup(match.group(2) + match.group(3))
            if found is not None:
                self._from_template(match, *found)
            elif match.group(2)[0] == '"' or self._is_op(match.group(2), *match.span(2)):
                self.copy(self.position, match.start(2))
                self._guarded("op" if match.group(2)[0] != '"' else "generic", match, 2)
            else:
                break
        return self.position

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
        name = text[1 : text.index('"', 1)] if generic else text[: _name_end(text)]
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
