"""The range of shapes on every boundary between engines, from the ranges of the program's inputs.

A TensorRT engine with an input whose shape varies needs (min, opt, max) for it, also where that input is
another engine's output. `function_shapes` works the shapes out, function by function, for each corner of the
profile. Where a shape has no bounds, or they are too large to be of use, no engine can be built for what reads
the value (`UnknownRange`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from ..errors import MlirTrtError
from ..program import Program
from .base import Shapes
from .function_shapes import FunctionShapes, shapes_of
from .profile_attributes import FunctionProfiles, annotate_arguments, annotate_results
from .unknown_range import UnknownRange

if TYPE_CHECKING:
    from torch_mlir import ir

    from .host.shapes import HostShapes

__all__ = ["FunctionProfiles", "assign_profiles"]

Shape = tuple[int, ...]


def assign_profiles(
    program: Program, profiles: Sequence[Mapping[str, Shapes]], *, outputs: bool = False
) -> dict[str, FunctionProfiles]:
    """Per function path, the profiles of its arguments; also set on them as `tensorrt.shape_profile`.

    Functions whose arguments are all static are left out. Results get the attribute too where their range is
    known; those that nothing but the caller reads only if `outputs`. Call with the program's context entered.
    Raises UnknownRange for a TensorRT function that reads a value whose shape depends on data.
    """
    from torch_mlir import ir

    from ..dialects.onnx.value_types import ports
    from ..ir.symbols import functions

    found = dict(functions(program.module))
    main = found["main"]
    walk = _Walk(found, program.weights, max(1, len(profiles)), outputs)
    with ir.Location.unknown():
        for port, value in zip(ports(main.operation)[0], main.regions[0].blocks[0].arguments, strict=True):
            if not _is_tensor(value.type):
                walk.unknown[value] = "it is no tensor"
            elif not _is_static(value.type):
                walk.ranges[value] = [profile[port.name] for profile in profiles]
        for op in main.regions[0].blocks[0].operations:
            walk.visit(op.operation)
    return walk.assigned


class _Walk:
    """Visits the calls of `@main` in order and keeps the ranges of the values that vary."""

    def __init__(
        self, functions: Mapping[str, ir.OpView], weights: Mapping[str, np.ndarray], count: int, outputs: bool
    ) -> None:
        self._outputs = outputs
        self._functions = functions
        self._weights = weights
        self._count = count
        self.ranges: dict[ir.Value, list[Shapes]] = {}
        self.unknown: dict[ir.Value, str] = {}  # values without a range, and why
        self.assigned: dict[str, FunctionProfiles] = {}

    def visit(self, operation: ir.Operation) -> None:
        if operation.name == "plan.if":
            self._branch(operation)
        elif operation.name == "plan.loop":
            self._loop(operation)
        path = _callee(operation)
        if path is None:
            return
        function = self._functions[path]
        if self._reads_unknown(operation, path, function):
            return
        arguments = [self._ranges_of(value) for value in operation.operands]
        varying = [not _is_static(value.type) for value in operation.operands]
        if any(varying):
            self.assigned[path] = tuple(
                tuple(ranges[k] if moves else None for ranges, moves in zip(arguments, varying, strict=True))
                for k in range(self._count)
            )
            annotate_arguments(function, self.assigned[path])
        self._results(operation, path, function, arguments)

    def _branch(self, operation: ir.Operation) -> None:
        """A result ranges over what either branch gives."""
        yields = [self._block(region.blocks[0]) for region in operation.regions]
        for result, *given in zip(operation.results, *yields, strict=True):
            reason = next((self.unknown[value] for value in given if value in self.unknown), None)
            if _is_static(result.type):
                continue
            if reason is None and _is_ranked(result.type):
                both = (self._ranges_of(value) for value in given)
                self.ranges[result] = [_spanning(a, b) for a, b in zip(*both, strict=True)]
            else:
                self.unknown[result] = reason or "its rank depends on which branch is taken"

    def _loop(self, operation: ir.Operation) -> None:
        """A carried value has the range that it starts with, if a turn keeps it; else none is known."""
        init = _carried(operation)
        arguments = list(operation.regions[0].blocks[0].arguments)[1:]
        for value, argument in zip(init, arguments, strict=True):
            self._carry(value, argument)
        _, *yielded = self._block(operation.regions[0].blocks[0])
        changing = [a for a, v in zip(arguments, yielded, strict=False) if not self._keeps_range(a, v)]
        for argument in changing:
            self.ranges.pop(argument, None)
            self.unknown[argument] = "it changes from turn to turn of a loop"
        if changing:
            self._block(operation.regions[0].blocks[0])
        for n, result in enumerate(operation.results):
            if n < len(arguments):
                self._carry(arguments[n], result)
            elif not _is_static(result.type):
                self.unknown[result] = "it depends on how often a loop turns"

    def _carry(self, value: ir.Value, becomes: ir.Value) -> None:
        if _is_static(becomes.type):
            return
        if value in self.unknown or not (value in self.ranges or _is_static(value.type)):
            self.unknown[becomes] = self.unknown.get(value, "its rank is not known")
        else:
            self.ranges[becomes] = self._ranges_of(value)

    def _keeps_range(self, argument: ir.Value, yielded: ir.Value) -> bool:
        if argument not in self.ranges:
            return True
        return yielded not in self.unknown and self._ranges_of(yielded) == self.ranges[argument]

    def _block(self, block: ir.Block) -> list[ir.Value]:
        """Visit the ops of a branch or a body; what it yields."""
        *operations, end = [op.operation for op in block.operations]
        for operation in operations:
            self.visit(operation)
        return list(end.operands)

    def _reads_unknown(self, call: ir.Operation, path: str, function: ir.OpView) -> bool:
        """Whether an argument has no range; then the results of a host function have none either."""
        which = [n for n, value in enumerate(call.operands) if value in self.unknown]
        if not which:
            return False
        reason = self.unknown[call.operands[which[0]]]
        if "::" in path:
            what = f"it reads a tensor whose shape has no known range: {reason}"
            raise UnknownRange(what, function, which)
        self.unknown.update((result, reason) for result in call.results if not _is_static(result.type))
        if self.assigned.pop(path, None):  # from before it turned out that a loop changes what it reads
            annotate_arguments(function, ((None,) * len(call.operands),))
        return True

    def _ranges_of(self, value: ir.Value) -> list[Shapes]:
        if value in self.ranges:
            return self.ranges[value]
        shape = tuple(_dims(value.type))
        return [(shape, shape, shape)] * self._count

    def _results(
        self, call: ir.Operation, path: str, function: ir.OpView, arguments: list[list[Shapes]]
    ) -> None:
        """Ranges of the results that vary: those that another call reads, and of outputs if asked for."""
        self.unknown.update((r, "it is no tensor") for r in call.results if not _is_tensor(r.type))
        open_ones = (n for n, r in enumerate(call.results) if not _is_static(r.type))
        varying = [n for n in open_ones if call.results[n] not in self.unknown]
        read = [n for n in varying if _read_by_call(call.results[n])]
        returned = [n for n in varying if n not in read] if self._outputs else []
        if not read and not returned:
            return
        try:
            resolver = shapes_of(path, function, self._weights)
            self._keep(call, read, resolver, arguments, measure=True)
        except MlirTrtError as error:
            self.unknown.update((call.results[number], error.what) for number in read)
            return
        with suppress(MlirTrtError):  # else whoever fills it allocates it
            self._keep(call, returned, resolver, arguments, measure=False)
        known = {n: self.ranges[call.results[n]] for n in varying if call.results[n] in self.ranges}
        if known:
            annotate_results(function, len(call.results), known)

    def _keep(
        self,
        call: ir.Operation,
        wanted: list[int],
        resolver: FunctionShapes | HostShapes,
        arguments: list[list[Shapes]],
        *,
        measure: bool,
    ) -> None:
        if not wanted:
            return
        sides: list[list[list[Shape]]] = [
            [
                resolver.shapes([ranges[k][side] for ranges in arguments], wanted, side, measure=measure)
                for side in range(3)
            ]
            for k in range(self._count)
        ]
        for at, number in enumerate(wanted):
            self.ranges[call.results[number]] = [
                _ordered(low[at], opt[at], high[at]) for low, opt, high in sides
            ]


def _ordered(low: Shape, opt: Shape, high: Shape) -> Shapes:
    """Corners as (min, opt, max), for an axis that shrinks where an input grows."""
    corners = np.sort(np.array([low, opt, high]), axis=0)
    return tuple(corners[0].tolist()), opt, tuple(corners[2].tolist())


def _spanning(a: Shapes, b: Shapes) -> Shapes:
    """The ranges of two shapes of one rank together."""
    low = tuple(min(dims) for dims in zip(a[0], b[0], strict=True))
    return low, a[1], tuple(max(dims) for dims in zip(a[2], b[2], strict=True))


def _carried(loop: ir.Operation) -> list[ir.Value]:
    from ..ir.builder import Op

    return Op.of(loop).group("init")


def _callee(operation: ir.Operation) -> str | None:
    from ..ir.attributes import to_python

    if operation.name not in ("tensorrt.call_alloc", "func.call"):
        return None
    return str(to_python(operation.attributes["callee"]))


def _read_by_call(value: ir.Value) -> bool:
    owners = (use.owner.operation for use in value.uses)
    return any(owner.name.startswith("plan.") or _callee(owner) is not None for owner in owners)


def _is_static(kind: ir.Type) -> bool:
    from torch_mlir import ir

    return isinstance(kind, ir.RankedTensorType) and kind.has_static_shape


def _is_tensor(kind: ir.Type) -> bool:
    from torch_mlir import ir

    return isinstance(kind, ir.RankedTensorType | ir.UnrankedTensorType)


def _is_ranked(kind: ir.Type) -> bool:
    from torch_mlir import ir

    return isinstance(kind, ir.RankedTensorType)


def _dims(kind: ir.Type) -> list[int]:
    from torch_mlir import ir

    return list(ir.RankedTensorType(kind).shape)
