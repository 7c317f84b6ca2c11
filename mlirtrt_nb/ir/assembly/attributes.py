"""Attributes in text: from the spelling that users write to the one that MLIR reads, and back.

MLIR knows an attribute of a dialect defined at run time by its parameters alone. So
`#tensorrt.slice_mode<kFILL>` is `#tensorrt.slice_mode<"kFILL">` to MLIR, and
`#tensorrt.shape_profile<min = [1], ...>` is `#tensorrt.shape_profile<array<i64: 1>, ...>`; a parameter that
was left out is `unit`.
"""

from __future__ import annotations

import re
from functools import cache

from ..context import definitions
from ..hints import nearest
from ..opdef import EnumDef
from .tokens import BLANK, BRACKETED, IDENT, KEY, STRING, TYPE, Unbalanced, balanced_end, skip_blank

__all__ = [
    "ELIDED_PREFIX",
    "Problem",
    "clean",
    "elided_name",
    "split_dict",
    "split_list",
    "to_custom",
    "to_generic",
    "unclosed",
]


class Problem(Exception):
    """Something wrong in the text at `position`, in characters; `length` of them are underlined."""

    def __init__(self, message: str, position: int, hint: str | None = None, length: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.hint = hint
        self.length = length


def unclosed(position: int) -> Problem:
    """The problem of a bracket that nothing closes."""
    return Problem("this bracket is never closed", position)


_COMMENT = re.compile(rf"({STRING})|//[^\n]*|\n")


def clean(text: str) -> str:
    """`text` on one line and without comments; every other character stays at its offset."""
    if "\n" not in text and "//" not in text:
        return text
    return _COMMENT.sub(lambda m: m.group(1) or " " * len(m.group()), text)


_CHUNK = rf'(?:[^,{{}}()\[\]<>"/\-=]++|->|-|[<>]=|=|{STRING}|{BRACKETED}|//[^\n]*+|/)'
_ENTRY = re.compile(rf"{BLANK}({KEY})(?:{BLANK}=(?!=){BLANK}({_CHUNK}++))?+{BLANK}(?:,|$|(?=\}}$))", re.ASCII)
_ITEM = re.compile(rf"{BLANK}({_CHUNK}++)(?:,|$)", re.ASCII)


def split_dict(text: str, position: int = 0) -> list[tuple[str, str | None, int]]:
    """The entries of a dictionary, braces included: key, value (None for unit), offset of the key.

    `position` is where `text` stands, for problems.
    """
    try:
        return _entries(text, position)
    except Unbalanced as error:
        raise unclosed(position + error.position) from None


def _entries(text: str, position: int) -> list[tuple[str, str | None, int]]:
    entries: list[tuple[str, str | None, int]] = []
    at, end = skip_blank(text, 1), len(text) - 1
    while at < end:
        match = _ENTRY.match(text, at, end)
        if match is not None:
            key, value = match.groups()
            entries.append((key, value if value is None else value.rstrip(), match.start(1)))
            at = match.end()
            at = skip_blank(text, at) if at < end else at
        else:
            entry, at = _deep_entry(text, at, end, position)
            entries.append(entry)
    return entries


_KEY_AND_SIGN = re.compile(rf"({KEY}){BLANK}=(?!=){BLANK}", re.ASCII)


def _deep_entry(text: str, at: int, end: int, position: int) -> tuple[tuple[str, str, int], int]:
    """An entry whose brackets nest too deeply for an expression; and where the next one begins."""
    match = _KEY_AND_SIGN.match(text, at, end)
    stop = _item_end(text, match.end(), end) if match else at
    if match is None or stop == match.end():
        raise Problem("expected an attribute: name, or name = value", position + at)
    return (match.group(1), text[match.end() : stop].rstrip(), at), skip_blank(text, stop + 1)


def split_list(text: str) -> list[str]:
    """What stands between the commas of `text`, brackets and strings left whole."""
    found: list[str] = []
    at = 0
    while at < len(text):
        match = _ITEM.match(text, at)
        stop = match.end(1) if match else max(_item_end(text, at, len(text)), at)
        found.append(text[at:stop].strip())
        at = match.end() if match else stop + 1
    return found


_PART = re.compile(rf'[^,<>(){{}}\[\]"=-]+|->|-|[<>]=|=|{STRING}')


def _item_end(text: str, at: int, end: int) -> int:
    """The offset of the comma that ends an item, or of the end."""
    while at < end and text[at] != ",":
        part = _PART.match(text, at, end)
        if part is not None:
            at = part.end()
        elif text[at] in "<([{":
            at = balanced_end(text, at)
        else:
            raise Unbalanced(at)
    return at


@cache
def _dialect_attribute() -> re.Pattern[str]:
    names = "|".join(definitions())
    return re.compile(rf"#({names})\.({IDENT})(?:{BLANK}({BRACKETED}))?+|{STRING}", re.ASCII)


ELIDED_PREFIX = "__elided__"
# A weight that a printer left out, with its type, without which it could not be told from another.
ELIDED = re.compile(rf"dense_resource<__elided__>{BLANK}:{BLANK}({TYPE})", re.ASCII)


def elided_name(kind: str) -> str:
    """The handle of zeros of a type."""
    return f"{ELIDED_PREFIX}{kind}"


def to_generic(text: str, position: int = 0) -> str:
    """`text` with the package's own attributes as MLIR reads them. `position` is where it stands."""
    if "__elided__" in text:
        text = ELIDED.sub(lambda m: f'dense_resource<"{elided_name(m.group(1))}"> : {m.group(1)}', text)
    if "#" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        dialect, mnemonic, body = match.groups()
        return match.group() if dialect is None else _generic(dialect, mnemonic, body, position + match.start())

    return _dialect_attribute().sub(replace, text)


def _generic(dialect: str, mnemonic: str, body: str | None, position: int) -> str:
    try:
        return _converted(dialect, mnemonic, clean(body[1:-1]).strip() if body else "", position)
    except Unbalanced:
        raise unclosed(position) from None


def _converted(dialect: str, mnemonic: str, inside: str, position: int) -> str:
    definition = definitions()[dialect]
    name = f"{dialect}.{mnemonic}"
    if mnemonic in definition.enums:
        return f'#{name}<"{enum_value(name, definition.enums[mnemonic], inside, position)}">'
    if mnemonic not in definition.params:
        hint = nearest(mnemonic, [*definition.enums, *definition.params])
        raise Problem(f"unknown attribute #{name}", position, hint, len(name) + 1)
    values = _bounds(inside) if mnemonic == "bounds" else _parameters(definition.params[mnemonic], inside)
    if values is None:
        form = ", ".join(f"{p} = ..." for p in definition.params[mnemonic])
        raise Problem(f"#{name} is not of the form <{form}>", position, length=len(name) + 1)
    return f"#{name}<{', '.join(to_generic(value, position) for value in values)}>"


def enum_value(name: str, enum: EnumDef, text: str, position: int) -> str:
    """The value in `text`, checked against the enum. Raises Problem with the nearest ones."""
    value = text.strip('"')
    if value not in enum.values:
        raise Problem(
            f"{name} has no value {value or 'here'}", position, nearest(value, enum.values), len(value) or 1
        )
    return value


_NAMED = re.compile(rf"({IDENT})\s*=\s*(.*)", re.DOTALL | re.ASCII)
_INTEGERS = re.compile(r"\[\s*(-?\d+(?:\s*,\s*-?\d+)*)?\s*\]")


def _value(text: str) -> str:
    """A list of plain integers is an array<i64>."""
    match = _INTEGERS.fullmatch(text)
    if match is None:
        return text
    return f"array<i64: {match.group(1)}>" if match.group(1) else "array<i64>"


def _parameters(names: tuple[str, ...], inside: str) -> list[str] | None:
    """One value per name, `unit` where none is given; None if the text names others or gives too many."""
    items = split_list(inside)
    named = [_NAMED.fullmatch(item) for item in items]
    if not any(named):
        values = [_value(item) for item in items]
        return values if len(values) == len(names) else None
    given = {m.group(1): _value(m.group(2).strip()) for m in named if m}
    if len(given) != len(items) or not given.keys() <= set(names):
        return None
    return [given.get(name, "unit") for name in names]


_BOUND_KINDS = ("none", "shape", "value")


def _bounds(inside: str) -> list[str] | None:
    """`none`, `shape, [min], [max]` or `value, dense, dense`."""
    kind, *limits = split_list(inside) or [""]
    kind = kind.strip('"')
    if kind not in _BOUND_KINDS or len(limits) != (0 if kind == "none" else 2):
        # MLIR's own form of `none` has both limits as unit.
        return [f'"{kind}"', *limits] if kind == "none" and limits == ["unit", "unit"] else None
    return [f'"{kind}"', *([_value(limit) for limit in limits] or ["unit", "unit"])]


def to_custom(text: str) -> str:
    """`text` as MLIR prints it, with the package's own attributes as users write them."""
    if "#" not in text:
        return text
    return _dialect_attribute().sub(_replace_generic, text)


def _replace_generic(match: re.Match[str]) -> str:
    dialect, mnemonic, body = match.groups()
    if dialect is None or body is None:
        return match.group()
    definition = definitions()[dialect]
    values = [_plain(to_custom(value)) for value in split_list(body[1:-1])]
    if mnemonic == "bounds":
        shown = [values[0].strip('"'), *(v for v in values[1:] if v != "unit")]
    elif mnemonic in definition.enums:
        shown = [values[0].strip('"')]
    elif mnemonic in definition.params:
        pairs = zip(definition.params[mnemonic], values, strict=False)
        shown = [f"{name} = {value}" for name, value in pairs if value != "unit"]
    else:
        return match.group()
    return f"#{dialect}.{mnemonic}<{', '.join(shown)}>"


_ARRAY = re.compile(r"array<i64(?:: ([^<>]*))?>")
_I64 = re.compile(r"(-?\d+) : i64")


def _plain(text: str) -> str:
    """An array<i64> as a list, an i64 without its type."""
    match = _ARRAY.fullmatch(text)
    if match is not None:
        return f"[{match.group(1) or ''}]"
    match = _I64.fullmatch(text)
    return match.group(1) if match else text
