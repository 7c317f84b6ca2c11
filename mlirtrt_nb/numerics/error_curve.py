"""`error_curve`: the error of each op along the graph on the unfused reference, and the first bad op."""

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
from .alignment import Pair, pairs
from .conversion import at_precision, converted, placement, resolved
from .interpreter import Interpreter, Step
from .metrics import Errors
from .op_types import compute_type
from .output_errors import OutputErrors, compared
from .randomness import depends_on_random, named, returns_random
from .samples import Samples, samples_of, shapes_for

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ErrorCurve", "OpErrors", "curve_of", "error_curve"]

BAD_SNR_DB = 20.0  # an error of a tenth of the signal


@dataclass
class OpErrors:
    """What one op does to the error.

    `reached` is the error of its result with everything before it in low precision too; `own` the error that
    it makes itself, on inputs that are exact but for rounding to its own types. `largest` is the largest
    magnitude of the exact result. `element` is the type that the op computes in, `gives` that of its result.
    `random` is "draws" for an op that draws random numbers and "depends" for one whose result depends on some:
    its `reached` is empty, as no error can be told; so is `own` for one that draws.
    """

    op: str
    source: str
    element: str
    reached: Errors = field(default_factory=Errors)
    own: Errors = field(default_factory=Errors)
    largest: float = 0.0
    gives: str = ""
    random: str = ""

    def __str__(self) -> str:
        """ "tensorrt.convolution 'conv1': 12.3 dB, of its own 40.1 dB"."""
        if self.random:
            return (
                f"{self.op} '{self.source}': {self.random}{' on' * (self.random == 'depends')} random numbers"
            )
        own = (
            f"of its own {self.own.snr_db:.1f} dB" if self.own.squares or self.own.broken else "exact in itself"
        )
        return f"{self.op} '{self.source}': {self.reached.snr_db:.1f} dB, {own}"


@dataclass
class ErrorCurve(Shown):
    """The error of each op along the graph.

    Attributes:
        precision: of the variant, as given.
        inputs: what it was computed on, in words.
        threshold: the signal-to-noise ratio in dB below which an op's result counts as bad.
        outputs: the errors of the program's outputs, as `mt.compare` has them; None if no op was compared.
        place: the targets and the type of what is not quantized, in words.
        random: the first op that draws random numbers; errors of what depends on it are missing.
    """

    name: str
    precision: str
    inputs: str
    threshold: float
    ops: list[OpErrors] = field(repr=False)
    outputs: OutputErrors | None = field(default=None, repr=False)
    place: str = ""
    random: str = ""

    @cached_property
    def df(self) -> pd.DataFrame:
        """One row per op in program order: op, source, type, largest, snr_db, own_snr_db, cosine,
        max_abs_error, not_finite; NaN where random numbers leave no error to tell. `attrs["sources"]` says
        where each number comes from."""
        import pandas as pd

        rows = [
            (
                entry.op,
                entry.source,
                entry.element,
                entry.largest,
                np.nan if entry.random else entry.reached.snr_db,
                np.nan if entry.random == "draws" else entry.own.snr_db,
                np.nan if entry.random else entry.reached.cosine,
                np.nan if entry.random else entry.reached.max_abs_error,
                entry.reached.broken,
            )
            for entry in self.ops
        ]
        frame = pd.DataFrame(rows, columns=_COLUMNS)
        frame.attrs["sources"] = dict.fromkeys(_COLUMNS[3:], f"rounding reference on {self.inputs}")
        return frame

    @property
    def first_bad(self) -> OpErrors | None:
        """The first op whose result is below the threshold or not finite; None if there is none."""
        return next((entry for entry in self.ops if entry.reached.snr_db < self.threshold), None)

    @property
    def overflow(self) -> OpErrors | None:
        """The first op whose result is not finite where the exact one is; None if there is none."""
        return next((entry for entry in self.ops if entry.reached.broken), None)

    @property
    def worst(self) -> OpErrors | None:
        """The op that makes the largest error itself; None if none makes any."""
        entry = min(self.ops, key=lambda entry: entry.own.snr_db, default=None)
        return entry if entry is not None and entry.own.snr_db < np.inf else None

    def plot(self) -> Any:
        """A figure: the signal-to-noise ratio along the graph. Raises MissingDependencyError."""
        from ..reports.error_plot import error_curve_figure

        return error_curve_figure(self)

    def __str__(self) -> str:
        from ..display.numerics import error_curve_text

        return error_curve_text(self)

    def _repr_html_(self) -> str:
        from ..display.numerics import error_curve_html

        return error_curve_html(self)


