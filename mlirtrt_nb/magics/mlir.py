"""`%%mlir`: parse, verify and show the MLIR in a cell."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    cell_magic,
    line_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)

from ..program import Program
from .arguments import Parser, documented
from .namespace import Scope, check_name

if TYPE_CHECKING:
    from ..passes.script import ScriptPass

__all__ = ["MlirMagics"]

_parser = Parser("%%mlir", "Parse and verify the MLIR in the cell, show it, and return it as a Program.")
_parser.add_argument("name", nargs="?", metavar="NAME", help="variable to store the Program in")
_parser.add_argument("--passes", metavar="P", help="a pipeline to run on it, as text: canonicalize,cse")
_parser.add_argument(
    "--pass",
    dest="defines",
    metavar="NAME",
    help="make a pass of the PDL patterns or the transform script in the cell, and return that",
)
_parser.add_argument("--run", metavar="FUNC", help="run this function on the host, and return its results")
_parser.add_argument(
    "-i",
    "--input",
    action="append",
    default=[],
    metavar="VAR",
    help="array or number for the function's next argument; needs --run",
)
_parser.add_argument(
    "-o",
    "--output",
    action="append",
    default=[],
    metavar="VAR",
    help="variable for its next result; one alone takes them all; needs --run",
)
_parser.add_argument("--generic", action="store_true", help="show MLIR's generic form")
_parser.add_argument("--quiet", action="store_true", help="store it and show nothing; needs NAME")


@magics_class
class MlirMagics(Magics):
    """Magics that take MLIR text."""

    # IPython refuses a cell magic without lines below it, its help too, and then speaks of the line magic.
    @no_var_expand
    @line_magic("mlir")
    @documented(_parser)
    def mlir_help(self, line: str) -> None:
        if _parser.parse(line) is not None:
            raise UsageError("%mlir: it shows its help alone; %%mlir takes MLIR from the lines below it")

    @no_var_expand  # MLIR is full of braces and dollar signs
    @needs_local_scope
    @cell_magic
    @documented(_parser)
    def mlir(self, line: str, cell: str, local_ns: dict[str, Any] | None = None) -> Any:
        arguments = _parser.parse(line)
        if arguments is None:
            return None
        check_name(arguments.name)
        _check_options(arguments)
        scope = Scope(self.shell, local_ns)
        if arguments.defines is not None:
            made = _pass_of_cell(cell, arguments.defines)
            scope.store(arguments.name or _variable(arguments.defines), made)
            return None if arguments.quiet else made
        inputs = [scope.find(text, "an input") for text in arguments.input]
        program = program_of_cell(cell, arguments.name)
        if arguments.passes is not None:
            program = _run_passes(arguments.passes, program)
        scope.store(arguments.name, program)
        shown = _GenericProgram(program) if arguments.generic else program
        if arguments.run is not None:
            shown = _run_function(program, arguments.run, inputs, arguments.output, scope)
        return None if arguments.quiet else shown


def _check_options(arguments: Namespace) -> None:
    """Refuse what makes no sense together, before anything is done."""
    for name in arguments.output:
        check_name(name)
    if arguments.defines is not None:
        if arguments.run or arguments.passes or arguments.generic or arguments.input or arguments.output:
            _parser.error("--pass goes with NAME and --quiet alone")
        check_name(arguments.name or _variable(arguments.defines))
        return
    if arguments.run is None:
        if arguments.input or arguments.output:
            _parser.error("-i and -o need --run FUNC")
        if arguments.quiet and not arguments.name:
            _parser.error("--quiet needs a NAME")
    elif arguments.generic:
        _parser.error("--generic shows the program, and --run its results: use one of them")
    elif arguments.quiet and not arguments.output:
        _parser.error("--quiet needs -o VAR for the results")


def _variable(pass_name: str) -> str:
    """The variable of a pass, where none is named: `drop-relu` is `drop_relu`."""
    return pass_name.replace("-", "_")


def _pass_of_cell(cell: str, name: str) -> ScriptPass:
    """The pass that the cell's text describes: a transform script, or else PDL patterns."""
    from ..passes.pdl_pass import pdl_pass
    from ..passes.transform_pass import transform_pass

    if not cell.strip():
        raise UsageError("%%mlir: the cell is empty; write pdl.pattern or transform.named_sequence in it")
    make = transform_pass if "transform.named_sequence" in cell else pdl_pass
    return make(name, "\n" + cell, filename="<cell>")


def _run_function(program: Program, function: str, inputs: list[Any], names: list[str], scope: Scope) -> Any:
    """Run a function of the cell, and store its results under `names`."""
    from ..native import run

    results = run(program, *inputs, func=function)
    if len(names) == 1:
        scope.store(names[0], results)
    elif names:
        values = results if isinstance(results, tuple) else (results,)
        if len(values) != len(names):
            raise UsageError(f"%%mlir: @{function} gives {len(values)} results; -o names {len(names)}")
        for name, value in zip(names, values, strict=True):
            scope.store(name, value)
    return results


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

    def __str__(self) -> str:
        return self.text(custom=False)

    def _repr_html_(self) -> str:
        from ..display import ir_html

        return ir_html(str(self), label=f"{self.name}, generic form")
