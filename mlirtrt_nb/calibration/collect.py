"""`calibrate`: runs a program on inputs and finds the ranges of what would be rounded."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np

from ..activation_ranges import METHODS, Calibration
from ..compilation import before_clustering
from ..errors import CalibrationError, MlirTrtError
from ..frontends.load import load
from ..precision import Precision
from ..program import Program
from ..progress import Progress
from ..worker import Isolation
from .batches import Batch, batches, count_of, synthetic_batches, told
from .compared import compared_values
from .content import content_hash, hashing
from .histogram import Histogram
from .observe import observed
from .runner import Runner
from .thresholds import threshold

__all__ = ["calibrate", "ranges_for", "synthetic_ranges"]


def calibrate(
    program: Program | Any,
    data: Any = None,
    method: str = "percentile",
    shapes: Any = None,
    limit: int | None = None,
    progress: Progress | None = None,
    isolate: bool | Isolation | None = None,
) -> Calibration:
    """Find the ranges of activations for int8 and fp8 by running `program` in full precision on the CPU.

    Batches are taken as they are needed, a few in advance, and each tensor is kept only as a histogram of 2048
    bins. Small batches run side by side.

    Args:
        program: the program that is to be compiled: a Program, or anything that `mt.load` takes.
        data: an array or a mapping from input name to array, or an iterable of batches: arrays, tuples,
            mappings, a torch DataLoader. None: seeded synthetic inputs, which is then said wherever the ranges
            are used.
        method: "minmax" (all values), "percentile" (99.99 % of them), "entropy" (least Kullback-Leibler
            divergence, clipping 0.1 % at most), or "mse" (least squared error of 8-bit numbers).
        shapes: shapes of dynamic inputs, as for `mt.compile`; only synthetic inputs need them.
        limit: take no more batches than this.
        progress: called as `progress("calibration", done, total)` for each batch; `total` is 0 where the number
            of batches is not known. Returning False cancels.
        isolate: whether passes run in the worker process, as for `mt.compile`; the model runs in this one.

    Raises CalibrationError: inputs with wrong names, shapes, dtypes, NaN or infinity, or none at all.
    Cancelled.
    """
    if method not in METHODS:
        raise CalibrationError(f"unknown method {method!r}", hint=f"there are {', '.join(METHODS)}")
    source = program if isinstance(program, Program) else load(program)
    if data is None:
        converted = before_clustering(source, "cpu", shapes, isolate=isolate)
        return _synthetic(converted, source, _opt_shapes(source, shapes), method)
    with ThreadPoolExecutor(1) as pool:
        model = pool.submit(hashing(source))  # while the passes run, in another process
        converted = before_clustering(source, "cpu", shapes, isolate=isolate)
        given = told(batches(source.inputs, data, limit), progress, count_of(data, limit))
        ranges, count = _collect(converted, given, method)
        words = f"{count} batch{'es' if count != 1 else ''} of the user's"
        return Calibration(ranges, method, model.result(), count, words, synthetic=False)


def ranges_for(
    precision: Precision,
    program: Program,
    shapes: Any = None,
    progress: Progress | None = None,
    isolate: bool | Isolation | None = None,
) -> Calibration:
    """The ranges that a precision needs for a program: those that it has, or new ones from its inputs.

    Raises CalibrationError for ranges of another program.
    """
    given = precision.calibration
    if isinstance(given, Calibration):
        given.check_model(content_hash(program))
        return given
    return calibrate(program, given, precision.range_method, shapes, progress=progress, isolate=isolate)


def synthetic_ranges(converted: Program, method: str) -> Calibration:
    """Ranges of a program before clustering, by synthetic inputs."""
    return _synthetic(converted, converted, {}, method)


def _synthetic(
    converted: Program, source: Program, shapes: dict[str, tuple[int, ...]], method: str
) -> Calibration:
    """Ranges of `source`, which `converted` was made of, by synthetic inputs of these shapes."""
    given = synthetic_batches(source.inputs, shapes, compared_values(converted))
    try:
        ranges, count = _collect(converted, given, method)
    except CalibrationError:
        raise
    except MlirTrtError as error:
        raise CalibrationError(
            f"the model does not run on made-up inputs: {error.what}",
            where=error.where,
            hint="give calibration inputs, and shapes= where they vary",
        ) from error
    return Calibration(ranges, method, content_hash(source), count, "seeded synthetic inputs", synthetic=True)


def _opt_shapes(program: Program, shapes: Any) -> dict[str, tuple[int, ...]]:
    from ..profiles import parse_profiles

    profiles = parse_profiles(program.inputs, shapes) if shapes else ()
    return {name: ranges[1] for name, ranges in profiles[0].items()} if profiles else {}


def _collect(converted: Program, given: Iterator[Batch], method: str) -> tuple[dict[str, float], int]:
    """Ranges by tensor name, and how many batches were run."""
    # The first batch is looked at before anything is built, so that a mistake shows at once.
    first = next(given)
    watched = observed(converted, ends=method == "minmax")
    runner = Runner(watched.program)
    histograms = {name: Histogram(counted=method != "minmax") for name in (*watched.inputs, *watched.outputs)}
    count = 0
    for count, (batch, outputs) in enumerate(runner.runs(chain([first], given)), 1):
        for name, histogram in histograms.items():
            try:
                histogram.add(batch[name] if name in watched.inputs else watched.values(name, outputs))
            except ValueError:
                raise _not_finite(converted, batch, count, name) from None
    return {name: threshold(found, method) for name, found in histograms.items()}, count


def _not_finite(converted: Program, batch: Batch, number: int, shown: str) -> CalibrationError:
    """The error that names the first tensor that is not finite; `shown` may be one that was made of it."""
    whole = observed(converted)
    _, outputs = next(Runner(whole.program).runs(iter([batch])))
    bad = (name for name in whole.outputs if not np.isfinite(whole.values(name, outputs)).all())
    return CalibrationError(
        f"{next(bad, shown)!r} becomes NaN or infinity in batch {number}",
        hint="the model overflows in float32 on this input; leave it out, or look at the op",
    )
