"""One variant of a comparison: built and run on the rounding reference, as a function of values that pickle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..compilation import compile
from ..errors import Cancelled, MlirTrtError
from ..numerics.conversion import at_precision, is_calibrated_on, resolved
from ..numerics.interpreter import Interpreter
from ..numerics.op_types import compute_type, kept_reason
from ..numerics.output_errors import OutputErrors
from ..numerics.samples import Samples
from ..precision import Precision
from ..progress import Progress, part_of

if TYPE_CHECKING:
    from ..plan import Plan
    from ..program import Program

__all__ = ["OpTypes", "Task", "Variant", "make_variant"]


@dataclass(frozen=True)
class Task:
    """What is to be made.

    `exact` is the program in tensorrt ops and fp32, as `numerics.conversion.converted` gives it: it is the same
    for all variants, and what the precision passes start from. `progress` is for calls within this process.
    """

    name: str
    precision: Precision
    program: Program
    exact: Program
    targets: tuple[str, ...]
    shapes: Any
    samples: Samples
    cache: bool = True
    progress: Progress | None = None


@dataclass(frozen=True)
class OpTypes:
    """Which types a program's ops compute in, and which ops were kept out of its precision, with reasons."""

    counts: Mapping[str, int] = field(default_factory=dict)
    kept: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many ops were counted."""
        return sum(self.counts.values())

    def share(self, element: str) -> float:
        """The part of the ops that compute in an MLIR element type."""
        return self.counts.get(element, 0) / self.total if self.total else 0.0


@dataclass
class Variant:
    """What came of a task. `error` says what failed, in one line; what was made before is there all the same.

    `outputs` are the rounding reference's, one mapping per sample. `random` names the first op that draws
    random numbers. `on_samples`: its ranges were found on the very samples that its errors are computed on.
    """

    name: str
    precision: Precision
    plan: Plan | None = None
    outputs: tuple[Mapping[str, Any], ...] | None = None
    types: OpTypes = field(default_factory=OpTypes)
    random: str = ""
    on_samples: bool = False
    error: str = ""
    errors: OutputErrors | None = None  # beside the reference, once both are there


def make_variant(task: Task) -> Variant:
    """Build a variant and run it on the reference. A failure is its `error`; only Cancelled is raised."""
    made = Variant(task.name, task.precision)
    try:
        precision = made.precision = resolved(task.program, task.precision, task.shapes, task.samples)
        made.on_samples = is_calibrated_on(task.precision, task.samples)
        building = None if task.progress is None else part_of(task.progress, 0, 2)
        made.plan = compile(
            task.program, task.targets, precision, task.shapes, cache=task.cache, progress=building
        )
        _run_reference(made, task, precision)
    except Cancelled:
        raise
    except MlirTrtError as error:
        made.error = _one_line(error)
    return made


def _one_line(error: BaseException) -> str:
    what = error.what if isinstance(error, MlirTrtError) else f"{type(error).__name__}: {error}"
    hint = f" ({error.hint})" if isinstance(error, MlirTrtError) and error.hint else ""
    where = f" in {error.where}" if isinstance(error, MlirTrtError) and error.where else ""
    return " ".join(f"{what}{where}{hint}".split())


def _run_reference(made: Variant, task: Task, precision: Precision) -> None:
    interpreter = Interpreter(at_precision(task.exact, precision, task.targets))
    made.types = _types(interpreter)
    if interpreter.random_ops:
        step = interpreter.random_ops[0]
        made.random = f"{step.op} '{step.source}'"
    outputs = []
    running = None if task.progress is None else part_of(task.progress, 1, 2)
    for number, sample in enumerate(task.samples.values):
        if running is not None and running("reference", number, len(task.samples.values)) is False:
            raise Cancelled("the comparison was cancelled")
        outputs.append(interpreter.run(sample))
    made.outputs = tuple(outputs)


def _types(interpreter: Interpreter) -> OpTypes:
    counts: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for step in interpreter.steps:
        element = compute_type(step.operation)
        if element is None:
            continue
        counts[element] += 1
        reason = kept_reason(step.operation)
        if reason:
            kept[reason] += 1
    return OpTypes(dict(counts), dict(kept))
