"""What passes that are MLIR text have in common: patterns in PDL, and scripts of the transform dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import OptionError, PassError, SourceSpan
from ..kind_name import kind_name
from .base import PHASES, Pass
from .users import remember

if TYPE_CHECKING:
    from torch_mlir import ir
    from torch_mlir.dialects.builtin import ModuleOp

__all__ = ["ScriptPass", "ops_called"]


_MESSAGE_CHARACTERS = 300  # some of MLIR's messages print whole ops


class ScriptPass(Pass):
    """A pass that is text. `source` and `span` are where it begins ("<cell>:2"); `fired` counts, after a
    run, how often it did what it says."""

    results = frozenset({"fired"})
    kind = ""

    def __init__(self, name: str, text: str, phase: str, filename: str | None) -> None:
        if phase not in PHASES:
            raise OptionError(f"phase {phase!r} is not one of {', '.join(PHASES)}")
        if not isinstance(text, str):
            raise OptionError(f"the text of pass {name} is {kind_name(text)}")
        from ..ir.diagnostics import span_at

        self.name = name  # type: ignore[misc]
        self.phase = phase  # type: ignore[misc]
        self.text = text
        self.filename = filename or f"<{name}>"
        self.fired = 0
        first = next((n for n, line in enumerate(text.split("\n"), 1) if _is_code(line)), 1)
        self.source = f"{self.filename}:{first}"
        self.span = span_at(self.filename, first, 1, text.split("\n")[first - 1])
        self.__doc__ = f"The user's own {self.kind}, from {self.source}."
        self.check()
        remember(self)

    def check(self) -> None:
        """Raise what is wrong with the text, with its place."""
        from ..ir.context import new_context

        context = new_context()
        module = self._parsed(context)
        with context:
            self._verify(module)

    def _verify(self, module: ModuleOp) -> None:
        """Raise PassError if the text, which is valid MLIR, is no such script."""
        raise TypeError(f"{type(self).__name__} does not define _verify")

    def _parsed(self, context: ir.Context) -> ModuleOp:
        from ..ir.assembly import parse_module
        from ..ir.verifier import verify

        module = parse_module(self.text, self.filename, context)
        verify(module, self.text, self.filename)
        return module

    def _span(self, location: ir.Location) -> SourceSpan | None:
        """The place in the script's text; None for one elsewhere."""
        from ..ir.diagnostics import place_of, span_at

        place = place_of(location)
        lines = self.text.split("\n")
        if place is None or place[0] != self.filename or not 0 < place[1] <= len(lines):
            return None
        return span_at(*place, lines[place[1] - 1])

    def _failure(self, error: ir.MLIRError) -> PassError:
        """An error of MLIR's as one at the script's own line."""
        from ..ir.diagnostics import found_in

        found = found_in(error, lambda location, _: self._span(location))
        if not found:
            return PassError(f"pass {self.name} failed: {str(error).splitlines()[0]}", where=self.source)
        first = next((entry for entry in found if entry.span is not None), found[0])
        where = None if first.span else self.source
        message = first.message.splitlines()[0][:_MESSAGE_CHARACTERS].rstrip(" ->")
        return PassError(f"pass {self.name} failed: {message}", where=where, span=first.span)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name!r} from {self.source}>"

    def _repr_html_(self) -> str:
        from ..display import ir_html

        return ir_html(self.text.strip("\n"), label=f"{self.kind} {self.name}")


def ops_called(name: str, module: ModuleOp) -> list[ir.Operation]:
    """Every op of that name, in the order of the text."""
    from torch_mlir import ir

    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == name:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _is_code(line: str) -> bool:
    code = line.strip()
    return bool(code) and not code.startswith("//")
