"""Optimization profiles: the ranges of shapes, and of values of shape inputs, that an engine serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir

from ...errors import ShapeError
from ..base import Binding, Shapes

__all__ = ["add_profiles", "name_dimensions"]

Profile = Sequence[Shapes | None]


def add_profiles(
    builder: Any,
    config: Any,
    network: Any,
    bindings: Sequence[Binding],
    function: ir.Operation,
    asked: Sequence[Profile],
) -> None:
    """Add one optimization profile per entry of `asked`, or one from the function's argument attributes.

    An entry for an argument of static shape gives the values of a shape input.
    Raises `ShapeError` for a dynamic input without a range, or with one that cannot be.
    """
    given = list(asked) or [[None] * len(bindings)]
    tensors = [network.get_input(index) for index in range(network.num_inputs)]
    if not any(-1 in binding.shape for binding in bindings) and not any(t.is_shape_tensor for t in tensors):
        return
    for ranges in given:
        profile = builder.create_optimization_profile()
        for index, binding in enumerate(bindings):
            _set(profile, tensors[index], binding, ranges[index], _attributes(function, index))
        if config.add_optimization_profile(profile) < 0:
            raise ShapeError(
                "TensorRT refuses the shape profile", hint="check min <= opt <= max for each input"
            )


def _set(profile: Any, tensor: Any, binding: Binding, given: Shapes | None, attributes: Any) -> None:
    """Put one input's range into the profile, if it has any."""
    dynamic = -1 in binding.shape
    shapes = (given if dynamic else None) or _from_attribute(attributes, "tensorrt.shape_profile")
    values = (None if dynamic else given) or _from_attribute(attributes, "tensorrt.value_bounds")
    if dynamic:
        if shapes is None:
            raise ShapeError(
                f"input {binding.name!r} has dynamic dimensions and no shape profile",
                hint=f"give shapes={{{binding.name!r}: (min, opt, max)}}",
            )
        _check(binding, shapes)
        profile.set_shape(binding.name, *shapes)
    if tensor.is_shape_tensor:
        if values is None:
            raise ShapeError(
                f"the values of input {binding.name!r} decide a shape and have no range",
                hint="give its min, opt and max values (tensorrt.value_bounds)",
            )
        _check_order(binding, values, "value")
        profile.set_shape_input(binding.name, *values)


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


def _from_attribute(attributes: Any, name: str) -> Shapes | None:
    """(min, opt, max) of a `#tensorrt.shape_profile` argument attribute, or None."""
    if attributes is None or name not in attributes:
        return None
    low, mid, high = (tuple(ir.DenseI64ArrayAttr(part)) for part in ir.DynamicAttr(attributes[name]).params)
    return low, mid, high


def name_dimensions(
    network: Any, bindings: Sequence[Binding], function: ir.Operation, asked: Sequence[Profile]
) -> None:
    """Tell the builder which dynamic dimensions are equal, by `tensorrt.dimension_names`.

    A name whose ranges differ between two places is left out: the builder refuses it, although the sizes
    may still be right one by one.
    """
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
        if all(_agree(ranges, where) for ranges in asked):
            for index, axis in where:
                network.get_input(index).set_dimension_name(axis, name)


def _agree(ranges: Profile, where: Sequence[tuple[int, int]]) -> bool:
    found = {tuple(shape[axis] for shape in ranges[index] or ()) for index, axis in where}
    return len(found) == 1
