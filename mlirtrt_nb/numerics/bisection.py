"""`bisect`: the fewest source nodes to keep in fp32 so that a precision is good enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from ..activation_ranges import Calibration
from ..calibration.content import content_hash
from ..errors import Cancelled, OptionError, PrecisionError
from ..frontends.load import load
from ..ir.builder import Op
from ..precision import Precision
from ..program import Program
from ..progress import Progress
from ..targets import default_targets, parse_targets
from .bisection_state import BisectionState
from .conversion import at_precision, converted, resolved
from .interpreter import Interpreter
from .metrics import Metric, metric
from .output_errors import OutputErrors, compared
from .randomness import refuse_random
from .samples import Samples, samples_of, shapes_for
from .sensitivity import sensitivity_of

__all__ = ["bisect"]

Keeps = tuple[str, ...]


def bisect(
    program: Program | Any,
    precision: Any = "fp16",
    metric: str = "snr_db",
    threshold: float | None = None,
    inputs: Any = None,
    *,
    shapes: Any = None,
    target: str | Iterable[str] | None = None,
    state: Any = None,
    progress: Progress | None = None,
) -> Precision:
    """The precision with as few ops as possible kept in fp32 for its outputs to be close enough to fp32's.

    Source nodes are ordered by what each costs alone at the outputs; the shortest run of the costliest that
    meets the threshold is searched by halves; then whatever turns out to be unneeded in it is left out
    again, in parts and at last one by one. So no node of the result can be left out, though a smaller
    set of others may exist. Everything is computed on the rounding reference.

    Args:
        program: a Program, or anything that `mt.load` takes.
        precision: a name or a `Precision`, as for `mt.compile`; its own exceptions stay. Ranges of activations
            that it lacks are found on `inputs`; the result has them, and the type of what is not quantized.
        metric: "snr_db", "cosine", "top1_agreement" (at least the threshold), "max_abs_error" or
            "mean_abs_error" (at most).
        threshold: what the worst floating-point output must reach over all samples (for "max_abs_error",
            integer outputs too); None is the metric's usual one.
        inputs: one sample or several, see `mt.compare`; None makes seeded synthetic ones.
        target: as for `mt.compare`: what it is compiled for, which the type of what is not quantized goes by.
        state: the path of a file that every trial is written to. A search that was stopped goes on from it.
        progress: called as `progress(phase, done, total)`; returning False cancels.

    Raises:
        PrecisionError: the threshold is out of reach, the program draws random numbers, or the state file
            is of another search.
        OptionError, SourceError, InputError, ShapeError, PassError, Cancelled.
    """
    source = program if isinstance(program, Program) else load(program)
    goal, samples = _goal(metric, threshold), samples_of(source, inputs, shapes)
    search = _Search(source, Precision.of(precision), goal, samples)
    targets = parse_targets(default_targets() if target is None else target)
    search.place(targets, shapes_for(source, samples, shapes))
    search.resume(state)
    return search.run(progress)


@dataclass(frozen=True)
class _Goal:
    metric: Metric
    threshold: float

    def reached(self, value: float) -> bool:
        return self.metric.accepts(value, self.threshold)

    def __str__(self) -> str:
        side = "at least" if self.metric.higher_is_better else "at most"
        return f"{self.metric.name} {side} {self.threshold:g}"


def _goal(name: str, threshold: float | None) -> _Goal:
    chosen = metric(name)
    number = (
        isinstance(threshold, int | float | np.integer | np.floating)
        and not isinstance(threshold, bool)
        and threshold == threshold
    )
    if threshold is not None and not number:
        raise OptionError(f"threshold must be a number, got {threshold!r}")
    return _Goal(chosen, chosen.default if threshold is None else float(threshold))


def _digest(ranges: Calibration | None) -> str:
    """A hash of ranges of activations, which a Precision's text does not spell out."""
    values = [] if ranges is None else sorted(ranges.ranges.items())
    return blake2b(repr(values).encode(), digest_size=8).hexdigest()


