"""The figure of a LatencyReport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .figures import new_figure
from .statistics import percentile

if TYPE_CHECKING:
    from .latency import LatencyReport

__all__ = ["latency_figure"]


def latency_figure(report: LatencyReport) -> Any:
    """Two axes: latency over time, and its histogram. Raises MissingDependencyError without matplotlib."""
    values = report.samples["Latency"]
    figure = new_figure((9, 3.3))
    over_time, histogram = figure.subplots(1, 2, width_ratios=(2, 1), sharey=True)
    over_time.plot(values, ".", markersize=3, alpha=0.6)
    over_time.set_xlabel("query")
    over_time.set_ylabel("latency, ms")
    histogram.hist(values, bins=min(50, max(5, int(np.sqrt(values.size)))), orientation="horizontal", alpha=0.6)
    histogram.set_xlabel("queries")
    lines = []
    for name, level, style in (("median", np.median(values), "-"), ("99 %", percentile(values, 99), "--")):
        label = f"{name} {level:.3g} ms"
        for axes in (over_time, histogram):
            line = axes.axhline(level, linestyle=style, linewidth=1, color="black", alpha=0.7, label=label)
        lines.append(line)
    # Beside the axes: on them, labels would lie on bars, on each other, or across the edge.
    figure.legend(handles=lines, loc="outside lower right", ncols=2, frameon=False)
    figure.suptitle(
        f"{report.conditions['session']} on {report.conditions['device']}: {report.throughput:.4g} qps"
    )
    return figure
