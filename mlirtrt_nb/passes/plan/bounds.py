"""How large a value of `@main` can become, as far as that is known when compiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .signature import dictionaries, name_of
from .steps import ranked, symbol_path

if TYPE_CHECKING:
    from torch_mlir import ir

    from ...program import Program

__all__ = ["Profiles", "UpperBounds"]

_CALLS = ("tensorrt.call_alloc", "func.call")

# The inputs' (min, opt, max) shapes by name, one mapping per optimization profile.
Profiles = Sequence[Mapping[str, tuple[Sequence[int], Sequence[int], Sequence[int]]]]


class UpperBounds:
    """Called with a value of `function`: its largest shape, or None."""

    def __init__(self, program: Program, function: ir.OpView, device: str, profiles: Profiles) -> None:
        self._program = program
        self._device = device
        self._inputs: dict[ir.Value, tuple[int, ...]] = {}
        attributes = dictionaries(function, "arg_attrs")
        for n, value in enumerate(function.regions[0].blocks[0].arguments):
            name = name_of(attributes, n, "arg")
            largest = [profile[name][2] for profile in profiles if name in profile]
            if largest:
                self._inputs[value] = tuple(max(dims) for dims in zip(*largest, strict=True))

    def __call__(self, value: ir.Value) -> tuple[int, ...] | None:
        kind = ranked(value.type)
        if kind is None:
            return None
        if kind.has_static_shape:
            return tuple(kind.shape)
        if self._device == "cpu":
            return None  # the engine allocates what varies, at its size in that call
        if value in self._inputs:
            return self._inputs[value]
        return self._of_giver(value) or next(
            (found for use in value.uses if (found := self._of_reader(use))), None
        )

    def _of_giver(self, value: ir.Value) -> tuple[int, ...] | None:
        """The largest shape in the profiles of the result that the called function gives as the value."""
        owner = value.owner
        if not hasattr(owner, "operation") or owner.operation.name not in _CALLS:
            return None
        return self._profiled(owner.operation, "res_attrs", value.result_number)  # type: ignore[attr-defined]

    def _of_reader(self, use: ir.OpOperand) -> tuple[int, ...] | None:
        """The largest shape in the profiles of the function that reads the value."""
        owner = use.owner.operation
        return self._profiled(owner, "arg_attrs", use.operand_number) if owner.name in _CALLS else None

    def _profiled(self, call: ir.Operation, key: str, number: int) -> tuple[int, ...] | None:
        from ...dialects.tensorrt.profiles import ranges_of
        from ...ir.symbols import lookup

        function = lookup(self._program.module, symbol_path(call.attributes["callee"]))
        attributes = dictionaries(function, key)
        if attributes is None or "tensorrt.shape_profile" not in attributes[number]:
            return None
        ranges = ranges_of(attributes[number]["tensorrt.shape_profile"])
        return tuple(max(dims) for dims in zip(*(high for _, _, high in ranges), strict=True))
