"""The figure of a Comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .figures import new_figure

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["comparison_figure"]

_MARKERS = "osD^vP*X"
_MEMORY = {"weights_bytes": "weights", "activation_bytes": "activations"}
_EXACT_DB = 140.0  # where a variant without any error is drawn


def comparison_figure(df: pd.DataFrame, name: str, reference: str, sources: Mapping[str, str]) -> Any:
    """Two axes: error against latency, a marker per variant; and memory as stacked bars.

    A variant without a latency or an error is left out of the first, one without bytes of the second.
    Raises MissingDependencyError without matplotlib.
    """
    figure = new_figure((10, 3.6))
    errors, memory = figure.subplots(1, 2)
    _errors(errors, df, reference)
    errors.set_title(sources["latency_ms"], fontsize=8)
    _memory(memory, df)
    memory.set_title(sources["weights_bytes"], fontsize=8)
    figure.suptitle(f"{name}: precisions compared")
    return figure


def _errors(axes: Any, df: pd.DataFrame, reference: str) -> None:
    drawn = df[df["latency_ms"].notna() & df["snr_db"].notna()]
    for place, row in enumerate(drawn.itertuples()):
        height = _EXACT_DB if math.isinf(row.snr_db) and row.snr_db > 0 else max(row.snr_db, -20.0)
        axes.plot(row.latency_ms, height, _MARKERS[place % len(_MARKERS)], markersize=8)
        label = row.variant + (" (exact)" if height == _EXACT_DB else "")
        axes.annotate(label, (row.latency_ms, height), (6, 5), textcoords="offset points", fontsize=9)
    if not len(drawn):
        axes.annotate("no latency was measured", (0.5, 0.5), xycoords="axes fraction", ha="center")
    axes.margins(0.25)
    axes.set_xlabel("median latency, ms (left is faster)")
    axes.set_ylabel(f"signal to noise against {reference}, dB")
    axes.grid(alpha=0.3)


def _memory(axes: Any, df: pd.DataFrame) -> None:
    drawn = df[df["weights_bytes"].notna()]
    places = range(len(drawn))
    bottom = [0.0] * len(drawn)
    for column, hatch in zip(_MEMORY, ("", "//"), strict=True):
        sizes = [0.0 if value is None else value / 2**20 for value in _floats(drawn[column])]
        axes.bar(places, sizes, bottom=bottom, label=_MEMORY[column], hatch=hatch, edgecolor="white")
        bottom = [low + size for low, size in zip(bottom, sizes, strict=True)]
    axes.set_xticks(places, list(drawn["variant"]), rotation=20 if len(drawn) > 4 else 0)
    axes.set_ylabel("MiB")
    if len(drawn):
        axes.set_ylim(0, max(bottom) * 1.2 or 1)  # so that the legend lies above the bars
        axes.legend(fontsize=8, loc="upper center", ncols=len(_MEMORY))
    else:
        axes.annotate("no bytes are known", (0.5, 0.5), xycoords="axes fraction", ha="center")


def _floats(values: pd.Series) -> list[float | None]:
    return [None if missing else float(value) for value, missing in zip(values, values.isna(), strict=True)]
