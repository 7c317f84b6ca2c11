"""`ranges`: what values a program has, before anything is built, and which of them a precision cannot hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from torch_mlir import ir

from ..errors import Cancelled
from ..frontends.load import load
from ..ir.constants import handle_name, value_of
from ..precision import Precision
from ..program import Program
from ..progress import Progress
from ..shown import Shown
from .alignment import is_float
from .conversion import converted
from .interpreter import Interpreter, read_values
from .op_cures import default_reasons, is_proportional, is_read_in_f16
from .op_range import F16_LARGEST, OpRange
from .rounding import widen
from .samples import samples_of, shapes_for

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Finding", "OpRange", "Ranges", "ranges", "weights_of"]


WEIGHTS = "weights"  # in place of an op's name
# A share of subnormal values below this does not count: one stray value loses nothing.
_NOTABLE_SHARE = 0.01
_FEW_VALUES = 16


@dataclass(frozen=True)
class Finding:
    """Something that a precision will do to an op's values. `cure` says what helps, in words; `keep` is a
    pattern for `Precision(keep=...)` that applies it, together with those of `readers`, which would else read
    the value in the small type; "" where the cure is another."""

    level: str
    problem: str
    op: str
    source: str
    value: float
    cure: str
    keep: str = ""
    readers: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[str, ...]:
        """All that is to be kept in fp32 for the cure, each once; nothing where the cure is another."""
        return tuple(dict.fromkeys((self.keep, *self.readers))) if self.keep else ()


@dataclass
class Ranges(Shown):
    """The ranges of all results and weights of a program, and what is wrong with them.

    Attributes:
        inputs: what they were computed on, in words.
        ops: one entry per op with a floating-point result, in program order, each after one for its weights,
            whose op is called "weights".
    """

    name: str
    inputs: str
    ops: list[OpRange] = field(repr=False)

    @cached_property
    def df(self) -> pd.DataFrame:
        """One row per op: op, source, type, low, high, largest, overflow_f16 (values), subnormal_f16 and
        vanishing_f16 (shares of the values that are not 0), dead_channels, channels, not_finite."""
        import pandas as pd

        rows = [
            (
                entry.op,
                entry.source,
                entry.element,
                entry.low,
                entry.high,
                entry.largest,
                entry.overflowing,
                entry.subnormal,
                entry.vanishing,
                len(entry.dead),
                entry.channels,
                entry.not_finite,
            )
            for entry in self.ops
        ]
        return pd.DataFrame(rows, columns=_COLUMNS)

    @cached_property
    def findings(self) -> list[Finding]:
        """What will go wrong, worst first: overflow, values that vanish or lose bits, dead channels."""
        return sorted(_findings(self.ops), key=lambda finding: _ORDER.index(finding.level))

    def precision(self, base: Precision | str = "fp16") -> Precision:
        """The `Precision` of `base` that keeps in fp32 the ops whose findings say so, and those that read what
        they give: the cure, applied. One without fp16, such as bf16, has nothing of f16 to be cured of."""
        chosen = Precision.of(base)
        if (chosen.rest or ("fp16" if chosen.is_quantized else chosen.base)) != "fp16":
            return chosen
        patterns = dict.fromkeys(name for finding in self.findings for name in finding.patterns)
        return chosen.with_keep(*patterns)

    def plot(self) -> Any:
        """A figure: magnitudes along the graph beside what f16 holds. Raises MissingDependencyError."""
        from ..reports.error_plot import ranges_figure

        return ranges_figure(self)

    def __str__(self) -> str:
        from ..display.numerics import ranges_text

        return ranges_text(self)

    def _repr_html_(self) -> str:
        from ..display.numerics import ranges_html

        return ranges_html(self)


_ORDER = ("bad", "warn", "good")
_COLUMNS = [
    "op",
    "source",
    "type",
    "low",
    "high",
    "largest",
    "overflow_f16",
    "subnormal_f16",
    "vanishing_f16",
    "dead_channels",
    "channels",
    "not_finite",
]


def ranges(
    program: Program | Any,
    inputs: Any = None,
    *,
    shapes: Any = None,
    progress: Progress | None = None,
) -> Ranges:
    """The values that each op of `program` gives, in fp32 and before any engine is built.

    Args:
        program: a Program, or anything that `mt.load` takes.
        inputs: one sample or several, see `mt.compare`; None makes seeded synthetic ones.
        shapes: of dynamic inputs, as for `mt.compile`.
        progress: called as `progress(phase, done, total)`; returning False cancels.

    Raises SourceError, InputError, ShapeError, PassError, Cancelled.
    """
    source = program if isinstance(program, Program) else load(program)
    samples = samples_of(source, inputs, shapes)
    interpreter = Interpreter(converted(source, "fp32", "cpu", shapes_for(source, samples, shapes)))
    found: dict[tuple[int, int], OpRange] = {}
    readers = _readers(interpreter)
    reasons = default_reasons(interpreter)
    read_small = is_read_in_f16(interpreter, reasons)
    for step in interpreter.steps:
        for array in weights_of(step.operation, interpreter.program.weights):
            place = (step.index, 0)
            entry = found.setdefault(place, OpRange(WEIGHTS, step.source, "f32", step.pattern))
            entry.add(array, channels=False)
    for number, sample in enumerate(samples.values):
        if progress is not None and progress("ranges", number, len(samples.values)) is False:
            raise Cancelled("the range analysis was stopped")
        for executed in interpreter.walk(sample):
            floats = [widen(array) for array in executed.results if is_float(array)]
            if floats:
                step = executed.step
                entry = OpRange(step.op, step.source, step.element, step.pattern)
                entry.readers, entry.kept = readers[step.index], reasons[step.index]
                entry.read_small = read_small[step.index]
                entry.proportional = is_proportional(step.operation)
                found.setdefault((step.index, 1), entry).add(floats[0])
    return Ranges(source.name, samples.origin, [found[index] for index in sorted(found)])


def _readers(program: Interpreter) -> list[tuple[str, ...]]:
    """Per step, the patterns of the steps that read its first result, each once."""
    made = {value: step.index for step in program.steps for value in list(step.operation.results)[:1]}
    found: list[dict[str, None]] = [{} for _ in program.steps]
    for step in program.steps:
        for value in read_values(step.operation):
            if value in made and step.pattern:
                found[made[value]].setdefault(step.pattern)
    return [tuple(patterns) for patterns in found]


def weights_of(operation: ir.Operation, table: dict[str, np.ndarray]) -> Iterator[np.ndarray]:
    """The arrays of f32 that an op reads as constants, or has as attributes, of more than one element."""
    attributes = [operation.attributes[name] for name in operation.attributes]
    attributes += [
        value.owner.operation.attributes["weights"]
        for value in operation.operands
        if isinstance(value, ir.OpResult) and value.owner.name == "tensorrt.constant"
    ]
    for attribute in attributes:
        if isinstance(attribute, ir.DenseElementsAttr) or handle_name(attribute) is not None:
            array = value_of(attribute, table)
            if array.dtype == np.float32 and array.size > 1:
                yield array


def _findings(ops: Iterable[OpRange]) -> Iterable[Finding]:
    """One finding per entry and kind; of channels that are passed on dead, only the first op is named."""
    seen_dead: set[tuple[int, ...]] = set()
    for entry in ops:
        if entry.not_finite:
            yield Finding(
                "bad", "is not finite in fp32 itself", entry.op, entry.source, float(entry.not_finite),
                "check the model or the inputs: no precision cures this",
            )  # fmt: skip
        if entry.overflowing:
            factor = 2.0 ** int(np.ceil(np.log2(entry.largest / F16_LARGEST)))
            problem = f"overflows f16: {entry.largest:.4g} is above 65504"
            yield _cured(entry, "bad", problem, entry.largest, f"divide what comes in by {factor:g}")
        elif entry.vanishing > _NOTABLE_SHARE:
            problem = f"{entry.vanishing:.0%} of its values become 0 in f16"
            yield _cured(entry, "warn", problem, entry.vanishing, "scale its input up")
        elif entry.subnormal > _NOTABLE_SHARE:
            yield Finding(
                "warn", f"{entry.subnormal:.0%} of its values are subnormal in f16 and lose bits", entry.op,
                entry.source, entry.subnormal, "keep it in fp32 where the error curve shows it, or take bf16",
            )  # fmt: skip
        dead = tuple(entry.dead)
        if dead and dead not in seen_dead:
            seen_dead.add(dead)  # what follows passes the same channels on
            yield Finding(
                "good", f"0 throughout: {_spelled(dead)} of {entry.channels}", entry.op,
                entry.source, float(len(dead)), "prune them, if more inputs do not wake them",
            )  # fmt: skip


def _cured(entry: OpRange, level: str, problem: str, value: float, scaling: str) -> Finding:
    """A finding of an op whose values f16 does not hold: fp32 cures it, unless fp16 keeps it there anyway."""
    if entry.kept and not entry.read_small:
        cure = f"none needed: fp16 keeps it in fp32 ({entry.kept})"
        return Finding("good", problem, entry.op, entry.source, value, cure)
    if entry.kept:
        cure = "keep what reads it in fp32 too, or take bf16"
    elif entry.proportional:
        cure = f"keep it in fp32, take bf16, or {scaling}"
    else:
        cure = "keep it in fp32, or take bf16"
    return Finding(level, problem, entry.op, entry.source, value, cure, entry.keep, entry.readers)


def _spelled(positions: tuple[int, ...]) -> str:
    """ "channel 3", "channels 3, 4"."""
    shown = ", ".join(map(str, positions[:_FEW_VALUES]))
    more = f" and {len(positions) - _FEW_VALUES} more" if len(positions) > _FEW_VALUES else ""
    return f"{'channel' if len(positions) == 1 else 'channels'} {shown}{more}"
