"""`benchmark`: how long a Session takes, with trtexec's metric names, percentile rule and warnings."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..kind_name import kind_name
from ..shown import Shown
from .statistics import summarize, variation
from .synthetic import synthetic_inputs

if TYPE_CHECKING:
    import pandas as pd

    from ..runtime.session import Session

__all__ = ["LatencyReport", "benchmark"]

# trtexec's names in its order. On the CPU there is only "Latency": nothing is enqueued or transferred.
METRICS = ("Latency", "Enqueue Time", "H2D Latency", "GPU Compute Time", "D2H Latency")


def benchmark(
    session: Session,
    inputs: Mapping[str, Any] | Sequence[Any] | None = None,
    warmup_ms: float = 200,
    duration_ms: float = 3000,
    iterations: int = 10,
    profile: bool = False,
) -> LatencyReport:
    """Measure a session.

    Args:
        inputs: arrays by name or in order; None makes seeded synthetic ones of the profile's opt shapes.
        warmup_ms: run this long before measuring.
        duration_ms: measure at least this long,
        iterations: and at least this many queries; one is measured in any case.
        profile: measure each engine's layers too, in a run of its own.

    Raises:
        InputError: inputs that the session does not take.
        OptionError: a negative time or count, or something that is no session.
    """
    from ..runtime.session import Session

    if not isinstance(session, Session):
        raise OptionError(
            f"benchmark measures a Session, not {kind_name(session)}", hint="mt.benchmark(plan.session())"
        )
    for name, value in (("warmup_ms", warmup_ms), ("duration_ms", duration_ms), ("iterations", iterations)):
        if not isinstance(value, int | float | np.integer | np.floating) or not math.isfinite(value):
            raise OptionError(f"{name} must be a number, got {value!r}")
        if value < 0:
            raise OptionError(f"{name} must not be negative, got {value}")
    arrays = synthetic_inputs(session.inputs) if inputs is None else session.ordered(inputs)
    least = max(iterations, 1)
    if session.device == "cuda":
        samples, walltime = _measure_parts(session, arrays, warmup_ms, duration_ms, least)
    else:
        samples, walltime = _measure_calls(session, arrays, warmup_ms, duration_ms, least)
    layers = session.profile(arrays, max(1, min(int(iterations), 100))) if profile else None
    conditions = {
        "session": session.name,
        **session.conditions(),
        "inputs": "synthetic, seed 0" if inputs is None else "given",
        "shapes": {s.name: _shape(array) for s, array in zip(session.inputs, arrays, strict=True)},
        "warmup_ms": warmup_ms,
        "duration_ms": duration_ms,
        "iterations": iterations,
        "streams": 1,
        "timed_on": "device events" if session.device == "cuda" else "host",
    }
    return LatencyReport(samples, walltime, conditions, layers)


def _shape(array: Any) -> list[int] | None:
    return list(array.shape) if isinstance(array, np.ndarray) else None


def _measure_calls(
    session: Session, arrays: list[Any], warmup_ms: float, duration_ms: float, iterations: int
) -> tuple[dict[str, np.ndarray], float]:
    """Whole calls by the host's clock: each sample's ms, and the seconds of all."""
    clock = time.perf_counter_ns
    end = clock() + int(warmup_ms * 1e6)
    session(*arrays)
    while clock() < end:
        session(*arrays)
    samples: list[int] = []
    begin = clock()
    end = begin + int(duration_ms * 1e6)
    before = begin
    while before < end or len(samples) < iterations:
        session(*arrays)
        after = clock()
        samples.append(after - before)
        before = after
    return {"Latency": np.array(samples) / 1e6}, (before - begin) / 1e9


def _measure_parts(
    session: Session, arrays: list[Any], warmup_ms: float, duration_ms: float, iterations: int
) -> tuple[dict[str, np.ndarray], float]:
    """Calls whose parts the device times itself."""
    end = time.perf_counter() + warmup_ms / 1e3
    session.timed(arrays)
    while time.perf_counter() < end:
        session.timed(arrays)
    rows: list[Mapping[str, float]] = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < duration_ms / 1e3 or len(rows) < iterations:
        rows.append(session.timed(arrays))
    walltime = time.perf_counter() - begin
    return {name: np.array([row[name] for row in rows]) for name in METRICS}, walltime


@dataclass
class LatencyReport(Shown):
    """What a benchmark found.

    Attributes:
        samples: metric -> the time of each query in ms, in order.
        walltime: Total Host Walltime in seconds: from the first measured query to the end of the last.
        conditions: what was measured, where and how. Reports are comparable when these agree.
        layer_times: per engine layer, the time of each profiled run in ms; None without `profile`.
    """

    samples: dict[str, np.ndarray]
    walltime: float
    conditions: dict[str, Any]
    layer_times: Sequence[Any] | None = field(default=None, repr=False)

    @property
    def queries(self) -> int:
        """How many were measured."""
        return len(self.samples["Latency"])

    @property
    def throughput(self) -> float:
        """Queries per second of walltime (qps)."""
        return self.queries / self.walltime if self.walltime else math.inf

    @cached_property
    def df(self) -> pd.DataFrame:
        """One row per metric in ms: min, max, mean, median, percentile(90%), (95%), (99%). `attrs` holds
        throughput_qps, total_host_walltime_s, queries and the conditions."""
        import pandas as pd

        frame = pd.DataFrame([{"metric": name, **summarize(values)} for name, values in self.samples.items()])
        frame.attrs = {
            "unit": "ms",
            "throughput_qps": self.throughput,
            "total_host_walltime_s": self.walltime,
            "queries": self.queries,
            "conditions": self.conditions,
        }
        return frame

    @cached_property
    def layers(self) -> pd.DataFrame:
        """One row per engine layer, slowest first: engine, layer, kind, time_ms (of all runs), average_ms,
        median_ms, percentage, sources. Empty if the benchmark did not profile."""
        import pandas as pd

        columns = ["engine", "layer", "kind", "time_ms", "average_ms", "median_ms", "percentage", "sources"]
        times = list(self.layer_times or ())
        total = sum(sum(layer.times_ms) for layer in times)
        rows = [
            (
                layer.engine,
                layer.layer,
                layer.kind,
                sum(layer.times_ms),
                float(np.mean(layer.times_ms)),
                float(np.median(layer.times_ms)),
                sum(layer.times_ms) / total * 100 if total else 0.0,
                list(layer.sources),
            )
            for layer in times
        ]
        return pd.DataFrame(rows, columns=columns).sort_values("time_ms", ascending=False, ignore_index=True)

    @cached_property
    def warnings(self) -> list[str]:
        """What makes the numbers doubtful, by trtexec's thresholds."""
        found = []
        median = {name: float(np.median(values)) for name, values in self.samples.items()}
        compute = "GPU Compute Time" if "GPU Compute Time" in self.samples else "Latency"
        if "Enqueue Time" in median and median["Enqueue Time"] > 0.8 * median[compute]:
            found.append("Throughput may be bound by Enqueue Time rather than GPU Compute: the GPU may idle")
        for name, way in (("H2D Latency", "host-to-device"), ("D2H Latency", "device-to-host")):
            if name in median and median[name] >= median[compute]:
                found.append(f"Throughput may be bound by {way} transfers rather than GPU Compute")
        spread = variation(self.samples[compute])
        if spread > 2.5:
            advice = "lock the GPU's clocks" if compute != "Latency" else "stop other work on this machine"
            found.append(f"{compute} is unstable: it varies by {spread:.1f} %; {advice} or measure longer")
        return found

    def plot(self) -> Any:
        """A figure: the latency of each query, and its distribution with median and 99th percentile.

        Raises MissingDependencyError without matplotlib.
        """
        from .latency_plot import latency_figure

        return latency_figure(self)

    def __str__(self) -> str:
        from ..display.latency import latency_text

        return latency_text(self)

    def _repr_html_(self) -> str:
        from ..display.latency import latency_html

        return latency_html(self)