class _Search:
    """One search: what is tried, and what came of it."""

    def __init__(self, source: Program, precision: Precision, goal: _Goal, samples: Samples) -> None:
        self._source = source
        self._precision = precision
        self._goal = goal
        self._samples = samples
        self._progress: Progress | None = None

    def place(self, targets: tuple[str, ...], shapes: Any) -> None:
        """Convert the exact program and run it."""
        self._targets = targets
        given = self._precision
        self._precision = resolved(self._source, given, shapes, self._samples)
        if given.is_quantized:  # said of itself, so that what is found holds for whatever it is compiled for
            self._precision = replace(self._precision, rest=given.rest_for(targets))
        self._named = repr(given)
        if given.calibration is not None:
            self._named += f", ranges {_digest(self._precision.calibration)}"
        self._exact = Interpreter(converted(self._source, "fp32", targets, shapes))
        refuse_random(self._exact, "make the model deterministic first")
        self._named += "".join(f", function {digest}" for digest in self._functions())
        self._outputs = [self._exact.run(sample) for sample in self._samples.values]

    def _functions(self) -> Iterator[str]:
        """What each function among the exceptions takes of the program, as its name does not say it."""
        for keep in self._precision.keep:
            if not isinstance(keep.pattern, str):
                taken = [step.index for step in self._exact.steps if keep.takes(Op.of(step.operation))]
                yield blake2b(repr(taken).encode(), digest_size=8).hexdigest()

    def resume(self, path: Any) -> None:
        """Read what an earlier search found, if it was the same search."""
        identity = {
            "program": content_hash(self._source),
            "precision": self._named,
            "goal": str(self._goal),
            "inputs": self._samples.fingerprint,
            "targets": ", ".join(self._targets),
        }
        self._state = BisectionState(identity, path)

    def run(self, progress: Progress | None) -> Precision:
        self._progress = progress
        if self._good(()):
            return self._found(())
        order = self._order()
        if not order or not self._good(order):
            best = self._value(order)
            raise PrecisionError(
                f"{self._goal} is out of reach: with every op kept in fp32 it is {best:.4g}",
                hint="loosen the threshold, or take a precision whose inputs and outputs are not rounded",
            )
        return self._found(self._pruned(self._shortest(order)))

    def _found(self, kept: Keeps) -> Precision:
        reached = f"{self._value(kept):.4g}, wanted {self._goal}, on {self._samples.origin}"
        return replace(self._precision.with_keep(*kept), reached=f"reaches {reached}")

    def _order(self) -> Keeps:
        """Patterns of source nodes, by what each costs at the outputs of the first sample, costliest first."""
        if self._state.order is None:
            variant = Interpreter(self._variant(()))
            first = Samples(self._samples.values[:1], self._samples.origin)
            found = sensitivity_of(self._exact, variant, first, self._precision, self._progress)
            self._state.keep_order(found.patterns)
        return tuple(self._state.order or ())

    def _shortest(self, order: Keeps) -> Keeps:
        """The shortest prefix that is good, where each longer one is: by halves."""
        low, high = 0, len(order)  # the first `low` are not enough, the first `high` are
        while high - low > 1:
            middle = (low + high) // 2
            if self._good(order[:middle]):
                high = middle
            else:
                low = middle
        return order[:high]

    def _pruned(self, kept: Keeps) -> Keeps:
        """Leave out parts that are not needed: halves, quarters, at last single nodes, the cheapest first."""
        size = max(1, len(kept) // 2)
        while True:
            position = len(kept)
            while position > 0 and len(kept) > 1:
                start = max(0, position - size)
                shorter = kept[:start] + kept[position:]
                if shorter and self._good(shorter):
                    kept = shorter
                position = start
            if size == 1:
                return kept
            size //= 2

    def _variant(self, kept: Sequence[str]) -> Program:
        return at_precision(self._exact.program, self._precision.with_keep(*kept), self._targets)

    def _good(self, kept: Keeps) -> bool:
        return self._goal.reached(self._value(kept))

    def _value(self, kept: Keeps) -> float:
        known = self._state.value(kept)
        if known is not None:
            return known
        if self._progress is not None and self._progress("bisection", self._state.trials, 0) is False:
            raise Cancelled("the bisection was stopped")
        variant = Interpreter(self._variant(kept))
        errors = OutputErrors()
        for sample, outputs in zip(self._samples.values, self._outputs, strict=True):
            errors = errors.merged(compared(outputs, variant.run(sample)))
        value = self._goal.metric.value(errors)
        self._state.record(kept, value)
        return value
