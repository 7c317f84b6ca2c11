"""Reading the package's own ops in MLIR's generic form, as this package or MLIR-TensorRT prints it.

The two differ in what stands for variadic operands: MLIR-TensorRT counts per operand, this package per slot.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..irdl import slots
from ..opdef import VARIADIC_SLOTS, OpDef
from .attributes import Problem
from .parsed import Parsed
from .slots import SEGMENTS
from .tokens import BLANK, values_of

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["read_generic"]

_SIZES = re.compile(rf"\b{SEGMENTS[0]}\s*=\s*array<i32(?::([^>]*))?>")
_SIZES_ALIAS = re.compile(rf"\b{SEGMENTS[0]}\s*=\s*(#[\w$]+)")


def read_generic(reader: Emitter, parsed: Parsed) -> None:
    """Read what follows the quoted name."""
    text, start = reader.bracketed("(", "'(' and the operands")
    values = values_of(text[1:-1].strip()) if "%" in text else []
    parsed.flat, parsed.generic = values, True
    if reader.sees(r"\["):
        parsed.successors = reader.bracketed("[", "successors")[0]
    given = _properties(reader, parsed) if reader.accept(r"<(?=\{)") else ""
    if reader.accept(r"\((?=" + BLANK + r"\{)"):
        _regions(reader, parsed)
    if reader.sees(r"\{"):
        given += _attributes(reader, parsed)
    reader.take(":", "':' and the op's type")
    operands, results = _types(reader)
    _group(reader, parsed, values, given, start)
    if len(operands) != len(values):
        raise Problem(f"{len(values)} operands but {len(operands)} types", start)
    parsed.flat = None
    if parsed.syntax.op.operands:
        parsed.set_operand_types(tuple(range(len(parsed.operands))), operands, start)
        if len(parsed.operands) == 1:
            parsed.operand_types[0] = operands
    if parsed.syntax.op.results:
        parsed.set_result_types(tuple(range(len(parsed.result_types))), results, start)


def _properties(reader: Emitter, parsed: Parsed) -> str:
    text = _attributes(reader, parsed)
    reader.take(">", "'>' after the properties")
    return text


def _attributes(reader: Emitter, parsed: Parsed) -> str:
    text, start = reader.bracketed("{", "attributes")
    parsed.attributes.update(reader.meanings.dictionary(parsed.syntax, text, start))
    return text


def _regions(reader: Emitter, parsed: Parsed) -> None:
    index = 0
    while True:
        if index >= len(parsed.syntax.op.regions):
            raise Problem(f"{parsed.syntax.shown} has {len(parsed.syntax.op.regions)} regions", reader.position)
        reader.region(parsed, index)
        index += 1
        if not reader.accept(","):
            break
    reader.take(r"\)", "')' after the regions")


def _types(reader: Emitter) -> tuple[list[str], list[str]]:
    inputs, start = reader.bracketed("(", "'(' and the types of the operands")
    operands = reader.meanings.types(inputs[1:-1].strip(), start)
    reader.take("->", "'->' and the types of the results")
    return operands, reader.types("the types of the results")


def _group(reader: Emitter, parsed: Parsed, values: list[str], given: str, position: int) -> None:
    """Spread the operands, by the segment sizes where there are any."""
    sizes = _sizes(reader, given)
    op = parsed.syntax.op
    if sizes is None:
        parsed.set_operands(values, position)
        return
    counts = _counts(op, sizes)
    if counts is None or sum(counts) != len(values):
        raise Problem(
            f"{SEGMENTS[0]} does not fit the {len(values)} operands of {parsed.syntax.shown}", position
        )
    at = 0
    for n, count in enumerate(counts):
        parsed.operands[n] = values[at : at + count]
        at += count


def _sizes(reader: Emitter, given: str) -> list[int] | None:
    if SEGMENTS[0] not in given:
        return None
    alias = _SIZES_ALIAS.search(given)
    if alias is not None:
        given = f"{SEGMENTS[0]} = {reader.meanings.aliases.get(alias.group(1), '')}"
    match = _SIZES.search(given)
    if match is None:
        return None
    return [int(number) for number in re.findall(r"\d+", match.group(1) or "")]


def _counts(op: OpDef, sizes: list[int]) -> list[int] | None:
    """Values per operand: the sizes themselves, or sums over a variadic's slots; None if they do not fit."""
    if len(sizes) == len(op.operands):
        return sizes
    if len(sizes) != len(slots(op.operands)):
        return None
    counts = []
    at = 0
    for entry in op.operands:
        width = VARIADIC_SLOTS if entry.variadic else 1
        counts.append(sum(sizes[at : at + width]))
        at += width
    return counts
