"""An op as MLIR printed it, taken apart so that a format can be filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ..opdef import VARIADIC_SLOTS, OpDef
from .attributes import split_dict, split_list, to_custom
from .slots import SEGMENTS
from .tokens import KEY, STRING, balanced_end, types_of

__all__ = ["Printed", "attributes_of", "split_function_type"]

_LABEL = re.compile(r"\s*\^[\w$.-]+\((.*)\):(?:\s*//.*)?$")
_ARGUMENT = re.compile(r"(%[-\w$.]+): ")
_NUMBERS = re.compile(r"\d+")


class Printed:
    """One op's parts as text, with the package's spelling of attributes.

    Attributes:
        operands, operand_types: for each operand of the definition, its values and their types.
        result_types: for each result of the definition, its types.
        attributes: name -> value (None for unit), without defaults.
        regions: the lines of each region, without its braces.
        indent: the blanks before the op.
        without_entry_label: indices of regions whose first label the syntax implies.
    """

    def __init__(
        self,
        op: OpDef,
        values: list[str],
        attributes: dict[str, str | None],
        types: tuple[list[str], list[str]],
        regions: list[list[str]],
        indent: str,
    ) -> None:
        self.indent = indent
        self.regions = regions
        self.without_entry_label: set[int] = set()
        counts = _counts(op, attributes.get(SEGMENTS[0]))
        self.operands = _spread(values, counts)
        self.operand_types = _spread(types[0], counts)
        self.result_types = _spread(types[1], _result_counts(op, len(types[1])))
        self.attributes = attributes

    def entry_arguments(self, region: int) -> list[str]:
        """The values that a region's first block takes."""
        lines = self.regions[region]
        match = _LABEL.match(lines[0]) if lines else None
        return _ARGUMENT.findall(match.group(1)) if match else []

    def region(self, index: int, *, skip_entry_label: bool = False) -> str:
        """A region in braces; its lines keep their indentation."""
        lines = self.regions[index]
        skip = skip_entry_label or index in self.without_entry_label
        if lines and (skip or lines[0].strip() == "^bb0:") and lines[0].lstrip().startswith("^"):
            lines = lines[1:]
        return "\n".join(["{", *lines, f"{self.indent}}}"])

    def function_type(self, name: str) -> tuple[list[str], list[str]]:
        """Inputs and outputs of an attribute that is a function type."""
        return split_function_type(self.attributes.get(name) or "() -> ()")

    def attribute_list(self, name: str, count: int) -> list[str]:
        """The entries of an array attribute; `count` times `{}` where it is absent."""
        text = self.attributes.get(name)
        return split_list(text[1:-1]) if text else ["{}"] * count


def split_function_type(text: str) -> tuple[list[str], list[str]]:
    """The types before and after the arrow."""
    end = balanced_end(text, 0)
    results = text[end:].partition("->")[2].strip()
    if results.startswith("(") and balanced_end(results, 0) == len(results):
        results = results[1:-1]
    inputs = text[1 : end - 1]
    return (types_of(inputs) if inputs else []), (types_of(results) if results else [])


def _counts(op: OpDef, sizes: str | None) -> tuple[int, ...]:
    """How many values each operand has."""
    if sizes is None:
        return (1,) * len(op.operands)
    return _summed(sizes, tuple([entry.variadic for entry in op.operands]))


@lru_cache(maxsize=1024)
def _summed(sizes: str, variadic: tuple[bool, ...]) -> tuple[int, ...]:
    numbers = [int(n) for n in _NUMBERS.findall(sizes.partition(":")[2])]
    counts: list[int] = []
    at = 0
    for many in variadic:
        width = VARIADIC_SLOTS if many else 1
        counts.append(sum(numbers[at : at + width]))
        at += width
    return tuple(counts)


def _result_counts(op: OpDef, total: int) -> list[int]:
    fixed = sum([not entry.variadic for entry in op.results])
    return [total - fixed if entry.variadic else 1 for entry in op.results]


def _spread(flat: list[str], counts: Sequence[int]) -> list[list[str]]:
    groups = []
    at = 0
    for count in counts:
        groups.append(flat[at : at + count])
        at += count
    return groups


# An entry as MLIR prints it, where its brackets do not nest; others are split with more care.
_PLAIN = re.compile(
    rf'({KEY})(?: = ((?:[^,<>(){{}}\[\]"]|<[^<>"(){{}}]*+>|\[[^\[\]<>"(){{}}]*+\]|{STRING})++))?+(?:, |$)',
    re.ASCII,
)


def attributes_of(text: str, defaults: Mapping[str, str]) -> dict[str, str | None]:
    """The entries of a dictionary (without braces) that are shown: the package's spelling, no `defaults`."""
    shown: dict[str, str | None] = {}
    at = 0
    while at < len(text):
        match = _PLAIN.match(text, at)
        if match is None:
            return _attributes_with_care(text, defaults)
        name, value = match.groups()
        if value is None or value != defaults.get(name):
            shown[name] = to_custom(value) if value is not None and "#" in value else value
        at = match.end()
    return shown


def _attributes_with_care(text: str, defaults: Mapping[str, str]) -> dict[str, str | None]:
    return {
        name: value if value is None else to_custom(value)
        for name, value, _ in split_dict(f"{{{text}}}")
        if value is None or value != defaults.get(name)
    }
