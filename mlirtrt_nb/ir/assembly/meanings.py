"""What pieces of one text mean. Each is worked out once, however often it stands there."""

from __future__ import annotations

import re
from typing import Any

from torch_mlir import ir

from ...errors import MlirTrtError
from ..builder import Op
from ..opdef import VARIADIC_SLOTS, OpDef
from .attributes import Problem, clean, to_generic, unclosed
from .parsed import Parsed
from .slots import normalise
from .syntax import Syntax
from .tokens import IDENT, STRING, Unbalanced, types_of

__all__ = ["Meanings"]

_CONTENTS = re.compile(rf"\b(?:dense|dense_resource)<(?:{STRING}|[^<>\"]*)>")
_ALIAS = re.compile(rf"([!#])({IDENT})", re.ASCII)


class _Typed:
    """Stands for a value of which only the type is known."""

    __slots__ = ("type",)

    def __init__(self, kind: ir.Type) -> None:
        self.type = kind


class _Attributes:
    """An op's attributes, each parsed by MLIR when it is asked for."""

    def __init__(self, meanings: Meanings, parsed: Parsed) -> None:
        self._meanings = meanings
        self._parsed = parsed

    def __contains__(self, name: str) -> bool:
        return name in self._parsed.attributes

    def __getitem__(self, name: str) -> ir.Attribute:
        text = self._parsed.attributes[name]
        if text is None:
            return ir.UnitAttr.get()
        try:
            return self._meanings.attribute(text)
        except (ir.MLIRError, ValueError) as error:
            reason = _first_line(error, "MLIR cannot read it")
            shown, length = self._parsed.syntax.shown, len(self._parsed.syntax.shown)
            raise Problem(f"{shown}: {name} is wrong: {reason}", self._parsed.position, length=length) from None


class Meanings:
    """Types, dictionaries, inferred types and segment sizes of one text.

    Attributes:
        aliases: `#name` or `!name` -> what it stands for, in MLIR's form.
        segments: long segment sizes -> the alias that stands for them.
    """

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.segments: dict[str, str] = {}
        self._types: dict[str, list[str]] = {"": []}
        self._attributes: dict[str, ir.Attribute] = {}
        self._mlir_types: dict[str, ir.Type] = {}
        self._dictionaries: dict[tuple[str, str], dict[str, str | None]] = {}
        self._inferred: dict[tuple[str, str, str], list[str]] = {}
        self._sizes: dict[tuple[str, bool, tuple[int, ...]], str] = {}

    def types(self, text: str, position: int) -> list[str]:
        """A list of types in MLIR's form."""
        found = self._types.get(text)
        if found is None:
            try:
                found = self._types[text] = types_of(to_generic(clean(text).strip(), position))
            except Unbalanced as error:
                raise unclosed(position + error.position) from None
        return found

    def dictionary(self, syntax: Syntax, text: str, position: int) -> dict[str, str | None]:
        """An attribute dictionary in MLIR's form."""
        key = (syntax.name, text)
        found = self._dictionaries.get(key)
        if found is None:
            found = self._dictionaries[key] = normalise(
                syntax.op, syntax.attrs, syntax.defaults, text, position
            )
        return found

    def expand(self, text: str) -> str:
        """`text` with the aliases it names written out."""
        if not self.aliases or ("#" not in text and "!" not in text):
            return text
        return _ALIAS.sub(lambda m: self.aliases.get(m.group(), m.group()), text)

    def type(self, text: str, position: int) -> ir.Type:
        """The type that MLIR makes of `text`. Raises Problem if it is none."""
        found = self._mlir_types.get(text)
        if found is None:
            try:
                found = ir.Type.parse(self.expand(text))
            except (ir.MLIRError, ValueError) as error:
                raise Problem(_first_line(error, f"{text} is not a type"), position) from None
            self._mlir_types[text] = found
        return found

    def attribute(self, text: str) -> ir.Attribute:
        """The attribute that MLIR makes of `text`; of a constant, one that has its type but not its contents.

        Contents can be large, and no type depends on them; reading a weight's handle would make it known to
        MLIR before the module is, which would then get another name for it.
        """
        text = _CONTENTS.sub("dense_resource<typed>", text)
        found = self._attributes.get(text)
        if found is None:
            found = self._attributes[text] = ir.Attribute.parse(self.expand(text))
        return found

    def infer(self, parsed: Parsed, attributes: str) -> list[str]:
        """The result types that the op's definition infers. `attributes` is the text that stands for them."""
        types = ", ".join([t for group in parsed.operand_types for t in (group or ("-",))])
        key = (parsed.syntax.name, types, attributes)
        found = self._inferred.get(key)
        if found is None:
            found = self._inferred[key] = self._infer(parsed)
        return found

    def _infer(self, parsed: Parsed) -> list[str]:
        op, shown = parsed.syntax.op, parsed.syntax.shown
        groups: list[list[Any]] = [
            [_Typed(self.type(kind, parsed.position)) for kind in types or ()] for types in parsed.operand_types
        ]
        try:
            inferred = op.infer(Op(op, groups, _Attributes(self, parsed))) if op.infer else None
        except Problem:
            raise
        except MlirTrtError as error:
            raise Problem(error.what, parsed.position, error.hint, len(shown)) from None
        except Exception as error:  # a rule may trip in any way over operands that it does not expect
            message = f"the result type of {shown} cannot be inferred from its operands and attributes"
            raise Problem(message, parsed.position, _first_line(error, ""), len(shown)) from None
        if inferred is None:
            raise Problem(f"the result type of {shown} cannot be inferred", parsed.position, length=len(shown))
        return [str(kind) for kind in inferred]

    def sizes(self, op: OpDef, counts: tuple[int, ...], position: int, *, of_results: bool) -> str:
        """Segment sizes in MLIR's form for `counts` values per operand (or result)."""
        key = (op.name, of_results, counts)
        found = self._sizes.get(key)
        if found is None:
            found = self._sizes[key] = self._new_sizes(
                op.results if of_results else op.operands, counts, position
            )
        return found

    def _new_sizes(self, entries: tuple, counts: tuple[int, ...], position: int) -> str:
        """Long ones become an alias, since MLIR takes far longer to read them in full each time."""
        sizes: list[str] = []
        for entry, count in zip(entries, counts, strict=True):
            if not entry.variadic:
                sizes.append(str(count))
            elif count > VARIADIC_SLOTS:
                raise Problem(f"{entry.name}: {count} values; at most {VARIADIC_SLOTS} fit", position)
            else:
                sizes += ["1"] * count + ["0"] * (VARIADIC_SLOTS - count)
        text = f"array<i32: {', '.join(sizes)}>"
        if len(sizes) < VARIADIC_SLOTS:
            return text
        return self.segments.setdefault(text, f"#mlirtrt_segments_{len(self.segments)}")


def _first_line(error: Exception, otherwise: str) -> str:
    diagnostics = getattr(error, "error_diagnostics", None)
    if diagnostics:
        return str(diagnostics[0].message)
    return (str(error).splitlines() or [""])[0] or otherwise