_COLUMNS = [
    "op",
    "source",
    "type",
    "largest",
    "snr_db",
    "own_snr_db",
    "cosine",
    "max_abs_error",
    "not_finite",
]


def error_curve(
    program: Program | Any,
    precision: Any = "fp16",
    inputs: Any = None,
    *,
    shapes: Any = None,
    target: str | Iterable[str] | None = None,
    threshold: float = BAD_SNR_DB,
    progress: Progress | None = None,
) -> ErrorCurve:
    """Where along the graph a precision goes wrong.

    Both programs are run op by op and unfused, so that looking changes nothing; each op rounds as its type
    does.

    Args:
        program: a Program, or anything that `mt.load` takes.
        precision: a name or a `Precision`, as for `mt.compile`; ranges that it lacks are found on `inputs`.
        inputs: one sample or several, see `mt.compare`; None makes seeded synthetic ones.
        target: as for `mt.compare`: what it is compiled for, which the type of what is not quantized goes by.
        threshold: signal to noise in dB below which an op's result is bad.
        progress: called as `progress(phase, done, total)`; returning False cancels.

    Raises SourceError, InputError, ShapeError, PrecisionError, PassError, Cancelled.
    """
    if (
        not isinstance(threshold, int | float | np.integer | np.floating)
        or isinstance(threshold, bool)
        or threshold != threshold
    ):
        raise OptionError(f"threshold must be a number of dB, got {threshold!r}")
    source = program if isinstance(program, Program) else load(program)
    samples = samples_of(source, inputs, shapes)
    known = shapes_for(source, samples, shapes)
    targets = parse_targets(default_targets() if target is None else target)
    exact = converted(source, "fp32", targets, known)
    variant = at_precision(exact, resolved(source, precision, known, samples), targets)
    return curve_of(
        Interpreter(exact),
        Interpreter(variant),
        samples,
        precision=Precision.of(precision).label,
        place=placement(Precision.of(precision), targets),
        threshold=threshold,
        progress=progress,
    )


def curve_of(
    exact: Interpreter,
    variant: Interpreter,
    samples: Samples,
    *,
    precision: str,
    place: str = "",
    threshold: float = BAD_SNR_DB,
    progress: Progress | None = None,
) -> ErrorCurve:
    """The curve of two programs that came from one; see `error_curve`."""
    found: dict[int, OpErrors] = {}
    outputs: OutputErrors | None = None
    drawing, depending = {step.index for step in variant.random_ops}, depends_on_random(variant)
    for number, sample in enumerate(samples.values):
        _tell(progress, number, len(samples.values))
        last: Pair | None = None
        for pair in pairs(exact, variant, sample):
            _add(found, pair, own=False, told=pair.variant.step.index not in depending)
            last = pair
        if last is not None and not returns_random(variant):
            ends = compared(last.reference.walk.outputs, last.variant.walk.outputs)
            outputs = ends if outputs is None else outputs.merged(ends)
        for pair in pairs(exact, variant, sample, forced=True):
            _add(found, pair, own=True, told=pair.variant.step.index not in drawing)
    for index in depending & found.keys():
        found[index].random = "draws" if index in drawing else "depends"
    ordered = [found[index] for index in sorted(found)]
    random = named(variant.random_ops[0]) if drawing else ""
    return ErrorCurve(
        variant.program.name, precision, samples.origin, threshold, ordered, outputs, place, random
    )


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None and progress("error curve", done, total) is False:
        raise Cancelled("the error curve was stopped")


def _entry_of(step: Step) -> OpErrors:
    computes = compute_type(step.operation) or step.element
    return OpErrors(step.op, step.source, computes, gives=step.element)


def _add(found: dict[int, OpErrors], pair: Pair, *, own: bool, told: bool) -> None:
    """Count a pair in; of one whose error cannot be `told`, the magnitude alone."""
    step = pair.variant.step
    for reference, other in pair.arrays():
        entry = found.setdefault(step.index, _entry_of(step))
        if told:
            (entry.own if own else entry.reached).add(reference, other)
        finite = np.abs(reference[np.isfinite(reference)])
        entry.largest = max(entry.largest, float(finite.max()) if finite.size else 0.0)
