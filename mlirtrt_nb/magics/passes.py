"""`%trt_passes`: the pass explorer on a program."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, magics_class

from ..options import parse_shape_options, parse_target_options
from .arguments import Parser
from .command import command
from .namespace import Scope

if TYPE_CHECKING:
    from ..widgets.explorer import Explorer

__all__ = ["TrtPassesMagics"]

_parser = Parser(
    "%trt_passes",
    "Open the pass explorer: switch, move and set passes, and see what each one changed. SOURCE is a variable\n"
    "(a Program, or anything that mt.load takes) or a file.",
)
_parser.add_argument("source", metavar="SOURCE", help="the program to run the passes on")
_parser.add_argument("--passes", metavar="P", help="a variable or text with the pipeline to start with")
_parser.add_argument("--against", metavar="P", help="a variable or text with a pipeline to compare with")
_parser.add_argument("--target", action="append", default=[], metavar="T", help="as for %%trt_compile")
_parser.add_argument("--precision", default="fp32", metavar="P", help="whose default pipeline: fp16, int8, ...")
_parser.add_argument("--shape", action="append", default=[], metavar="S", help="as for %%trt_compile")
_parser.add_argument("--html", metavar="FILE", help="also write the run as one HTML file")
_parser.add_argument("--name", metavar="N", help="variable to store the Explorer in")


@magics_class
class TrtPassesMagics(Magics):
    """The pass explorer."""

    @command(_parser)
    def trt_passes(self, arguments: Namespace, scope: Scope) -> Explorer:
        from ..widgets.explorer import explore

        explorer = explore(
            scope.source(arguments.source),
            _pipeline(scope, arguments.passes),
            against=_pipeline(scope, arguments.against),
            target=parse_target_options(arguments.target, "cpu"),
            precision=arguments.precision,
            shapes=parse_shape_options(arguments.shape),
        )
        if arguments.html:
            explorer.to_html(arguments.html)
        scope.store(arguments.name, explorer)
        return explorer


def _pipeline(scope: Scope, text: str | None) -> Any:
    """A Pipeline by the name of the user's variable, or the text of one."""
    from ..passes.pipeline import Pipeline

    if text is None or not text.isidentifier():
        return text
    found = scope.get(text)
    return found if isinstance(found, Pipeline) else text
