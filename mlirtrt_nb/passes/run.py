"""`PipelineRun`: what happened when a pipeline ran, step by step."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import Cancelled, MlirTrtError, PassError
from ..program import Program
from .base import PassContext

if TYPE_CHECKING:
    import pandas as pd

    from .pipeline import Entry, Pipeline

__all__ = ["PipelineRun", "Step", "run_pipeline"]


@dataclass
class Step:
    """One pass that ran. `before` and `after` are programs whose IR is a snapshot; treat them as read-only.

    `seconds` is wall time of the pass alone, without snapshot and verifier.
    """

    name: str
    seconds: float
    before: Program | None
    after: Program | None

    @cached_property
    def changed(self) -> bool:
        """Whether the IR's text differs, locations aside. Needs snapshots."""
        return self._text(self.before) != self._text(self.after)

    @cached_property
    def op_delta(self) -> dict[str, int]:
        """Op name -> change in count; ops whose count is the same are left out."""
        before, after = _op_counts(self.before), _op_counts(self.after)
        delta = {name: after[name] - before[name] for name in sorted({*before, *after})}
        return {name: change for name, change in delta.items() if change}

    def _text(self, program: Program | None) -> str:
        return str(_kept(program).module)


def _kept(program: Program | None) -> Program:
    if program is None:
        raise MlirTrtError("this run kept no snapshots", hint="run the pipeline with keep_snapshots=True")
    return program


def _op_counts(program: Program | None) -> Counter[str]:
    from torch_mlir import ir

    counts: Counter[str] = Counter()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        counts[operation.name] += 1
        return ir.WalkResult.ADVANCE

    _kept(program).module.operation.walk(visit)
    return counts


@dataclass
class PipelineRun:
    """The steps of a run, and the program that came out."""

    program: Program
    pipeline: str
    steps: list[Step] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Wall time of all passes."""
        return sum(step.seconds for step in self.steps)

    def diff(self, index: int) -> str:
        """A unified diff of step `index`, in custom assembly; empty if it changed nothing."""
        from difflib import unified_diff

        step = self.steps[index]
        before, after = _kept(step.before).text(), _kept(step.after).text()
        lines = unified_diff(
            before.splitlines(), after.splitlines(), f"before {step.name}", f"after {step.name}", lineterm=""
        )
        return "\n".join(lines)

    @property
    def df(self) -> pd.DataFrame:
        """One row per step: pass, seconds, changed, ops_before, ops_after."""
        import pandas as pd

        return pd.DataFrame([self._row(step) for step in self.steps], columns=_COLUMNS)

    def _row(self, step: Step) -> tuple[Any, ...]:
        before, after = _op_counts(step.before).total(), _op_counts(step.after).total()
        return (step.name, step.seconds, step.changed, before, after)

    def reproducer(self) -> str:
        """A shell command that runs the same pipeline on the same source."""
        return f'python -m mlirtrt_nb opt {self.program.source} --passes "{self.pipeline}"'


_COLUMNS = ["pass", "seconds", "changed", "ops_before", "ops_after"]


def run_pipeline(
    pipeline: Pipeline, program: Program, context: PassContext, keep_snapshots: bool
) -> PipelineRun:
    """Run the enabled entries in order on a copy of `program`; see `Pipeline.run`."""
    current = program.clone()
    run = PipelineRun(current, str(pipeline))
    last_good = program
    for entry in pipeline:
        if not entry.enabled:
            continue
        seconds = _run_one(entry, current, context, last_good)
        if keep_snapshots:
            after = current.clone()
            run.steps.append(Step(entry.name, seconds, last_good, after))
            last_good = after
        else:
            run.steps.append(Step(entry.name, seconds, None, None))
    return run


def _run_one(entry: Entry, program: Program, context: PassContext, last_good: Program) -> float:
    start = time.perf_counter()
    try:
        entry.pass_.apply(program, context)
        seconds = time.perf_counter() - start
        _verify(program)
    except (Cancelled, KeyboardInterrupt):
        raise
    except MlirTrtError as error:
        if isinstance(error, PassError):
            error.last_good = last_good
        else:
            error.where = f"{error.where}, pass {entry.name}" if error.where else f"pass {entry.name}"
        raise
    except Exception as error:
        first = next(iter(str(error).splitlines()), "")
        failure = PassError(
            f"pass {entry.name} failed: {type(error).__name__}: {first}",
            hint=f"disable it with pipeline.disable({entry.name!r}) to see whether the rest goes through",
        )
        failure.last_good = last_good
        raise failure from error
    return seconds


def _verify(program: Program) -> None:
    """MLIR's own verifier: about 2 us an op, so it can run after every pass."""
    if not program.module.operation.verify():
        raise PassError("the pass left invalid IR")
