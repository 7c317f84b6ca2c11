"""Directives of formats that are written by hand: `custom<Name>(...)`.

A directive has two functions. `read(reader, parsed, arguments)` takes text from the reader and fills the op;
`write(printed, arguments)` gives the text back. The arguments are the format's elements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import formats as f
from .attributes import Problem, clean, to_generic
from .parsed import Argument, Parsed
from .tokens import BLANK, BRACKETED, SYMBOL, unquote

if TYPE_CHECKING:
    from .emit import Emitter
    from .pieces import Store
    from .printed import Printed

__all__ = ["Directive", "directive", "register_directive"]

_Arguments = Sequence[f.Element]


@dataclass(frozen=True)
class Directive:
    """How a `custom<...>` is read and written.

    `piece(arguments)` gives an expression with one group, and what to do with the group's text; only where a
    directive is simple enough.
    """

    read: Callable[[Emitter, Parsed, _Arguments], None]
    write: Callable[[Printed, _Arguments], str]
    piece: Callable[[_Arguments], tuple[str, Store]] | None = None


_DIRECTIVES: dict[str, Directive] = {}


def register_directive(
    name: str,
    read: Callable[[Emitter, Parsed, _Arguments], None],
    write: Callable[[Printed, _Arguments], str],
) -> None:
    """Make `custom<name>` known to formats."""
    _DIRECTIVES[name] = Directive(read, write)


def directive(name: str) -> Directive:
    """The directive of that name. Raises FormatError if there is none."""
    try:
        return _DIRECTIVES[name]
    except KeyError:
        raise f.FormatError(f"no directive custom<{name}>") from None


# custom<StaticIndexI32Array>($static_start): integers between the brackets that the format has; `?` is dynamic.

_INTEGERS = rf"(?:(?:-?\d++|\?)(?:{BLANK},{BLANK}(?:-?\d++|\?))*+)?+"


def _index_array(width: str) -> Directive:
    dynamic = str(-(2 ** (int(width[1:]) - 1)))

    def read(reader: Emitter, parsed: Parsed, arguments: _Arguments) -> None:
        store = piece(arguments)[1]
        store(reader, parsed, reader.take(_INTEGERS, "integers"), reader.position)

    def piece(arguments: _Arguments) -> tuple[str, Store]:
        (slot,) = arguments
        assert isinstance(slot, f.AttrSlot)
        name = slot.attr.name

        def store(reader: Emitter, parsed: Parsed, text: str, position: int) -> None:
            given = clean(text).replace("?", dynamic)
            parsed.attributes[name] = f"array<{width}: {given}>" if given else f"array<{width}>"

        return f"{BLANK}({_INTEGERS})", store

    def write(printed: Printed, arguments: _Arguments) -> str:
        (slot,) = arguments
        assert isinstance(slot, f.AttrSlot)
        value = printed.attributes.get(slot.attr.name) or ""
        return value.partition(": ")[2][:-1].replace(dynamic, "?")

    return Directive(read, write, piece)


_DIRECTIVES["StaticIndexI32Array"] = _index_array("i32")
_DIRECTIVES["StaticIndexI64Array"] = _index_array("i64")


# custom<For>($lowerBound, $upperBound, $step, $init, type($results), $bodyRegion):
# %i = %lower to %upper step %step init(%a = %x, ...) -> (types) { ... }


def _read_for(reader: Emitter, parsed: Parsed, arguments: _Arguments) -> None:
    lower, upper, step, init, results, region = arguments
    assert isinstance(lower, f.Operands) and isinstance(upper, f.Operands) and isinstance(step, f.Operands)
    assert isinstance(init, f.Operands) and isinstance(results, f.Types) and isinstance(region, f.RegionSlot)
    counter = reader.value("the loop's counter, as in %i = %lower to %upper")
    for word, operand in (("=", lower), ("to", upper), ("step", step)):
        reader.take(pattern_word(word), f"'{word}'")
        parsed.operands[operand.indices[0]] = [reader.value(f"a value after '{word}'").name]
    carried = _read_carried(reader)
    parsed.operands[init.indices[0]] = [value for _, value in carried]
    reader.take("->", "'->' and the types of the results")
    position = reader.position
    types = reader.types("the types of the results")
    if len(types) < len(carried):
        raise Problem(f"{len(carried)} carried values but {len(types)} result types", position)
    parsed.result_types[results.indices[0]] = types
    parsed.operand_types[init.indices[0]] = types[: len(carried)]
    bound = reader.known.get(parsed.operands[lower.indices[0]][0], "tensor<i32>")
    for operand in (lower, upper, step):
        parsed.operand_types[operand.indices[0]] = [bound]
    names = [counter, *(argument for argument, _ in carried)]
    parsed.arguments = [Argument(a.name, t, a.position) for a, t in zip(names, [bound, *types], strict=False)]
    reader.region(parsed, region.index)


def pattern_word(word: str) -> str:
    """A word or sign as an expression."""
    return rf"{word}\b" if word.isalpha() else re.escape(word)


def _read_carried(reader: Emitter) -> list[tuple[Argument, str]]:
    """`init(%a = %x, %b = %y)`, or nothing."""
    carried: list[tuple[Argument, str]] = []
    if not reader.accept(r"init\b"):
        return carried
    reader.take(r"\(", "'('")
    while not reader.accept(r"\)"):
        if carried:
            reader.take(",", "',' or ')'")
        argument = reader.value("a carried value, as in %a = %x")
        reader.take("=", "'='")
        carried.append((argument, reader.value("the value it starts with").name))
    return carried


def _write_for(printed: Printed, arguments: _Arguments) -> str:
    lower, upper, step, init, results, region = arguments
    assert isinstance(lower, f.Operands) and isinstance(upper, f.Operands) and isinstance(step, f.Operands)
    assert isinstance(init, f.Operands) and isinstance(results, f.Types) and isinstance(region, f.RegionSlot)
    bounds = [printed.operands[o.indices[0]][0] for o in (lower, upper, step)]
    counter, *carried = printed.entry_arguments(region.index)
    pairs = zip(carried, printed.operands[init.indices[0]], strict=False)
    started = ", ".join(f"{argument} = {value}" for argument, value in pairs)
    types = ", ".join(printed.result_types[results.indices[0]])
    body = printed.region(region.index, skip_entry_label=True)
    return f"{counter} = {bounds[0]} to {bounds[1]} step {bounds[2]} init({started}) -> ({types}) {body}"


_DIRECTIVES["For"] = Directive(_read_for, _write_for)


# custom<ProgramSignature>($sym_name, $function_type, $arg_attrs, $res_attrs): a function's signature whose
# arguments are those of the region that follows.


def _read_signature(reader: Emitter, parsed: Parsed, arguments: _Arguments) -> None:
    name = reader.take(SYMBOL, "the program's name, as in @main")
    parsed.attributes["sym_name"] = f'"{name[1:]}"' if name[1] != '"' else name[1:]
    reader.take(r"\(", "'('")
    inputs: list[Argument] = []
    input_attributes: list[str] = []
    while not reader.accept(r"\)"):
        if inputs:
            reader.take(",", "',' or ')'")
        value = reader.value("an argument, as in %x: memref<4xf32>")
        reader.take(":", "':' and a type")
        inputs.append(Argument(value.name, reader.type("a type"), value.position))
        input_attributes.append(_read_attributes(reader))
    outputs: list[str] = []
    output_attributes: list[str] = []
    if reader.accept("->"):
        many = reader.accept(r"\(")
        while not (many and reader.accept(r"\)")):
            if outputs:
                reader.take(",", "',' or ')'")
            outputs.append(reader.type("a type"))
            output_attributes.append(_read_attributes(reader))
            if not many:
                break
    kind = f"({', '.join(a.type for a in inputs)}) -> ({', '.join(outputs)})"
    parsed.attributes["function_type"] = kind
    for key, entries in (("arg_attrs", input_attributes), ("res_attrs", output_attributes)):
        if any(entry != "{}" for entry in entries):
            parsed.attributes[key] = f"[{', '.join(entries)}]"
    parsed.arguments = inputs


def _read_attributes(reader: Emitter) -> str:
    if not reader.sees(r"\{"):
        return "{}"
    position = reader.position
    return to_generic(clean(reader.take(BRACKETED, "attributes")), position)


def _write_signature(printed: Printed, arguments: _Arguments) -> str:
    name = printed.attributes["sym_name"] or '""'
    plain = unquote(name)
    shown = f"@{plain}" if re.fullmatch(r"[A-Za-z_][\w$.]*", plain, re.ASCII) else f"@{name}"
    inputs, outputs = printed.function_type("function_type")
    given = printed.attribute_list("arg_attrs", len(inputs))
    names = printed.entry_arguments(0)
    listed = ", ".join(f"{n}: {t}{_space(a)}" for n, t, a in zip(names, inputs, given, strict=True))
    returned = [
        f"{t}{_space(a)}"
        for t, a in zip(outputs, printed.attribute_list("res_attrs", len(outputs)), strict=True)
    ]
    arrow = (
        "" if not returned else f" -> {returned[0]}" if len(returned) == 1 else f" -> ({', '.join(returned)})"
    )
    printed.without_entry_label.add(0)
    return f"{shown}({listed}){arrow}"


def _space(attributes: str) -> str:
    return "" if attributes == "{}" else f" {attributes}"


_DIRECTIVES["ProgramSignature"] = Directive(_read_signature, _write_signature)
