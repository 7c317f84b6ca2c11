"""Optimization profiles: the ranges of shapes, and of values of shape inputs, that an engine serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir

from ...dialects.tensorrt.profiles import ranges_of
from ...errors import ShapeError
from ..base import Binding, Shapes
from ..unknown_range import UnknownRange

__all__ = ["add_profiles", "name_dimensions"]

Profile = Sequence[Shapes | None]


def add_profiles(
    builder: Any,
    config: Any,
    network: Any,
    bindings: Sequence[Binding],
    function: ir.Operation,
    requested: Sequence[Profile],
) -> None:
    """Add one optimization profile per entry of `requested`; without any, those of the argument attributes.

    An entry for an argument of static shape gives the values of a shape input.
    Raises `ShapeError` for a dynamic input without a range, or with one that cannot be.
    """
    tensors = [network.get_input(index) for index in range(network.num_inputs)]
    if not any(-1 in binding.shape for binding in bindings) and not any(t.is_shape_tensor for t in tensors):
        return
    for ranges in list(requested) or _from_attributes(bindings, function):
        profile = builder.create_optimization_profile()
        for index, (tensor, given) in enumerate(zip(tensors, ranges, strict=True)):
            if tensor.is_shape_tensor and given is None and -1 not in bindings[index].shape:
                raise UnknownRange(
                    f"the values of input {bindings[index].name!r} decide a shape and have no range",
                    function,
                    [index],
                    hint="give its min, opt and max values (tensorrt.value_bounds)",
                )
            _set(profile, tensor, bindings[index], given)
        if config.add_optimization_profile(profile) < 0:
            raise ShapeError(
                "TensorRT refuses the shape profile", hint="check min <= opt <= max for each input"
            )


def _set(profile: Any, tensor: Any, binding: Binding, given: Shapes | None) -> None:
    """Put one input's range of shapes, or of values, into the profile."""
    if -1 in binding.shape:
        if given is None:
            raise ShapeError(
                f"input {binding.name!r} has dynamic dimensions and no shape profile",
                hint=f"give shapes={{{binding.name!r}: (min, opt, max)}}",
            )
        _check(binding, given)
        profile.set_shape(binding.name, *given)
    elif tensor.is_shape_tensor and given is not None:
        _check_order(binding, given, "value")
        profile.set_shape_input(binding.name, *given)


def _from_attributes(bindings: Sequence[Binding], function: ir.Operation) -> list[list[Shapes | None]]:
    """The profiles in the function's argument attributes; an argument with fewer repeats its last."""
    given = []
    for index, binding in enumerate(bindings):
        name = "tensorrt.shape_profile" if -1 in binding.shape else "tensorrt.value_bounds"
        attributes = _attributes(function, index)
        given.append(() if attributes is None or name not in attributes else ranges_of(attributes[name]))
    count = max(1, *(len(ranges) for ranges in given)) if given else 1
    return [[ranges[min(n, len(ranges) - 1)] if ranges else None for ranges in given] for n in range(count)]


def _check(binding: Binding, shapes: Shapes) -> None:
    """Ranges of the right rank, in order, that agree with the static dimensions."""
    rank = len(binding.shape)
    for label, shape in zip(("min", "opt", "max"), shapes, strict=True):
        if len(shape) != rank:
            raise ShapeError(
                f"input {binding.name!r} has rank {rank}, its {label} shape {shape} has {len(shape)}"
            )
        for axis, (size, fixed) in enumerate(zip(shape, binding.shape, strict=True)):
            if fixed not in (-1, size):
                raise ShapeError(
                    f"axis {axis} of input {binding.name!r} is {fixed}, its {label} shape says {size}"
                )
    _check_order(binding, shapes, "axis")


def _check_order(binding: Binding, ranges: Shapes, what: str) -> None:
    """min <= opt <= max at each place."""
    for place, (low, mid, high) in enumerate(zip(*ranges, strict=True)):
        if not low <= mid <= high:
            raise ShapeError(
                f"{what} {place} of input {binding.name!r}: min {low}, opt {mid}, max {high} are out of order"
            )


def _attributes(function: ir.Operation, index: int) -> Any:
    """The attribute dictionary of an argument, or None."""
    return function.attributes["arg_attrs"][index] if "arg_attrs" in function.attributes else None


def name_dimensions(
    network: Any, bindings: Sequence[Binding], function: ir.Operation, requested: Sequence[Profile]
) -> None:
    """Tell the builder which dynamic dimensions are equal, by `tensorrt.dimension_names`.

    A name whose ranges differ between two places is left out: the builder refuses it, although the sizes
    may still be right one by one.
    """
    given = list(requested) or _from_attributes(bindings, function)
    places: dict[str, list[tuple[int, int]]] = {}
    for index, binding in enumerate(bindings):
        attributes = _attributes(function, index)
        if attributes is None or "tensorrt.dimension_names" not in attributes:
            continue
        for entry in attributes["tensorrt.dimension_names"]:
            axis = int(entry.name)
            if binding.shape[axis] == -1:
                places.setdefault(entry.attr.value, []).append((index, axis))
    for name, where in places.items():
        if all(_agree(ranges, where) for ranges in given):
            for index, axis in where:
                network.get_input(index).set_dimension_name(axis, name)


def _agree(ranges: Profile, where: Sequence[tuple[int, int]]) -> bool:
    found = {tuple(shape[axis] for shape in ranges[index] or ()) for index, axis in where}
    return len(found) == 1
