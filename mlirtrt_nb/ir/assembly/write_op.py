"""Writers of custom assembly, compiled once per op from its format. Spacing follows MLIR's own rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..opdef import OpDef
from . import formats as f
from .attributes import to_custom
from .directives import directive
from .printed import Printed
from .slots import SEGMENTS, default_text, slot_to_text

__all__ = ["compile_writer"]

Part = Callable[[Printed], str]


def compile_writer(op: OpDef) -> Part:
    """What stands after the op's name, with the blank before it."""
    elements = f.elements_of(op)
    return _Compiler(op, frozenset(f.slots_of(elements))).sequence(elements)


class _Compiler:
    """Turns elements into functions, keeping track of where blanks belong."""

    def __init__(self, op: OpDef, slots: frozenset[str]) -> None:
        self.op = op
        self.hidden = slots | set(SEGMENTS)
        self.space = True
        self.after_punctuation = False

    def sequence(self, elements: Sequence[f.Element]) -> Part:
        parts = [part for element in elements if (part := self._element(element)) is not None]
        if len(parts) == 1:
            return parts[0]
        return lambda printed: "".join([part(printed) for part in parts])

    def _element(self, element: f.Element) -> Part | None:
        match element:
            case f.Space(text):
                return self._space(text)
            case f.Literal(text):
                literal = self._literal(text)
                return lambda printed: literal
            case f.Group():
                return self._group(element)
            case f.AttrDict(keyword):
                self.after_punctuation = False
                return self._attr_dict(keyword)
            case f.AttrSlot(attr) if attr.kind == "unit":
                return None
        blank = " " if self.space or not self.after_punctuation else ""
        self.space, self.after_punctuation = True, False
        return self._variable(element, blank)

    def _space(self, text: str) -> Part | None:
        self.space, self.after_punctuation = False, text == ""
        if not text:
            return None
        shown = "\n" if text == "\\n" else " "
        return lambda printed: shown

    def _literal(self, text: str) -> str:
        before = " " if self.space and self._wants_space(text) else ""
        self.space = len(text) != 1 or text not in "<({["
        self.after_punctuation = not (text[0] == "_" or text[0].isalpha())
        return before + text

    def _wants_space(self, text: str) -> bool:
        if len(text) != 1 and text != "->":
            return True
        return text[0] not in (">)}]," if self.after_punctuation else "<>(){}[],")

    def _group(self, group: f.Group) -> Part:
        present = _present(group.anchor)
        before = (self.space, self.after_punctuation)
        then = self.sequence(group.elements)
        after = (self.space, self.after_punctuation)
        self.space, self.after_punctuation = before
        otherwise = self.sequence(group.otherwise)
        self.space, self.after_punctuation = after
        return lambda printed: then(printed) if present(printed) else otherwise(printed)

    def _attr_dict(self, keyword: bool) -> Part:
        word = " attributes {" if keyword else " {"
        hidden = self.hidden

        def write(printed: Printed) -> str:
            items = [
                key if value is None else f"{key} = {value}"
                for key, value in printed.attributes.items()
                if key not in hidden
            ]
            return f"{word}{', '.join(items)}}}" if items else ""

        return write

    def _variable(self, element: f.Element, blank: str) -> Part:
        match element:
            case f.Operands(indices):
                return _operands(indices, blank)
            case f.Types():
                types = _types(element)
                return lambda printed: blank + ", ".join(types(printed))
            case f.FunctionalType(inputs, outputs):
                return _functional(_types(inputs), _types(outputs), blank)
            case f.AttrSlot(attr):
                name = attr.name
                default = to_custom(default_text(self.op.dialect, attr) or "")
                return lambda printed: blank + slot_to_text(attr, printed.attributes.get(name) or default)
            case f.RegionSlot(index):
                return lambda printed: blank + printed.region(index)
            case f.Custom(name, arguments):
                write = directive(name).write
                return lambda printed: blank + write(printed, arguments)
        raise TypeError(f"{self.op.name}: {element}")


def _operands(indices: tuple[int, ...], blank: str) -> Part:
    if len(indices) == 1:
        (index,) = indices
        return lambda printed: blank + ", ".join(printed.operands[index])
    return lambda printed: blank + ", ".join([v for index in indices for v in printed.operands[index]])


def _types(types: f.Types) -> Callable[[Printed], list[str]]:
    indices = types.indices
    if types.of_results:
        return lambda printed: [kind for n in indices for kind in printed.result_types[n]]
    return lambda printed: [kind for n in indices for kind in printed.operand_types[n]]


def _functional(
    inputs: Callable[[Printed], list[str]], outputs: Callable[[Printed], list[str]], blank: str
) -> Part:
    def write(printed: Printed) -> str:
        results = outputs(printed)
        returned = results[0] if len(results) == 1 and results[0][0] != "(" else f"({', '.join(results)})"
        return f"{blank}({', '.join(inputs(printed))}) -> {returned}"

    return write


def _present(anchor: f.Element) -> Callable[[Printed], bool]:
    """Whether an optional group is written."""
    match anchor:
        case f.Operands((index,)):
            return lambda printed: bool(printed.operands[index])
        case f.Operands(indices):
            return lambda printed: any(printed.operands[n] for n in indices)
        case f.Types():
            types = _types(anchor)
            return lambda printed: bool(types(printed))
        case f.AttrSlot(attr):
            return lambda printed: attr.name in printed.attributes
        case f.RegionSlot(index):
            return lambda printed: bool(printed.regions[index])
        case f.Custom(_, arguments):
            names = f.slots_of(arguments)
            return lambda printed: any(name in printed.attributes for name in names)
    return lambda printed: True
