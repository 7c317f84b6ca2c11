"""Why a variant is slower, larger or wrong: sentences from what was measured and what the builders said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..display.units import plural
from ..fallbacks import run_by
from ..ir import dtypes
from ..numerics.error_curve import BAD_SNR_DB, ErrorCurve
from ..numerics.op_range import F16_LARGEST
from ..numerics.output_errors import OutputErrors
from ..reports.latency import LatencyReport
from .engines import EngineNumbers
from .variant import Variant

__all__ = ["Facts", "is_bad", "notes_of"]

_SLOWER = 1.05  # less is noise
_LARGER = 1.1  # over the ideal size of the weights
_MOST_REASONS = 3


@dataclass(frozen=True)
class Facts:
    """What is known of a variant."""

    variant: Variant
    engines: EngineNumbers | None = None
    cpu: EngineNumbers | None = None
    latency: LatencyReport | None = None
    curve: ErrorCurve | None = None
    unmeasured: str = ""


def is_bad(variant: Variant) -> bool:
    """Whether a variant's outputs are not usable, so that it is worth a search for where they go wrong."""
    return variant.errors is not None and not variant.random and variant.errors.snr_db < BAD_SNR_DB


def notes_of(facts: Facts, reference: Facts | None) -> list[str]:
    """Sentences, the gravest first; `reference` is None for the reference itself."""
    if facts.variant.error:
        return [f"failed: {facts.variant.error}"]
    return [*_wrong(facts), *_slower(facts, reference), *_larger(facts, reference), *_about(facts)]


def _wrong(facts: Facts) -> Iterator[str]:
    variant, curve = facts.variant, facts.curve
    if variant.random:
        yield f"errors say nothing: {variant.random} draws random numbers"
    if variant.errors is not None:
        yield from _other_outputs(variant.errors)
    if curve is None:
        return
    if curve.overflow is not None:
        bad = curve.overflow
        held = bad.gives or bad.element
        if held == "f16" and bad.largest < F16_LARGEST:  # its own values would fit
            yield f"overflow: {bad.op} '{bad.source}' reads values that {held} does not hold"
        else:
            yield f"overflow: {bad.op} '{bad.source}' reaches {bad.largest:.3g}, which {held} does not hold"
    elif curve.first_bad is not None:
        bad = curve.first_bad
        yield f"wrong from {bad.op} '{bad.source}' on ({bad.reached.snr_db:.0f} dB)"
        worst = curve.worst
        if worst is not None and worst.source != bad.source:
            yield f"most of the error is made by {worst.op} '{worst.source}'"


def _other_outputs(errors: OutputErrors) -> Iterator[str]:
    """What the measures, which are of floating-point outputs, leave out."""
    for name, entry in errors.integers.items():
        if entry.differing:
            yield f"integer output '{name}' differs in {entry.differing} of {plural(entry.count, 'value')}"
    for name in sorted(errors.reshaped):
        yield f"output '{name}' has another shape than the reference's: its error is not known"


def _slower(facts: Facts, reference: Facts | None) -> Iterator[str]:
    if facts.unmeasured:
        yield f"latency not measured: {facts.unmeasured}"
    if reference is None or facts.latency is None or reference.latency is None:
        return
    ratio = _median(facts.latency) / _median(reference.latency)
    if ratio <= _SLOWER:
        return
    parts = []
    if facts.latency.conditions.get("device") != "cuda" and facts.cpu is not None:
        if facts.cpu.reformat_layers:
            casts = plural(facts.cpu.reformat_layers, "cast")
            parts.append(f"{casts} around ops whose type ONNX Runtime has no CPU kernels for")
        if facts.cpu.qdq_layers:
            parts.append(f"{plural(facts.cpu.qdq_layers, 'unfused quantize or dequantize node')}")
    why = ": " + " and ".join(parts) if parts else ""
    yield f"{ratio:.2f} times the reference's latency{why}"


def _median(report: LatencyReport) -> float:
    return float(report.df.loc[0, "median"])


def _larger(facts: Facts, reference: Facts | None) -> Iterator[str]:
    """Weights that are much larger than the element type would make them."""
    own = facts.engines or facts.cpu
    other = (reference.engines or reference.cpu) if reference is not None else None
    if own is None or other is None or not own.weights_bytes or not other.weights_bytes:
        return
    ideal = dtypes.by_mlir(facts.variant.precision.element).bits / _usual_bits(reference)
    ratio = own.weights_bytes / other.weights_bytes
    if ratio > ideal * _LARGER and facts.variant.precision.base != "fp32":
        all_of_them = f"{ideal:g} if all of them were {facts.variant.precision.base}"
        yield f"weights are {ratio:.2f} of the reference's, {all_of_them}"


def _usual_bits(reference: Facts | None) -> int:
    """The bits of the type that most of the reference's ops compute in: a model may come in fp16."""
    counts = reference.variant.types.counts if reference is not None else {}
    return dtypes.by_mlir(max(counts, key=lambda element: counts[element])).bits if counts else 32


def _about(facts: Facts) -> Iterator[str]:
    variant, engines = facts.variant, facts.engines
    kept = sorted(variant.types.kept.items(), key=lambda entry: -entry[1])
    if kept:
        shown = "; ".join(f"{reason} ({count})" for reason, count in kept[:_MOST_REASONS])
        others = len(kept) - _MOST_REASONS
        more = f"; {plural(others, 'more reason')}" if others > 0 else ""
        yield f"{plural(sum(variant.types.kept.values()), 'op')} kept in a higher precision: {shown}{more}"
    if engines is not None and engines.target != "cpu":
        if engines.qdq_layers:
            yield f"{plural(engines.qdq_layers, 'engine layer')} for quantizing alone"
        if engines.reformat_layers:
            yield f"{plural(engines.reformat_layers, 'engine layer')} for changes of format or type alone"
    calibration = variant.precision.calibration
    if variant.on_samples:
        yield "calibrated on the inputs that it is compared on"
    elif getattr(calibration, "synthetic", False):
        yield "calibrated on synthetic inputs"
    left = 0 if variant.plan is None else sum(row.count for row in variant.plan.fallback_rows)
    if left and variant.plan is not None and set(variant.plan.targets) != {"cpu"}:
        yield f"{plural(left, 'op')} outside the engines: {run_by(variant.plan.fallback_rows)}"
