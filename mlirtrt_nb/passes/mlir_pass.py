"""MLIR's own registered passes as steps: `canonicalize`, `cse`, `symbol-dce`, ..."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..errors import OptionError
from ..program import Program
from .base import Pass, PassContext

__all__ = ["MlirPass"]


class MlirPass(Pass):
    """A pass registered in MLIR, by its MLIR name, run on the module.

    `options` are MLIR's own, as in `canonicalize{max-iterations=3}`.
    """

    phase = "input"

    def __init__(self, name: str, options: dict[str, Any] | None = None) -> None:
        self.name = name  # type: ignore[misc]
        self.options = dict(options or {})

    @property
    def pipeline_text(self) -> str:
        """The MLIR textual pipeline that runs this pass on a module."""
        listed = " ".join(f"{key}={value}" for key, value in self.options.items())
        return f"builtin.module({self.name}{'{' + listed + '}' if listed else ''})"

    def check(self) -> None:
        """Raise OptionError if MLIR knows no such pass or refuses its options."""
        problem = _problem(self.pipeline_text)
        if problem:
            raise OptionError(
                f"no pass named {self.name!r}" if "does not refer" in problem else problem.splitlines()[0],
                hint="mt.passes() lists the passes; MLIR's registered passes go by their MLIR names",
            )

    def apply(self, program: Program, context: PassContext) -> None:
        from torch_mlir.passmanager import PassManager

        with program.context:
            PassManager.parse(self.pipeline_text).run(program.module.operation)


@lru_cache(maxsize=256)
def _problem(pipeline_text: str) -> str:
    """What MLIR says against a pipeline; "" if nothing. Remembered, for it takes a context of its own."""
    from torch_mlir import ir
    from torch_mlir.passmanager import PassManager

    try:
        with ir.Context():
            PassManager.parse(pipeline_text)
    except (ValueError, ir.MLIRError) as error:
        return str(error)
    return ""
