"""Inputs for calibration, in whatever form the user has them, as one dictionary of arrays per batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..errors import CalibrationError, Cancelled
from ..ir import dtypes
from ..kind_name import kind_name
from ..program import TensorSpec
from ..progress import Progress

__all__ = ["Batch", "batches", "count_of", "synthetic_batches", "told"]

Batch = dict[str, np.ndarray]


def batches(inputs: Sequence[TensorSpec], data: Any, limit: int | None = None) -> Iterator[Batch]:
    """The batches of `data`, each checked against the program's inputs, one at a time.

    Args:
        inputs: the program's inputs.
        data: an array or a mapping from name to array (one batch), or an iterable of batches: arrays, tuples in
            the order of the inputs, or mappings. Tensors of torch count as arrays. Of what a torch DataLoader
            gives, labels are left out: what follows the inputs, or has a name of its own.
        limit: take no more batches than this.

    Raises CalibrationError: a batch with wrong names, shapes or dtypes, NaN or infinity; no batch at all; or a
    limit that is no number of batches.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1):
        raise CalibrationError(f"limit={limit!r} is no number of batches", hint="give 1 or more, or None")
    count = 0
    drops = hasattr(data, "dataset") and hasattr(data, "batch_size")
    for count, item in enumerate(islice(_items(data), limit), 1):
        yield _checked(inputs, _named(inputs, item, drops, count), count)
    if not count and isinstance(data, Iterator):
        raise CalibrationError(
            "the calibration inputs gave no batch: an iterator gives what it has once",
            hint="find the ranges once with mt.calibrate(program, inputs), or give a list",
        )
    if not count:
        raise CalibrationError("there are no calibration inputs", hint="give at least one batch")


def count_of(data: Any, limit: int | None = None) -> int:
    """How many batches `data` has, up to the limit; 0 if it does not say."""
    if isinstance(data, Mapping) or _is_array(data):
        return 1
    try:
        count = len(data)
    except TypeError:  # also of a DataLoader over data of no known length
        return 0
    return count if limit is None else min(count, limit)


def told(given: Iterator[Batch], progress: Progress | None, total: int) -> Iterator[Batch]:
    """The batches, each said before it is given. Raises Cancelled where the answer is False."""
    for number, batch in enumerate(given):
        if progress is not None and progress("calibration", number, total) is False:
            raise Cancelled("the calibration was cancelled")
        yield batch


def _items(data: Any) -> Iterable[Any]:
    if isinstance(data, Mapping) or _is_array(data):
        return [data]
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise CalibrationError(
            f"calibration inputs are {kind_name(data)}",
            hint="give an array, a mapping from name to array, or an iterable of these",
        )
    return data


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) or hasattr(value, "__dlpack__")


def _named(inputs: Sequence[TensorSpec], item: Any, drops: bool, number: int) -> dict[str, Any]:
    """A batch by input name."""
    names = [spec.name for spec in inputs]
    if isinstance(item, Mapping):
        unknown = [str(name) for name in item if name not in names and not drops]
        missing = [name for name in names if name not in item]
        if unknown or missing:
            what = f"has no input {missing[0]!r}" if missing else f"has {unknown[0]!r}"
            raise CalibrationError(f"batch {number} {what}", hint=f"the inputs are {', '.join(names)}")
        return {name: item[name] for name in names}
    values = list(item) if isinstance(item, Sequence) and not _is_array(item) else [item]
    if drops:
        values = values[: len(names)]
    if len(values) != len(names):
        raise CalibrationError(
            f"batch {number} has {len(values)} arrays for {len(names)} inputs",
            hint=f"the inputs are {', '.join(names)}",
        )
    return dict(zip(names, values, strict=True))


def _checked(inputs: Sequence[TensorSpec], batch: Mapping[str, Any], number: int) -> Batch:
    return {spec.name: _array(spec, batch[spec.name], number) for spec in inputs}


def _array(spec: TensorSpec, value: Any, number: int) -> np.ndarray:
    where = f"batch {number}, input {spec.name!r}"
    array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    try:
        wanted = dtypes.by_mlir(spec.dtype).np
    except KeyError:
        return array
    if array.dtype != wanted:
        raise CalibrationError(
            f"the array is {array.dtype}; the input is {wanted}",
            where=where,
            hint=f"array.astype({wanted.name!r})",
        )
    if not spec.is_unranked and not _fits(spec.shape, array.shape):
        raise CalibrationError(f"the array is {_text(array.shape)}; the input is {spec}", where=where)
    if array.dtype.kind not in "iub" and not np.isfinite(array).all():
        kind = "NaN" if np.isnan(array).any() else "infinity"
        raise CalibrationError(f"the array holds {kind}", where=where, hint="leave this batch out")
    if not array.size:
        raise CalibrationError("the array is empty", where=where)
    return array


def _fits(wanted: Sequence[int | str | None], shape: Sequence[int]) -> bool:
    if len(wanted) != len(shape):
        return False
    return all(not isinstance(a, int) or a == b for a, b in zip(wanted, shape, strict=True))


def _text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "a scalar"


def synthetic_batches(
    inputs: Sequence[TensorSpec],
    shapes: Mapping[str, Sequence[int]],
    known: Mapping[str, int] | None = None,
    count: int = 2,
    seed: int = 0,
) -> Iterator[Batch]:
    """Made-up batches: normal numbers, integers of 0 and 1, booleans that are true; an input that a value is
    `known` of has that.

    `shapes` has the shape of each input whose shape varies; without one, a dimension is 1 if it is the first
    and 16 if not.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        made = {spec.name: _made_up(spec, shapes.get(spec.name), rng) for spec in inputs}
        yield made | {name: np.full_like(made[name], value) for name, value in (known or {}).items()}


def _made_up(spec: TensorSpec, shape: Sequence[int] | None, rng: np.random.Generator) -> np.ndarray:
    if shape is None:
        shape = [d if isinstance(d, int) else (16 if n else 1) for n, d in enumerate(spec.shape)]
    try:
        dtype = dtypes.by_mlir(spec.dtype).np
    except KeyError:
        raise CalibrationError(
            f"no inputs can be made up for {spec.name!r} ({spec.dtype})", hint="give calibration inputs"
        ) from None
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.standard_normal(shape, dtype=np.float32).astype(dtype)
