"""Reading pieces of syntax at a position in the user's text, with what is known about types and aliases."""

from __future__ import annotations

import re
from typing import Any

from torch_mlir import ir

from ...errors import MlirTrtError
from ..builder import Op
from ..opdef import Attr, OpDef
from .attributes import Problem, clean, to_generic
from .parsed import Argument, Parsed
from .slots import default_text, normalise
from .tokens import (
    IDENT,
    VALUE,
    balanced_end,
    deep_end,
    deep_list_end,
    pattern,
    skip_blank,
    types_of,
)

__all__ = ["Reader"]


class _Typed:
    """Stands for a value of which only the type is known."""

    __slots__ = ("type",)

    def __init__(self, kind: ir.Type) -> None:
        self.type = kind


class _Attributes:
    """An op's attributes, each parsed by MLIR when it is asked for."""

    def __init__(self, reader: Reader, texts: dict[str, str | None]) -> None:
        self._reader = reader
        self._texts = texts

    def __contains__(self, name: str) -> bool:
        return name in self._texts

    def __getitem__(self, name: str) -> ir.Attribute:
        text = self._texts[name]
        return ir.UnitAttr.get() if text is None else self._reader.mlir_attribute(text)


_HANDLE = re.compile(r'dense_resource<(?:"(?:[^"\\]|\\.)*"|[^>"]*)>')
_ALIAS = re.compile(rf"([!#])({IDENT})", re.ASCII)


class Reader:
    """A position in a text, and methods that take a piece of syntax there or raise `Problem`.

    Attributes:
        text, position: the text and where reading stands.
        known: the types of the values seen so far, for ops whose syntax leaves types out.
        aliases: `#name` or `!name` -> what it stands for, in MLIR's form.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.known: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self._types: dict[str, list[str]] = {"": []}
        self._mlir_types: dict[str, ir.Type] = {}
        self._dictionaries: dict[tuple[str, str], dict[str, str | None]] = {}
        self._inferred: dict[tuple[str, str, str], list[str]] = {}

    # Pieces of syntax.

    def take(self, source: str, expected: str) -> str:
        """The text that the expression matches after blanks."""
        match = pattern(source).match(self.text, self.position)
        if match is None:
            raise Problem(f"expected {expected}", skip_blank(self.text, self.position))
        self.position = match.end()
        return match.group(1)

    def accept(self, source: str) -> bool:
        """Take what the expression matches, if it does."""
        match = pattern(source).match(self.text, self.position)
        if match is None:
            return False
        self.position = match.end()
        return True

    def sees(self, source: str) -> bool:
        """Whether the expression matches next."""
        return pattern(source).match(self.text, self.position) is not None

    def value(self, expected: str) -> Argument:
        """A value's name; its type is left empty."""
        name = self.take(VALUE, expected)
        return Argument(name, "", self.position - len(name))

    def type(self, expected: str) -> str:
        """A type, in MLIR's form."""
        start = skip_blank(self.text, self.position)
        end = deep_end(self.text, start, typed=False)
        if end == start:
            raise Problem(f"expected {expected}", start)
        self.position = end
        return to_generic(clean(self.text[start:end]), start)

    def take_types(self, expected: str) -> str:
        """A list of types, with or without parentheses around it."""
        start = skip_blank(self.text, self.position)
        if self.text[start : start + 1] == "(":
            end = balanced_end(self.text, start)
            self.position = end
            return self.text[start + 1 : end - 1].strip()
        end = deep_list_end(self.text, start)
        if end == start:
            raise Problem(f"expected {expected}", start)
        self.position = end
        return self.text[start:end]

    def bracketed(self, opening: str, expected: str) -> tuple[str, int]:
        """A bracketed run with its brackets, and where it begins."""
        start = skip_blank(self.text, self.position)
        if not self.text.startswith(opening, start):
            raise Problem(f"expected {expected}", start)
        self.position = balanced_end(self.text, start)
        return self.text[start : self.position], start

    # What texts mean; each is worked out once.

    def types(self, text: str, position: int) -> list[str]:
        """A list of types in MLIR's form."""
        found = self._types.get(text)
        if found is None:
            found = types_of(to_generic(clean(text).strip(), position))
            self._types[text] = found
        return found

    def dictionary(self, op: OpDef, text: str, position: int) -> dict[str, str | None]:
        """An attribute dictionary of `op` in MLIR's form."""
        found = self._dictionaries.get((op.name, text))
        if found is None:
            found = normalise(op, text, position)
            self._dictionaries[op.name, text] = found
        return found

    @staticmethod
    def default(op: OpDef, attr: Attr) -> str | None:
        """The default of an attribute as MLIR prints it."""
        return default_text(op.dialect, attr)

    def expand(self, text: str) -> str:
        """`text` with the aliases it names written out."""
        if not self.aliases or ("#" not in text and "!" not in text):
            return text
        return _ALIAS.sub(lambda m: self.aliases.get(m.group(), m.group()), text)

    def mlir_type(self, text: str, position: int = 0) -> ir.Type:
        """The type that MLIR makes of `text`. Raises Problem if it is none."""
        found = self._mlir_types.get(text)
        if found is None:
            try:
                found = ir.Type.parse(self.expand(text))
            except (ir.MLIRError, ValueError) as error:
                raise Problem(_first_line(error, f"{text} is not a type"), position) from None
            self._mlir_types[text] = found
        return found

    def mlir_attribute(self, text: str) -> ir.Attribute:
        """The attribute that MLIR makes of `text`; of a weight, one that has its type."""
        # Each parse makes the handles it reads its own, so that the module's would get another name.
        return ir.Attribute.parse(_HANDLE.sub("dense_resource<typed>", self.expand(text)))

    def infer(self, parsed: Parsed, attributes: str) -> list[str]:
        """The result types that the op's definition infers. `attributes` is the text that stands for them."""
        op = parsed.definition
        types = ", ".join(t for group in parsed.operand_types for t in (group or ["-"]))
        key = (op.name, types, attributes)
        found = self._inferred.get(key)
        if found is None:
            found = self._inferred[key] = self._infer(parsed)
        return found

    def _infer(self, parsed: Parsed) -> list[str]:
        op = parsed.definition
        groups: list[list[Any]] = [
            [_Typed(self.mlir_type(kind, parsed.position)) for kind in group or ()]
            for group in parsed.operand_types
        ]
        view = Op(op, groups, _Attributes(self, parsed.attributes))
        try:
            inferred = op.infer(view) if op.infer is not None else None
        except MlirTrtError as error:
            raise Problem(error.what, parsed.position, error.hint, len(parsed.shown)) from None
        except (
            Exception
        ) as error:  # an inference rule may trip in any way over operands that break its op's rules
            raise Problem(
                f"the result type of {parsed.shown} cannot be inferred from its operands and attributes",
                parsed.position,
                _first_line(error, ""),
                len(parsed.shown),
            ) from None
        if inferred is None:
            raise Problem(
                f"the result type of {parsed.shown} cannot be inferred",
                parsed.position,
                length=len(parsed.shown),
            )
        return [str(kind) for kind in inferred]


def _first_line(error: Exception, otherwise: str) -> str:
    diagnostics = getattr(error, "error_diagnostics", None)
    if diagnostics:
        return str(diagnostics[0].message)
    return (str(error).splitlines() or [""])[0] or otherwise
