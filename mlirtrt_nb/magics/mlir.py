"""`%%mlir`: parse, verify and show the MLIR in a cell."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand

from ..program import Program
from .arguments import Parser, documented
from .namespace import Scope, check_name

__all__ = ["MlirMagics"]

_parser = Parser("%%mlir", "Parse and verify the MLIR in the cell, show it, and return it as a Program.")
_parser.add_argument("name", nargs="?", metavar="NAME", help="variable to store the Program in")
_parser.add_argument("--passes", metavar="P", help="a pipeline to run on it, as text: canonicalize,cse")
_parser.add_argument("--generic", action="store_true", help="show MLIR's generic form")
_parser.add_argument("--quiet", action="store_true", help="store it and show nothing; needs NAME")


@magics_class
class MlirMagics(Magics):
    """Magics that take MLIR text."""

    @no_var_expand  # MLIR is full of braces and dollar signs
    @cell_magic
    @documented(_parser)
    def mlir(self, line: str, cell: str) -> Any:
        arguments = _parser.parse(line)
        if arguments is None:
            return None
        check_name(arguments.name)
        if arguments.quiet and not arguments.name:
            _parser.error("--quiet needs a NAME")
        program = program_of_cell(cell, arguments.name)
        if arguments.passes is not None:
            program = _run_passes(arguments.passes, program)
        Scope(self.shell).store(arguments.name, program)
        if arguments.quiet:
            return None
        return _GenericProgram(program) if arguments.generic else program


def program_of_cell(cell: str, name: str | None = None) -> Program:
    """The Program in a cell's text, verified. Errors count lines as the notebook does, from the magic's."""
    from ..frontends.text import from_mlir

    if not cell.strip():
        raise UsageError("%%mlir: the cell is empty; write a module or func.func below the first line")
    program = from_mlir("\n" + cell, filename="<cell>")
    program.verify()
    program.name = name or "cell"
    return program


def _run_passes(text: str, program: Program) -> Program:
    from ..passes.pipeline import Pipeline

    name = program.name
    changed = Pipeline.parse(text).run(program).program
    changed.name = name
    return changed


class _GenericProgram(Program):
    """A Program that shows itself in MLIR's generic form."""

    def __init__(self, program: Program) -> None:
        super().__init__(
            program.module,
            program.weights,
            name=program.name,
            source=program.source,
            text_source=program.text_source,
        )

    def __repr__(self) -> str:
        return self.text(custom=False)

    def _repr_html_(self) -> str:
        from ..display import ir_html

        return ir_html(repr(self), label=f"{self.name}, generic form")
