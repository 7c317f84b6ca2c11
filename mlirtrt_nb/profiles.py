"""Optimization profiles: what `shapes=` means, checked against a program's inputs."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from .errors import ShapeError
from .program import TensorSpec

__all__ = ["Profile", "Range", "example_range", "parse_profiles", "unnamed_shapes"]

_SHAPES_HINT = "give a mapping from input to shape, such as {'x': '1x3x224x224'}, or a list of such mappings"
_MOST_ELEMENTS = 2**48  # what a process can address

Shape = tuple[int, ...]
Range = tuple[Shape, Shape, Shape]  # (min, opt, max)
Profile = dict[str, Range]  # input name -> range


def parse_profiles(inputs: Sequence[TensorSpec], shapes: Any) -> tuple[Profile, ...]:
    """Every input's (min, opt, max) shapes, one `Profile` per optimization profile.

    Args:
        inputs: the program's inputs.
        shapes: None; a mapping from input name to a shape, `"1x3x224x224"`, or a (min, opt, max) of either;
            or a list of such mappings, one per profile. Static inputs may be left out. A shape may be any
            sequence of integers or an array, and a (min, opt, max) the rows of one.

    Raises:
        ShapeError: an unknown input, a dynamic input without shapes, a wrong rank, a static dimension
            contradicted, or min/opt/max out of order.
    """
    given = [shapes or {}] if shapes is None or isinstance(shapes, Mapping) else shapes
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ShapeError(f"shapes= is {given!r}", hint=_SHAPES_HINT)
    given = list(given)
    if not given:
        raise ShapeError("shapes= is an empty list", hint="give one mapping per profile")
    for mapping in given:
        if not isinstance(mapping, Mapping):
            raise ShapeError(f"shapes= holds {mapping!r}", hint=_SHAPES_HINT)
    plain = ({name: _without_arrays(value) for name, value in mapping.items()} for mapping in given)
    profiles = tuple(_parse_profile(inputs, mapping) for mapping in plain)
    for spec in inputs:
        if spec.is_unranked:  # the model leaves its rank open: `shapes=` says it
            _check_ranks(spec, [shape for profile in profiles for shape in profile[spec.name]])
    return profiles


def _check_ranks(spec: TensorSpec, shapes: Sequence[Shape]) -> None:
    ranks = sorted({len(shape) for shape in shapes})
    if len(ranks) > 1:
        raise ShapeError(
            f"the shapes of input {spec.name!r} have ranks {' and '.join(map(str, ranks))}",
            hint="give all of them the same number of dimensions",
        )


def _without_arrays(value: Any) -> Any:
    """Arrays and their numbers as lists and numbers of Python's, also inside a sequence."""
    if hasattr(value, "tolist") and len(getattr(value, "shape", ())) <= 2:  # with more axes it is no shape
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(map(_without_arrays, value))
    return value


def _parse_profile(inputs: Sequence[TensorSpec], mapping: Mapping[str, Any]) -> Profile:
    known = {spec.name: spec for spec in inputs}
    for name in mapping:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ShapeError(
                f"a shape names an input {name!r} that the program does not have",
                hint=f"inputs: {listed}",
            )
    missing = unnamed_shapes(inputs, mapping)
    if missing:
        raise ShapeError(
            "dynamic inputs need shapes: " + ", ".join(str(spec) for spec in missing),
            hint="shapes=" + _template(inputs, mapping),
        )
    profile = {}
    for spec in inputs:
        if spec.name in mapping:
            profile[spec.name] = _parse_range(spec, mapping[spec.name])
        else:
            shape = tuple(int(dim) for dim in spec.shape)  # type: ignore[arg-type]
            profile[spec.name] = (shape, shape, shape)
    _check_shared_names(inputs, profile)
    return profile


def unnamed_shapes(inputs: Sequence[TensorSpec], mapping: Mapping[str, Any]) -> list[TensorSpec]:
    """The inputs that need a shape and have none in `mapping`."""
    return [spec for spec in inputs if spec.name not in mapping and not _static(spec)]


def _static(spec: TensorSpec) -> bool:
    return all(isinstance(dim, int) for dim in spec.shape)


