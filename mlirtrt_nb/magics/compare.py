"""`%trt_compare`: a program in several precisions beside each other, with a progress bar."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, magics_class
from traitlets import Unicode

from ..options import parse_shape_options, parse_target_options
from ..program import Program
from ..progress import Progress
from .arguments import Parser
from .command import command
from .namespace import Scope
from .progress import run

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison

__all__ = ["TrtCompareMagics"]

_parser = Parser(
    "%trt_compare",
    "Build a program in several precisions and say how fast, large and right each is, and why. SOURCE is a\n"
    "variable (a Program, or anything that mt.load takes) or a file.",
)
_parser.add_argument("source", metavar="SOURCE", help="what to compare")
_parser.add_argument(
    "--precision",
    action="append",
    default=[],
    metavar="P",
    help="fp32, fp16, bf16, int8, fp8, int4, or a variable with a Precision; may be repeated",
)
_parser.add_argument("--reference", default="fp32", metavar="P", help="what errors are against (fp32)")
_parser.add_argument("--inputs", metavar="VAR", help="samples: a mapping, an array, or a list of them")
_parser.add_argument(
    "--target", action="append", default=[], metavar="T", help="cpu, sm75 ... sm121 or cuda; may be repeated"
)
_parser.add_argument(
    "--shape",
    action="append",
    default=[],
    metavar="S",
    help="x=1x3x224x224, or x=MIN:OPT:MAX for a range; once per input",
)
_parser.add_argument("--device", default="auto", metavar="D", help="to measure on: cpu, cuda or auto")
_parser.add_argument(
    "--duration", type=float, default=1000, metavar="MS", help="of each measurement, in ms (1000)"
)
_parser.add_argument("--executor", metavar="VAR", help="a concurrent.futures.Executor for the variants")
_parser.add_argument("--name", metavar="N", help="variable to store the Comparison in")
_parser.add_argument("--no-cache", action="store_true", help="build every engine anew")


@magics_class
class TrtCompareMagics(Magics):
    """Comparison. `%config TrtCompareMagics` lists and sets the defaults."""

    precisions = Unicode(
        "fp32,fp16,int8", help="Precisions where --precision is not given, separated by commas."
    ).tag(config=True)

    @command(_parser)
    def trt_compare(self, arguments: Namespace, scope: Scope) -> Comparison:
        source = scope.source(arguments.source)
        given = {
            "precisions": [scope.precision(word) for word in self._words(arguments)],
            "reference": scope.precision(arguments.reference),
            "inputs": scope.find(arguments.inputs, "inputs") if arguments.inputs else None,
            "executor": scope.find(arguments.executor, "an executor") if arguments.executor else None,
        }
        title = f"{getattr(source, 'name', None) or arguments.source} compared"
        found = run(self.shell, title, lambda report: _compare(arguments, source, given, report))
        scope.store(arguments.name, found)
        return found

    def _words(self, arguments: Namespace) -> list[str]:
        return parse_target_options(arguments.precision, self.precisions)


def _compare(arguments: Namespace, source: Any, given: dict[str, Any], report: Progress) -> Comparison:
    from ..comparison.compare import compare
    from ..frontends.load import load

    if not isinstance(source, Program):
        report("loading", 0, 0)
    program = load(source)
    return compare(
        program,
        **given,
        target=parse_target_options(arguments.target, "") or None,
        # Given inputs have shapes of their own.
        shapes=parse_shape_options(arguments.shape, () if given["inputs"] is not None else program.inputs),
        device=arguments.device,
        duration_ms=arguments.duration,
        cache=not arguments.no_cache,
        progress=report,
    )
