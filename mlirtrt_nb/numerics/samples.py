"""The inputs that errors are computed on: what the user gave, checked, or seeded synthetic ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
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
    _check_names(specs, inputs)
    profiles = parse_profiles(specs, _shapes_from(specs, inputs) if shapes is None else shapes)
    signatures = [_signature(spec, profiles) for spec in specs]
    if inputs is None:
        made = [synthetic_inputs(signatures, seed) for seed in range(SYNTHETIC)]
        values = tuple(_named(specs, arrays) for arrays in made)
        _check_filled(values)
        return Samples(values, f"synthetic inputs, seeds 0 to {SYNTHETIC - 1}")
    checker = InputChecker(signatures, "cpu")
    checked = tuple(_named(specs, _checked(checker, sample)) for sample in _listed(specs, inputs))
    if not checked:
        raise InputError(
            "inputs= holds no samples", hint="give a mapping from input to array, or a list of them"
        )
    _check_filled(checked)
    for number, sample in enumerate(checked):
        _check_finite(sample, number, len(checked))
    count = f"{len(checked)} given samples" if len(checked) > 1 else "1 given sample"
    return Samples(checked, count)


def shapes_for(program: Program, inputs: Any, shapes: Any) -> Any:
    """`shapes`, or where dynamic inputs were given as one mapping of arrays and no shapes, the arrays' own."""
    return _shapes_from(program.inputs, inputs) if shapes is None else shapes


def _shapes_from(specs: Sequence[TensorSpec], inputs: Any) -> Any:
    dynamic = [spec.name for spec in specs if not all(isinstance(dim, int) for dim in spec.shape)]
    if not dynamic or inputs is None:
        return None
    if isinstance(inputs, Iterable) and not isinstance(inputs, Sequence | Mapping | np.ndarray):
        return None
    found: dict[str, list[tuple[int, ...]]] = {}
    for sample in _listed(specs, inputs):
        named = sample if isinstance(sample, Mapping) else _zip(specs, sample)
        for name in dynamic:
            if hasattr(named.get(name), "shape"):
                found.setdefault(name, []).append(tuple(named[name].shape))
    return {
        name: _range(shapes) for name, shapes in found.items() if len({len(s) for s in shapes}) == 1
    } or None


def _range(shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    low, high = (tuple(map(pick, zip(*shapes, strict=True))) for pick in (min, max))
    return low, shapes[0], high


def _zip(specs: Sequence[TensorSpec], sample: Any) -> dict[str, Any]:
    arrays = [sample] if _is_array(sample) else list(sample)
    return dict(zip([spec.name for spec in specs], arrays, strict=False))


def _signature(spec: TensorSpec, profiles: Sequence[Profile]) -> Signature:
    shape = tuple(dim if isinstance(dim, int) else -1 for dim in spec.shape)
    dims = {axis: dim for axis, dim in enumerate(spec.shape) if isinstance(dim, str)}
    varying = any(dim < 0 for dim in shape)
    ranges = tuple(profile[spec.name] for profile in profiles) if varying else ()
    return Signature(spec.name, shape, spec.dtype, dims, ranges)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _listed(specs: Sequence[TensorSpec], inputs: Any) -> Iterable[Any]:
    """One entry per sample: a mapping, an array, or a sequence of arrays."""
    if isinstance(inputs, Mapping) or _is_array(inputs):
        return [inputs]
    if isinstance(inputs, str | bytes) or not isinstance(inputs, Iterable):
        raise InputError(
            f"inputs= is a {type(inputs).__name__}",
            hint="give a mapping from input to array, or a list of such mappings",
        )
    entries = list(inputs)
    if len(specs) > 1 and len(entries) == len(specs) and all(map(_is_array, entries)):
        return [entries]  # one sample, by position
    return entries


def _checked(checker: InputChecker, sample: Any) -> list[Any]:
    if isinstance(sample, Mapping):
        return checker.named(sample)
    if _is_array(sample):
        return checker.positional([sample])
    if isinstance(sample, Sequence) and not isinstance(sample, str | bytes):
        return checker.positional(list(sample))
    raise InputError(f"a sample is a {type(sample).__name__}", hint="samples are mappings from input to array")


def _named(specs: Sequence[TensorSpec], arrays: Sequence[np.ndarray]) -> Sample:
    return {spec.name: array for spec, array in zip(specs, arrays, strict=True)}


def _check_names(specs: Sequence[TensorSpec], inputs: Any) -> None:
    """Refuse names that are none before shapes are asked for, which the named arrays may have."""
    checker = InputChecker([_signature(spec, ()) for spec in specs], "cpu")
    listed = [inputs] if isinstance(inputs, Mapping) else inputs if isinstance(inputs, list | tuple) else []
    for sample in listed:
        if isinstance(sample, Mapping):
            checker.check_names(sample)


def _check_filled(samples: Sequence[Sample]) -> None:
    """Of samples without a single number nothing can be said. A program without inputs needs none."""
    if any(sample and not any(array.size for array in sample.values()) for sample in samples):
        raise InputError("a sample holds no numbers", hint="errors are measured on at least one")


def _check_finite(sample: Sample, number: int, count: int) -> None:
    where = f"sample {number}" if count > 1 else None
    for name, array in sample.items():
        if array.dtype.kind not in "iubOUS" and not np.isfinite(array).all():
            what = "NaN" if np.isnan(array).any() else "infinity"
            raise InputError(
                f"input {name!r} holds {what}", where=where, hint="errors are measured on finite inputs"
            )
