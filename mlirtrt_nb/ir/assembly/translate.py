"""From text in custom assembly to text that MLIR reads.

The package's own ops become MLIR's generic form; everything else is copied. Each line break stays where it
is, and the first op of a line keeps its column, so most locations are right without a word about them; the
other ops get theirs written out.
"""

from __future__ import annotations

import re
from functools import cache

from ..context import definitions
from ..opdef import OpDef
from ..symbols import ENGINES_MARK
from .attributes import Problem, clean, nearest, to_generic
from .emit import Emitter
from .generic_form import read_generic
from .names import NamedArgument, arguments_at, function_arguments, simple_op_end
from .parsed import Parsed
from .read_op import reader_of
from .tokens import BLANK, IDENT, STRING, Unbalanced, deep_end, skip_blank

__all__ = ["Translator"]


@cache
def _stops() -> re.Pattern[str]:
    """What the scan of copied text stops at."""
    names = "|".join(definitions())
    own = rf"(?:{names})\.{IDENT}"
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
def _shown_names() -> dict[str, OpDef]:
    """Every spelling of an op's name: MLIR's and the one that is shown."""
    names: dict[str, OpDef] = {}
    for dialect in definitions().values():
        for op in dialect.ops.values():
            names[op.name] = op
            names[op.display_name or op.name] = op
    return names


@cache
def _own_op() -> re.Pattern[str]:
    return re.compile(rf"(?<![#!@.\w])(?:{'|'.join(definitions())})\.\w(?!.*=)")


_NEXT = re.compile(rf"{BLANK}(.?)(.?)", re.DOTALL)


