"""MLIR's own registered passes as steps: `canonicalize`, `cse`, `symbol-dce`, ..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, PassError
from ..native_output import NativeOutput
from ..program import Program
from .base import Pass, PassContext

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["USUAL", "MlirPass"]

_NO_OPTION = re.compile(r"no such option (\S+)")
# What MLIR writes to standard error of a value that an option does not take: its error does not say why.
_WORDS = ("for the --", "expected pass pipeline")
_REASON = re.compile(r"(?:for the --\S+ option: |^(?=expected pass pipeline))(.+?)!?$", re.MULTILINE)
_OPTION = re.compile(r"[{ ]([a-z][a-z0-9-]*)=")

# MLIR has no list of its passes; of these, which any program may want, misspelt names are recognised.
USUAL = {
    "canonicalize": "Rewrites ops to simpler ones by each dialect's own rules, and folds what is constant.",
    "control-flow-sink": "Moves ops into the only branch that reads their results.",
    "cse": "Merges ops that compute the same from the same values, and removes those that nobody reads.",
    "inline": "Puts the bodies of functions in the place of their calls.",
    "loop-invariant-code-motion": "Moves ops out of loops in which they compute the same at each turn.",
    "mem2reg": "Turns memory that only loads and stores reach into values.",
    "print-ir": "Writes the IR to standard error.",
    "print-op-stats": "Counts the ops of each kind, to standard error.",
    "remove-dead-values": "Removes arguments, results and ops whose values nobody reads.",
    "sccp": "Follows constants through branches and calls, and puts them in the place of what they decide.",
    "snapshot-op-locations": "Makes each op's location its place in the IR as it is printed now.",
    "strip-debuginfo": "Removes the locations of all ops.",
    "symbol-dce": "Removes private functions and other symbols to which nothing refers.",
    "symbol-privatize": "Makes functions and other symbols private.",
    "topological-sort": "Puts ops after those whose results they read.",
}


class MlirPass(Pass):
    """A pass registered in MLIR, by its MLIR name, run on the module.

    `options` are MLIR's own, as in `canonicalize{max-iterations=3}`.
    """

    phase = "input"

    def __init__(self, name: str, options: dict[str, Any] | None = None) -> None:
        self.name = name  # type: ignore[misc]
        self.options = dict(options or {})
        self.__doc__ = USUAL.get(name, "A pass that is registered in MLIR, run on the module.")

    @property
    def pipeline_text(self) -> str:
        """The MLIR textual pipeline that runs this pass on a module."""
        listed = " ".join(f"{key}={value}" for key, value in self.options.items())
        return f"builtin.module({self.name}{'{' + listed + '}' if listed else ''})"

    def check(self, others: Sequence[str] = ()) -> None:
        """Raise OptionError if MLIR knows no such pass, with near names of its own and `others`, or refuses the
        options."""
        problem = _problem(self.pipeline_text)
        if not problem:
            return
        if "does not refer" not in problem:
            raise self._refused(problem)
        hint = "mt.passes() lists the passes; MLIR's registered passes go by their MLIR names"
        close = get_close_matches(self.name.lower(), [*USUAL, *others], 3)
        raise OptionError(
            f"no pass named {self.name!r}", hint=f"did you mean {', '.join(close)}?" if close else hint
        )

    def _refused(self, problem: str) -> OptionError:
        """What MLIR has against the options, with those that the pass has."""
        known = _options(self.name)
        hint = f"its options are {', '.join(known)}" if known else "it has no options"
        unknown = _NO_OPTION.search(problem)
        if unknown is None:
            given = ", ".join(f"{key}={value}" for key, value in self.options.items())
            if not given:
                return OptionError(next((line for line in problem.splitlines() if line), ""), hint=hint)
            why = _REASON.search(problem)
            said = f"pass {self.name} does not take {given}"
            return OptionError(f"{said}: {why.group(1)}" if why else said, hint=hint)
        close = get_close_matches(unknown.group(1), known, 1)
        return OptionError(
            f"pass {self.name} has no option {unknown.group(1)!r}",
            hint=f"did you mean {close[0]}? {hint}" if close else hint,
        )

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir import ir
        from torch_mlir.passmanager import PassManager

        with program.context:
            try:
                PassManager.parse(self.pipeline_text).run(program.module.operation)
            except ir.MLIRError as error:
                raise self._failed(error) from error

    def _failed(self, error: ir.MLIRError) -> PassError:
        """What MLIR says of the first op that the pass fails at."""
        from ..ir.diagnostics import found_in, kind_of_location
        from ..ir.locations import sources_of

        found = found_in(error, lambda *_: None)
        said = found[0].message if found else next(iter(str(error).splitlines()), "")
        where = sources_of(kind_of_location(error.error_diagnostics[0].location)) if found else ()
        return PassError(
            f"pass {self.name} failed: {said}",
            where=", ".join(where) or None,
            hint=(found[0].hint if found else None)
            or f"disable it with pipeline.disable({self.name!r}) to see whether the rest goes through",
        )


@lru_cache(maxsize=256)
def _options(name: str) -> tuple[str, ...]:
    """The options of a registered pass, read from how MLIR prints a pipeline of it."""
    from torch_mlir import ir
    from torch_mlir.passmanager import PassManager

    try:
        with ir.Context():
            printed = str(PassManager.parse(f"builtin.module({name})"))
    except (ValueError, ir.MLIRError):
        return ()
    return tuple(_OPTION.findall(printed))


@lru_cache(maxsize=256)
def _problem(pipeline_text: str) -> str:
    """What MLIR says against a pipeline; "" if nothing. Remembered, for it takes a context of its own."""
    from torch_mlir import ir
    from torch_mlir.passmanager import PassManager

    heard: list[str] = []
    try:
        with ir.Context(), NativeOutput(heard.append, _WORDS) if "{" in pipeline_text else nullcontext():
            PassManager.parse(pipeline_text)
    except (ValueError, ir.MLIRError) as error:
        return "\n".join([str(error), *heard])
    return ""
