"""The inputs that errors are computed on: what the user gave, checked, or seeded synthetic ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..kind_name import kind_name
from ..profiles import Profile, parse_profiles
from ..program import Program, TensorSpec
from ..reports.synthetic import synthetic_inputs
from ..runtime.inputs import InputChecker
from ..runtime.schedule import Signature

__all__ = ["SYNTHETIC", "Samples", "samples_of", "shapes_for"]

SYNTHETIC = 4  # samples made where none are given

Sample = dict[str, np.ndarray]


@dataclass(frozen=True)
class Samples:
    """Inputs by name, one mapping per sample, and what they are in words."""

    values: tuple[Sample, ...]
    origin: str

    @property
    def synthetic(self) -> bool:
        """Whether they were made up."""
        return self.origin.startswith("synthetic")

    @property
    def fingerprint(self) -> str:
        """A hash of all values."""
        digest = hashlib.blake2b(digest_size=16)
        for sample in self.values:
            for name, array in sample.items():
                digest.update(f"{name} {array.dtype} {array.shape}\0".encode() + array.tobytes())
        return digest.hexdigest()


def samples_of(program: Program, inputs: Any = None, shapes: Any = None) -> Samples:
    """The samples that `inputs` means for `program`.

    Args:
        inputs: None for seeded synthetic ones; a mapping from input to array, or an array where there is
            one input: one sample; or a list or other iterable of such samples.
        shapes: as for `mt.compile`; synthetic inputs have the first profile's opt shapes.

    Raises InputError for a wrong name, dtype or shape, for NaN or infinity, for no samples at all, and for
    samples that are empty.
    """
    specs = program.inputs
    if inputs is None:
        profiles = parse_profiles(specs, shapes)
        made = [synthetic_inputs([_signature(spec, profiles) for spec in specs], n) for n in range(SYNTHETIC)]
        values = tuple(_named(specs, arrays) for arrays in made)
        _check_filled(values)
        return Samples(values, f"synthetic inputs, seeds 0 to {SYNTHETIC - 1}")
    # First without profiles, which are those of the arrays where no shapes are given.
    anyhow = InputChecker([_signature(spec, ()) for spec in specs], "cpu")
    given = _listed(specs, inputs)
    checked = tuple(
        _named(specs, _checked(anyhow, sample, _where(number, given))) for number, sample in enumerate(given)
    )
    if not checked:
        raise InputError(
            "inputs= holds no samples", hint="give a mapping from input to array, or a list of them"
        )
    profiles = parse_profiles(specs, _shapes_from(specs, checked) if shapes is None else shapes)
    checker = InputChecker([_signature(spec, profiles) for spec in specs], "cpu")
    for number, sample in enumerate(checked):
        _checked(checker, sample, _where(number, checked))
        _check_finite(sample, _where(number, checked))
    _check_filled(checked)
    count = f"{len(checked)} given samples" if len(checked) > 1 else "1 given sample"
    return Samples(checked, count)


def shapes_for(program: Program, samples: Samples, shapes: Any) -> Any:
    """`shapes`, or where there are none, those of the samples' arrays for dynamic inputs."""
    return _shapes_from(program.inputs, samples.values) if shapes is None else shapes


def _shapes_from(specs: Sequence[TensorSpec], samples: Sequence[Sample]) -> Any:
    """The least, the first and the largest shape of each dynamic input; None where all are static."""
    dynamic = [spec.name for spec in specs if not all(isinstance(dim, int) for dim in spec.shape)]
    found = {
        name: _range([tuple(sample[name].shape) for sample in samples])
        for name in dynamic
        if all(hasattr(sample[name], "shape") for sample in samples)
    }
    return found or None


def _range(shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    alike = [shape for shape in shapes if len(shape) == len(shapes[0])]  # one of another rank is refused later
    low, high = (tuple(map(pick, zip(*alike, strict=True))) for pick in (min, max))
    return low, shapes[0], high


def _signature(spec: TensorSpec, profiles: Sequence[Profile]) -> Signature:
    if spec.is_unranked:
        ranges = tuple(profile[spec.name] for profile in profiles)
        shape = (-1,) * len(ranges[0][1]) if ranges else None
        return Signature(spec.name, shape, spec.dtype, {}, ranges)
    shape = tuple(dim if isinstance(dim, int) else -1 for dim in spec.shape)
    dims = {axis: dim for axis, dim in enumerate(spec.shape) if isinstance(dim, str)}
    varying = any(dim < 0 for dim in shape)
    ranges = tuple(profile[spec.name] for profile in profiles) if varying else ()
    return Signature(spec.name, shape, spec.dtype, dims, ranges)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _listed(specs: Sequence[TensorSpec], inputs: Any) -> list[Any]:
    """One entry per sample: a mapping, an array, or a sequence of arrays."""
    if isinstance(inputs, Mapping) or _is_array(inputs):
        return [inputs]
    if isinstance(inputs, str | bytes) or not isinstance(inputs, Iterable):
        raise InputError(
            f"inputs= is {kind_name(inputs)}",
            hint="give a mapping from input to array, or a list of such mappings",
        )
    entries = list(inputs)
    if len(specs) > 1 and len(entries) == len(specs) and all(map(_is_array, entries)):
        return [entries]  # one sample, by position
    return entries


def _where(number: int, samples: Sequence[Any]) -> str | None:
    """Which sample it is, for an error; None where there is one alone."""
    return f"sample {number}" if len(samples) > 1 else None


def _checked(checker: InputChecker, sample: Any, where: str | None) -> list[Any]:
    try:
        if isinstance(sample, Mapping):
            return checker.named(sample)
        if _is_array(sample):
            return checker.positional([sample])
        if isinstance(sample, Sequence) and not isinstance(sample, str | bytes):
            return checker.positional(list(sample))
    except InputError as error:
        raise InputError(error.what, where=error.where or where, hint=error.hint) from None
    raise InputError(
        f"a sample is {kind_name(sample)}",
        where=where,
        hint="samples are mappings from input to array",
    )


def _named(specs: Sequence[TensorSpec], arrays: Sequence[np.ndarray]) -> Sample:
    return {spec.name: array for spec, array in zip(specs, arrays, strict=True)}


def _check_filled(samples: Sequence[Sample]) -> None:
    """Of samples without a single number nothing can be said. A program without inputs needs none."""
    if any(sample and not any(array.size for array in sample.values()) for sample in samples):
        raise InputError("a sample holds no numbers", hint="errors are measured on at least one")


def _check_finite(sample: Sample, where: str | None) -> None:
    for name, array in sample.items():
        if array.dtype.kind not in "iubOUS" and not np.isfinite(array).all():
            what = "NaN" if np.isnan(array).any() else "infinity"
            raise InputError(
                f"input {name!r} holds {what}", where=where, hint="errors are measured on finite inputs"
            )