class Translator(Emitter):
    """Translates one text.

    After `translate()`, beside what `Emitter` has: `problems` says what is wrong with the user's text,
    `trailer` is the text of the file's resources, `guessed` whether names of other dialects' ops were kept.
    """

    def __init__(self, text: str, filename: str, *, names: bool = True) -> None:
        super().__init__(text, filename)
        self.problems: list[Problem] = []
        self.guessed = False
        self._names = names
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
        return [(f"{alias} = {value} ", 0) for value, alias in self.segments.items()] + self._hoisted

    def _block(self, opened: int | None, *, bare_yield: bool) -> None:
        """Translate up to the `}` that closes the region opened at `opened`, or to the end of the text."""
        search = _stops().search
        text, copied = self.text, self.position
        braces: list[int] = []
        match = search(text, copied)
        while match is not None:
            kind, at = match.lastgroup or "", match.end()
            if kind == "open":
                braces.append(match.start())
            elif kind == "close":
                if braces:
                    braces.pop()
                elif opened is not None:
                    self.copy(copied, match.start())
                    self.position = at
                    return
                else:
                    self.problems.append(Problem("this '}' closes nothing", match.start()))
            elif kind not in ("string", "comment") and self._is_ours(kind, match, bare_yield and not braces):
                self.copy(copied, match.start())
                self._guarded(kind, match)
                copied = at = self.position
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
        if following == "=":
            return second == "="
        if following not in (",", "}"):
            return True
        before = self.text[max(0, start - 200) : start].rstrip()[-1:]
        op = _shown_names().get(name)
        return before not in ("{", ",") or (op is not None and "terminator" in op.traits)

    def _guarded(self, kind: str, match: re.Match[str]) -> None:
        """Translate what the scan stopped at; on a problem, note it and go on at the next line."""
        try:
            self._stop(kind, match)
        except Problem as problem:
            self._give_up(problem)
        except Unbalanced as error:
            self._give_up(Problem("this bracket is never closed", error.position))

    def _give_up(self, problem: Problem) -> None:
        self.problems.append(problem)
        end = self.text.find("\n", max(problem.position, self.position))
        self.position = len(self.text) if end < 0 else end

    def _stop(self, kind: str, match: re.Match[str]) -> None:
        start, end = match.span()
        if kind == "attribute":
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
        else:
            name = {"generic": match.group()[1:-1], "bare": "plan.yield"}.get(kind, match.group())
            self._op(name, start, end, generic=kind == "generic")

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
        stop = simple_op_end(self.text, end) if self._names else None
        if stop is None or _own_op().search(self.text, end, stop):
            self._pass_on(start, end)
            self.position = end
            return
        self.guessed = True
        name = results[: results.index("=")].split(",")[0].partition(":")[0].strip()
        self._pass_on(start, stop)
        self.write(self.named_place(name, end), stop, stop)
        self.position = stop

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
        self.aliases[name] = self.expand(value)
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
        op = _shown_names().get(name)
        if op is None:
            dialect = definitions()[name.partition(".")[0]]
            known = [op.display_name or op.name for op in dialect.ops.values()]
            raise Problem(f"unknown op {name}", start + generic, nearest(name, known), len(name))
        self.position = end
        parsed = Parsed(op, start)
        if generic:
            read_generic(self, parsed)
        else:
            reader_of(op)(self, parsed)
        self._finish(parsed)

    def region(self, parsed: Parsed, index: int) -> None:
        """Translate a region of `parsed`; the ones before it must have been."""
        start = skip_blank(self.text, self.position)
        if self.text[start : start + 1] != "{":
            raise Problem(f"expected '{{' and the region {parsed.definition.regions[index].name}", start)
        opening = self._opening(parsed) if parsed.regions == 0 else ", "
        label = self._entry_label(parsed, start) if parsed.flat is None else ""
        self.write(f"{opening}{self.breaks(parsed.written_to, start)}{{{label}", start, start + 1)
        self.position = start + 1
        self._block(start, bare_yield=parsed.definition.dialect == "plan")
        self.write("}", self.position - 1, self.position)
        parsed.regions += 1
        parsed.written_to = self.position

    def _opening(self, parsed: Parsed) -> str:
        """What stands before an op's first region."""
        if not self.is_engines_module(parsed):
            return f'"{parsed.definition.name}"({", ".join(parsed.values)}){parsed.successors} ('
        name = parsed.attributes.pop("sym_name", None)
        parsed.attributes[ENGINES_MARK] = None
        return f"builtin.module {'@' + name if name else ''} attributes{self.attributes(parsed)} "

    def _entry_label(self, parsed: Parsed, start: int) -> str:
        """The label of a region's first block, where the syntax implies one."""
        arguments, parsed.arguments = parsed.arguments, None
        if arguments is None:
            body = skip_blank(self.text, start + 1)
            empty = self.text[body : body + 1] == "}" and not self.is_engines_module(parsed)
            return "^entry:" if empty else ""
        listed = []
        for argument in arguments:
            self.known[argument.name] = argument.type
            place = self.named_place(argument.name, argument.position)
            listed.append(f"{argument.name}: {argument.type}{place}")
        return f"^entry({', '.join(listed)}):" if listed else "^entry:"

    def _finish(self, parsed: Parsed) -> None:
        """Write the op, or what of it follows its regions."""
        op = parsed.definition
        start, end = parsed.position, self.position
        breaks = self.breaks(parsed.written_to, end)
        names = self.result_names(start)
        if self.is_engines_module(parsed):
            self.write(f"{self.location(start, names, end)}{breaks}", start, end)
            return
        types = self.operand_types(parsed)
        attributes = self.attributes(parsed)
        results = self.results(parsed, attributes)
        self.remember(names, results)
        attributes = self.with_segments(parsed, attributes, len(results))
        returned = results[0] if len(results) == 1 and results[0][0] != "(" else f"({', '.join(results)})"
        tail = f"{attributes} : ({', '.join(types)}) -> {returned}{self.location(start, names, end)}{breaks}"
        if parsed.regions:
            self.write(f"{', {}' * (len(op.regions) - parsed.regions)}){tail}", start, end)
            return
        regions = f" ({', '.join('{}' for _ in op.regions)})" if op.regions else ""
        head = f'"{op.name}"({", ".join(parsed.values)}){parsed.successors}{regions}'
        self.write(head + tail, start, end)
