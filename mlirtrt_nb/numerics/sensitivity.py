"""`sensitivity`: how much each op, alone in low precision, costs at the program's outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Cancelled, OptionError
from ..frontends.load import load
from ..precision import Precision
from ..program import Program
from ..progress import Progress
from ..shown import Shown
from ..targets import default_targets, parse_targets
from . import rounding
from .alignment import Pair, pairs
from .conversion import at_precision, converted, placement, resolved
from .interpreter import Interpreter
from .metrics import Errors
from .op_types import compute_type
from .output_errors import OutputErrors, compared
from .randomness import refuse_random
from .samples import Samples, samples_of, shapes_for

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OpSensitivity", "Sensitivity", "sensitivity", "sensitivity_of"]


@dataclass
class OpSensitivity:
    """One op, which computes in `element`: `own` is the error that it makes itself, `output` what that error
    alone does at the outputs: the worst of the floating-point ones."""

    op: str
    source: str
    element: str
    pattern: str
    own: Errors = field(default_factory=Errors)
    output: OutputErrors = field(default_factory=OutputErrors)


@dataclass
class Sensitivity(Shown):
    """What each op costs when it alone is in low precision, the costliest first.

    Attributes:
        precision: as given; inputs: what it was computed on, in words.
        ops: one entry per op that makes an error of its own.
        place: the targets and the type of what is not quantized, in words.
    """

    name: str
    precision: Precision
    inputs: str
    ops: list[OpSensitivity] = field(repr=False)
    place: str = ""

    @cached_property
    def df(self) -> pd.DataFrame:
        """One row per op, costliest first: op, source, type, own_snr_db, output_snr_db, output_max_abs_error,
        noise_share (of the sum of what all ops alone add at the outputs)."""
        import pandas as pd

        total = sum(entry.output.squares for entry in self.ops)
        rows = [
            (
                entry.op,
                entry.source,
                entry.element,
                entry.own.snr_db,
                entry.output.snr_db,
                entry.output.max_abs_error,
                entry.output.squares / total if total else 0.0,
            )
            for entry in self.ops
        ]
        frame = pd.DataFrame(rows, columns=_COLUMNS)
        frame.attrs["sources"] = dict.fromkeys(_COLUMNS[3:], f"rounding reference on {self.inputs}")
        return frame

    def keep(self, count: int = 1) -> Precision:
        """The precision with the `count` costliest source nodes kept in fp32. Raises OptionError."""
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise OptionError(f"keep({count!r}): a number of source nodes is 0 or more")
        return self.precision.with_keep(*self.patterns[:count])

    @property
    def patterns(self) -> list[str]:
        """What `Precision(keep=...)` knows the ops by, costliest first, each once."""
        return list(dict.fromkeys(entry.pattern for entry in self.ops if entry.pattern))

    def plot(self) -> Any:
        """A figure: the costliest ops as bars. Raises MissingDependencyError."""
        from ..reports.error_plot import sensitivity_figure

        return sensitivity_figure(self)

    def __str__(self) -> str:
        from ..display.numerics import sensitivity_text

        return sensitivity_text(self)

    def _repr_html_(self) -> str:
        from ..display.numerics import sensitivity_html

        return sensitivity_html(self)


_COLUMNS = [
    "op",
    "source",
    "type",
    "own_snr_db",
    "output_snr_db",
    "output_max_abs_error",
    "noise_share",
]


def sensitivity(
    program: Program | Any,
    precision: Any = "fp16",
    inputs: Any = None,
    *,
    shapes: Any = None,
    target: str | Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Sensitivity:
    """What each op alone costs at the outputs: it is rounded as at `precision`, all others are exact.

    Everything after an op is run again for it, so this takes about half a run per op and sample.

    Args:
        program: a Program, or anything that `mt.load` takes.
        precision: a name or a `Precision`, as for `mt.compile`; ranges that it lacks are found on `inputs`.
        inputs: one sample or several, see `mt.compare`; None makes seeded synthetic ones.
        target: as for `mt.compare`: what it is compiled for, which the type of what is not quantized goes by.
        progress: called as `progress(phase, done, total)`; returning False cancels.

    Raises PrecisionError if the program draws random numbers; SourceError, InputError, ShapeError, PassError,
    Cancelled.
    """
    source = program if isinstance(program, Program) else load(program)
    wanted = Precision.of(precision)
    samples = samples_of(source, inputs, shapes)
    known = shapes_for(source, samples, shapes)
    targets = parse_targets(default_targets() if target is None else target)
    exact = converted(source, "fp32", targets, known)
    interpreter = Interpreter(exact)
    refuse_random(
        interpreter, "make the model deterministic first; mt.error_curve has what does not depend on it"
    )
    variant = at_precision(exact, resolved(source, wanted, known, samples), targets)
    found = sensitivity_of(interpreter, Interpreter(variant), samples, wanted, progress)
    found.place = placement(wanted, targets)
    return found


def sensitivity_of(
    exact: Interpreter,
    variant: Interpreter,
    samples: Samples,
    precision: Precision,
    progress: Progress | None = None,
) -> Sensitivity:
    """The sensitivities of two programs that came from one; see `sensitivity`."""
    found: dict[int, OpSensitivity] = {}
    total = len(samples.values) * len(variant.steps)
    for number, sample in enumerate(samples.values):
        outputs = exact.run(sample)
        for pair in pairs(exact, variant, sample, forced=True):
            done = number * len(variant.steps) + pair.variant.step.index
            if progress is not None and progress("sensitivity", done, total) is False:
                raise Cancelled("the sensitivity analysis was stopped")
            _add(found, pair, outputs)
    ordered = sorted(found.values(), key=lambda entry: entry.output.snr_db)
    return Sensitivity(variant.program.name, precision, samples.origin, ordered)


def _add(found: dict[int, OpSensitivity], pair: Pair, outputs: dict[str, Any]) -> None:
    own = Errors()
    for reference, other in pair.arrays():
        own.add(reference, other)
    reference_side = pair.reference
    # A run that is ahead of the op can no longer be branched there; no pass moves an op before another so far.
    if (not own.squares and not own.broken) or reference_side.walk.position != reference_side.step.index:
        return
    step = pair.variant.step
    computes = compute_type(step.operation) or step.element
    entry = found.setdefault(step.index, OpSensitivity(step.op, step.source, computes, step.pattern))
    entry.own = entry.own.merged(own)
    exact_results = reference_side.executed.results
    replaced = [
        _in_type_of(mine, other)
        for mine, other in zip(pair.variant.executed.results, exact_results, strict=True)
    ]
    changed = reference_side.walk.branch(reference_side.executed, replaced)
    entry.output = entry.output.merged(compared(outputs, changed))


def _in_type_of(value: Any, other: Any) -> Any:
    if not isinstance(other, np.ndarray) or not isinstance(value, np.ndarray) or value.shape != other.shape:
        return other
    from ..ir import dtypes

    return rounding.cast(value, dtypes.by_numpy(other.dtype).mlir)