def _template(inputs: Sequence[TensorSpec], mapping: Mapping[str, Any]) -> str:
    """A `shapes=` that can be pasted and edited: 1, 4, 8 for a dimension called like a batch; else 1 .. 256."""
    entries = []
    for spec in inputs:
        if spec.name in mapping:
            entries.append(f"{spec.name!r}: {mapping[spec.name]!r}")
        elif not _static(spec):
            entries.append(f"{spec.name!r}: ({', '.join(map(repr, example_range(spec)))})")
    return "{" + ", ".join(entries) + "}"


def example_range(spec: TensorSpec) -> tuple[str, str, str]:
    """A (min, opt, max) that can be pasted and edited."""
    return _example(spec, 0), _example(spec, 1), _example(spec, 2)


def _example(spec: TensorSpec, side: int) -> str:
    first = (1, 1, 4)[side]
    other = (32, 128, 256)[side]
    shape = (None, None) if spec.is_unranked else spec.shape
    dims = [dim if isinstance(dim, int) else (first if n == 0 else other) for n, dim in enumerate(shape)]
    return "x".join(map(str, dims))


def _parse_range(spec: TensorSpec, value: Any) -> Range:
    if _is_shape(value):
        shape = _parse_shape(spec, value)
        sides = (shape, shape, shape)
    elif isinstance(value, Sequence) and len(value) == 3 and all(_is_shape(side) for side in value):
        sides = tuple(_parse_shape(spec, side) for side in value)  # type: ignore[assignment]
    else:
        raise ShapeError(
            f"the shape of input {spec.name!r} is {reprlib.repr(value)}",
            hint=f"give a shape such as {_example(spec, 1)!r}, or (min, opt, max) of three shapes",
        )
    _check_order(spec, sides)
    return sides


def _is_shape(value: Any) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, Sequence) and all(
        isinstance(dim, int) or hasattr(dim, "__index__") for dim in value
    )


def _parse_shape(spec: TensorSpec, value: str | Sequence[int]) -> Shape:
    if isinstance(value, str):
        if value and not re.fullmatch(r"[0-9]+(x[0-9]+)*", value):
            raise ShapeError(
                f"the shape of input {spec.name!r}: {value!r} is not a shape", hint="write it as 1x3x224x224"
            )
        dims: Shape = tuple(int(part) for part in value.split("x")) if value else ()
    else:
        dims = tuple(int(dim) for dim in value)
    shape = (None,) * len(dims) if spec.is_unranked else spec.shape
    if len(dims) != len(shape):
        raise ShapeError(
            f"the shape of input {spec.name!r} has rank {len(dims)}; the input is {spec}",
        )
    for axis, (dim, declared) in enumerate(zip(dims, shape, strict=True)):
        if dim < 0 or (isinstance(declared, int) and dim != declared):
            raise ShapeError(f"the shape of input {spec.name!r}: axis {axis} is {dim}, but the input is {spec}")
    if prod(max(dim, 1) for dim in dims) > _MOST_ELEMENTS:
        raise ShapeError(
            f"the shape of input {spec.name!r}: {'x'.join(map(str, dims))} is more than any memory holds"
        )
    return dims


def _check_order(spec: TensorSpec, sides: Range) -> None:
    _check_ranks(spec, sides)
    for axis, (low, opt, high) in enumerate(zip(*sides, strict=True)):
        if not low <= opt <= high:
            raise ShapeError(
                f"the shape of input {spec.name!r}: axis {axis} has min {low}, opt {opt}, max {high}",
                hint="order them so that min <= opt <= max",
            )


def _check_shared_names(inputs: Sequence[TensorSpec], profile: Profile) -> None:
    """A dimension name shared by two inputs is one dimension: TensorRT refuses a profile where they differ."""
    seen: dict[str, tuple[str, tuple[int, ...]]] = {}
    for spec in inputs:
        for axis, dim in enumerate(spec.shape):
            if not isinstance(dim, str) or spec.is_unranked:
                continue
            values = tuple(side[axis] for side in profile[spec.name])
            other, expected = seen.setdefault(dim, (spec.name, values))
            if values != expected:
                sizes = f"{_spread(expected)} in input {other!r} but {_spread(values)} in {spec.name!r}"
                raise ShapeError(
                    f"dimension {dim!r} is {sizes}",
                    hint="dimensions of one name have one size: give both the same min, opt and max",
                )


def _spread(values: tuple[int, ...]) -> str:
    return str(values[0]) if len(set(values)) == 1 else "min {} opt {} max {}".format(*values)
