"""`%trt_compile` and `%%trt_compile`: a program in, a Plan out, with a progress bar."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, magics_class, needs_local_scope, no_var_expand
from traitlets import Unicode

from ..options import parse_shape_options, parse_target_options
from ..program import Program
from ..progress import Progress
from ..worker import Isolation
from .arguments import Parser, documented
from .command import command
from .mlir import program_of_cell
from .namespace import Scope, check_name
from .progress import run

if TYPE_CHECKING:
    from ..plan import Plan

__all__ = ["TrtCompileMagics"]

_parser = Parser(
    "%trt_compile",
    "Compile a program and show the Plan's card. SOURCE is a variable (a Program, or anything that mt.load\n"
    "takes) or a file; with two percent signs it takes MLIR from the cell instead.",
)
_parser.add_argument("source", nargs="?", metavar="SOURCE", help="what to compile")
_parser.add_argument(
    "--target", action="append", default=[], metavar="T", help="cpu, sm75 ... sm121 or cuda; may be repeated"
)
_parser.add_argument(
    "--precision",
    metavar="P",
    help="fp32 (the default), fp16, bf16, int8, fp8, int4, or a variable with a Precision",
)
_parser.add_argument(
    "--shape",
    action="append",
    default=[],
    metavar="S",
    help="x=1x3x224x224, or x=MIN:OPT:MAX for a range; once per input",
)
_parser.add_argument("--passes", metavar="P", help="a pipeline as text, instead of the default one")
_parser.add_argument("--name", metavar="N", help="variable to store the Plan in")
_parser.add_argument("--no-cache", action="store_true", help="build every engine anew")
_parser.add_argument(
    "--timeout", type=float, metavar="S", help="stop after this many seconds of passes and engine builds in all"
)
_parser.add_argument("--no-isolate", action="store_true", help="compile in the kernel's own process")


@magics_class
class TrtCompileMagics(Magics):
    """Compilation. `%config TrtCompileMagics` lists and sets the defaults."""

    target = Unicode("cpu", help="Targets where --target is not given, separated by commas.").tag(config=True)
    precision = Unicode("fp32", help="Precision where --precision is not given.").tag(config=True)

    @command(_parser)
    def trt_compile(self, arguments: Namespace, scope: Scope) -> Plan:
        return self._run(arguments, None, scope)

    # IPython looks for the semicolon that silences a cell by reading it as Python, which MLIR is not.
    @no_var_expand
    @needs_local_scope
    @cell_magic("trt_compile")
    @documented(_parser)
    def trt_compile_cell(self, line: str, cell: str, local_ns: dict[str, Any] | None = None) -> Any:
        arguments = _parser.parse(line)
        if arguments is None:
            return None
        check_name(arguments.name)
        return self._run(arguments, cell, Scope(self.shell, local_ns))

    def _run(self, arguments: Namespace, cell: str | None, scope: Scope) -> Plan:
        source = self._source(arguments, cell, scope)
        precision = scope.precision(arguments.precision or self.precision)
        plan = run(
            self.shell,
            self._title(arguments, source),
            lambda report: self._compile(arguments, source, precision, report),
        )
        scope.store(arguments.name, plan)
        return plan

    def _source(self, arguments: Namespace, cell: str | None, scope: Scope) -> Any:
        if cell is None and arguments.source is None:
            _parser.error("SOURCE is missing: a variable or a file")
        if cell is not None and arguments.source is not None:
            _parser.error("give SOURCE or MLIR in the cell, not both")
        return program_of_cell(cell, arguments.name) if cell is not None else scope.source(arguments.source)

    def _targets(self, arguments: Namespace) -> list[str]:
        return parse_target_options(arguments.target, self.target)

    def _title(self, arguments: Namespace, source: Any) -> str:
        name = arguments.name or getattr(source, "name", None) or arguments.source or "cell"
        return f"{name} for {', '.join(self._targets(arguments))}"

    def _compile(self, arguments: Namespace, source: Any, precision: Any, report: Progress) -> Plan:
        from ..compilation import compile as compile_program
        from ..frontends.load import load
        from ..precision import Precision, check_supported
        from ..targets import parse_targets

        check_supported(Precision.of(precision), parse_targets(self._targets(arguments)))
        if not isinstance(source, Program):
            report("loading", 0, 0)
        program = load(source)
        return compile_program(
            program,
            target=self._targets(arguments),
            precision=precision,
            shapes=parse_shape_options(arguments.shape, program.inputs),
            pipeline=arguments.passes,
            cache=not arguments.no_cache,
            progress=report,
            isolate=_isolate(arguments),
        )


def _isolate(arguments: Namespace) -> bool | Isolation | None:
    if arguments.no_isolate:
        if arguments.timeout is not None:
            _parser.error("--timeout needs the worker process, which --no-isolate does without")
        return False
    return None if arguments.timeout is None else Isolation(timeout=arguments.timeout)
