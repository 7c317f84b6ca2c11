"""Figures of what the rounding reference finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .figures import new_figure

if TYPE_CHECKING:
    from ..numerics.error_curve import ErrorCurve
    from ..numerics.ranges import Ranges
    from ..numerics.sensitivity import Sensitivity

__all__ = ["error_curve_figure", "ranges_figure", "sensitivity_figure"]

_MOST_BARS = 15
_CEILING_DB = 120.0  # an exact result is drawn here
_FLOOR_DB = -20.0  # and one that is not finite here


def error_curve_figure(curve: ErrorCurve) -> Any:
    """The signal-to-noise ratio of each op's result, and of its own error. Raises MissingDependencyError."""
    figure = new_figure((9, 3.2))
    axes = figure.subplots()
    reached, own = (
        np.array([max(getattr(entry, side).snr_db, _FLOOR_DB) for entry in curve.ops])
        for side in ("reached", "own")
    )
    places = np.arange(len(curve.ops))
    axes.plot(places, np.minimum(reached, _CEILING_DB), "-o", markersize=3, label="with everything before it")
    makes = np.isfinite(own)  # most ops make no error of their own
    axes.plot(
        places[makes], own[makes], "x", markersize=5, alpha=0.7, label="its own error, where it makes one"
    )
    axes.axhline(curve.threshold, linestyle="--", linewidth=1, color="0.4")
    axes.annotate(
        f"bad below {curve.threshold:g} dB",
        (1, curve.threshold),
        xycoords=("axes fraction", "data"),
        ha="right",
        va="bottom",
        fontsize=8,
    )
    bad = next((n for n, entry in enumerate(curve.ops) if entry.reached.snr_db < curve.threshold), None)
    if bad is not None:
        axes.annotate(
            f"first bad: {curve.ops[bad].source}",
            (bad, min(reached[bad], _CEILING_DB)),
            (6, 30),
            textcoords="offset points",
            fontsize=8,
            arrowprops={"arrowstyle": "->"},
        )
    _along_the_program(axes, "signal to noise, dB")
    figure.suptitle(f"{curve.name} at {curve.precision}, {curve.inputs}")
    return figure


def sensitivity_figure(found: Sensitivity) -> Any:
    """The costliest ops as bars of their share of the noise. Raises MissingDependencyError."""
    shown = found.df.head(_MOST_BARS)[::-1]
    figure = new_figure((8, 0.6 + 0.32 * max(len(shown), 2)))
    axes = figure.subplots()
    labels = [f"{row.source}  ({row.op.partition('.')[2]})" for row in shown.itertuples()]
    axes.barh(range(len(shown)), 100 * shown["noise_share"])
    axes.set_yticks(range(len(shown)), [label[-60:] for label in labels], fontsize=8)
    axes.set_xlabel("share of the noise at the outputs, %")
    figure.suptitle(f"{found.name} at {found.precision.label}: what each op costs alone")
    return figure


def ranges_figure(found: Ranges) -> Any:
    """The largest magnitude of each op's result on a logarithmic scale, beside the range of f16.

    Raises MissingDependencyError.
    """
    figure = new_figure((9, 3.2))
    axes = figure.subplots()
    largest = np.array([max(entry.largest, 1e-12) for entry in found.ops])
    over = np.array([entry.overflowing > 0 for entry in found.ops], bool)
    places = np.arange(len(largest))
    axes.semilogy(places[~over], largest[~over], "o", markersize=4, label="fits f16")
    axes.semilogy(places[over], largest[over], "x", markersize=7, color="tab:red", label="overflows f16")
    for level, name in ((65504.0, "largest f16"), (2.0**-14, "smallest normal f16")):
        axes.axhline(level, linestyle="--", linewidth=1, color="0.4")
        axes.annotate(name, (0, level), va="bottom", fontsize=8)
    _along_the_program(axes, "largest magnitude")
    figure.suptitle(f"{found.name}: ranges of values, {found.inputs}")
    return figure


def _along_the_program(axes: Any, shown: str) -> None:
    """Label axes that have a place for each op."""
    axes.set_xlabel("op, in program order")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel(shown)
    axes.legend(loc="best", fontsize=8)
