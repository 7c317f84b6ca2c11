"""Reads a `plan.program` into a `Schedule`."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from ..errors import VerificationError
from .schedule import Buffer, Schedule, Signature, Step, walk

if TYPE_CHECKING:
    import numpy as np
    from torch_mlir import ir

    from ..ir.builder import Op

__all__ = ["read_schedule"]


def read_schedule(program: ir.Operation, weights: MutableMapping[str, np.ndarray]) -> Schedule:
    """Read a `plan.program`. Constants whose values stand in the IR itself are put into `weights`.

    Raises VerificationError for an op that a program cannot hold.
    """
    with program.context:
        return _Reader(program, weights).read()


class _Reader:
    def __init__(self, program: ir.Operation, weights: MutableMapping[str, np.ndarray]) -> None:
        self._program = program
        self._weights = weights
        self._buffers: list[Buffer] = []
        self._steps: list[Step] = []  # of the block that is being read
        self._count = 0
        # Buffers, streams and events by the value that stands for them.
        self._numbers: dict[ir.Value, int] = {}

    def read(self) -> Schedule:
        from ..ir.builder import Op

        program = Op.of(self._program)
        block = self._program.regions[0].blocks[0]
        *body, end = [Op.of(op.operation) for op in block.operations]
        inputs = _signatures(program.raw("arg_attrs"), list(block.arguments))
        outputs = _signatures(program.raw("res_attrs"), end.group("values"))
        for n, (argument, signature) in enumerate(zip(block.arguments, inputs, strict=True)):
            self._add(argument, signature.name, "input", index=n)
        for op in body:
            self._read(op, outputs)
        return Schedule(
            device=program.attr("device"),
            targets=tuple(program.attr("targets")),
            inputs=inputs,
            outputs=outputs,
            buffers=_with_lifetimes(self._buffers, self._steps),
            steps=tuple(self._steps),
            arena_bytes=program.attr("arena_bytes"),
            peak_live_bytes=program.attr("peak_live_bytes"),
            staging_bytes=program.attr("staging_bytes") or 0,
        )

    def _read(self, op: Op, outputs: tuple[Signature, ...]) -> None:
        kind = op.name.removeprefix("plan.")
        if kind == "buffer":
            self._add_buffer(op)
        elif kind == "output":
            index = op.attr("index")
            self._add(_result(op), outputs[index].name, "output", index=index)
        elif kind == "constant":
            self._add_constant(op)
        elif kind == "stream":
            self._numbers[_result(op)] = op.attr("index")
        elif kind in _STEPS:
            self._add_step(op, kind)
        else:
            from ..ir.context import shown_name

            raise VerificationError(f"a plan.program cannot hold {shown_name(op.name)}")

    def _add(self, value: ir.Value, name: str, role: str, **more: Any) -> None:
        from ..dialects.plan import space_of

        shape, dtype = _shape_and_dtype(value.type)
        self._numbers[value] = len(self._buffers)
        self._buffers.append(Buffer(name, role, space_of(value.type), shape, dtype, **more))

    def _add_buffer(self, op: Op) -> None:
        first, last = op.attr("live")
        more = {key: op.attr(key) for key in ("bytes", "offset", "alias")}
        name = _name(op) or f"buffer{len(self._buffers)}"
        self._add(_result(op), name, op.attr("role") or "tensor", first=first, last=last, **more)

    def _add_constant(self, op: Op) -> None:
        from torch_mlir import ir

        from ..ir.constants import handle_name, strings_of, value_of

        attribute = op.raw("value")
        assert attribute is not None
        weight = handle_name(attribute)
        if weight is None:
            weight = self._free_name()
            strings = isinstance(attribute, ir.ArrayAttr)
            self._weights[weight] = (
                strings_of(attribute, _result(op).type) if strings else value_of(attribute, self._weights)
            )
        self._add(_result(op), weight, "constant", weight=weight)

    def _free_name(self) -> str:
        """A name that no weight has, and no constant of another device's program."""
        number = len(self._buffers)
        while f"constant{number}" in self._weights:
            number += 1
        return f"constant{number}"

    def _add_step(self, op: Op, kind: str) -> None:
        from ..ir.locations import sources_of

        assert op.operation is not None
        names = {entry.name for entry in op.definition.operands}
        ins, outs = _SIDES.get(kind, ("ins", "outs"))
        numbers = {name: tuple(self._numbers[value] for value in op.group(name)) for name in names}
        event = numbers.get("event", ())
        if kind == "record":
            event = (self._count,)
            self._numbers[_result(op)] = event[0]
        self._count += 1
        self._steps.append(
            Step(
                kind,
                numbers.get(ins, ()),
                numbers.get(outs, ()),
                op.attr("callee") if op.definition.attr("callee") else "",
                workspace=_first(numbers.get("workspace", ())),
                stream=_first(numbers.get("stream", ())),
                event=_first(event),
                sources=sources_of(op.operation.location),
                blocks=tuple(self._block(region) for region in op.operation.regions),
                number=_first(numbers.get("number", ())),
                trips=_first(numbers.get("trips", ())),
                going=_first(numbers.get("going", ())),
            )
        )

    def _block(self, region: ir.Region) -> tuple[Step, ...]:
        """The steps of a branch or a loop's body."""
        from ..ir.builder import Op

        outer, self._steps = self._steps, []
        *body, _ = [Op.of(op.operation) for op in region.blocks[0].operations]
        for op in body:
            self._read(op, ())
        found, self._steps = tuple(self._steps), outer
        return found


# What an op calls the buffers that it reads, and those that it writes, where that is not ins and outs.
_SIDES = {
    "copy": ("source", "target"),
    "move": ("source", "target"),
    "append": ("part", "collected"),
    "if": ("condition", "outs"),
    "repeat": ("ins", "collected"),
}
_STEPS = frozenset({*_SIDES, "enqueue", "call", "record", "wait", "synchronize"})


def _first(numbers: tuple[int, ...]) -> int | None:
    return numbers[0] if numbers else None


def _result(op: Op) -> ir.Value:
    assert op.operation is not None
    return op.operation.results[0]


def _name(op: Op) -> str:
    from ..ir.locations import sources_of

    assert op.operation is not None
    return next(iter(sources_of(op.operation.location)), "")


def _signatures(attributes: ir.Attribute | None, values: list[ir.Value]) -> tuple[Signature, ...]:
    from torch_mlir import ir

    entries = list(ir.ArrayAttr(attributes)) if attributes is not None else [{}] * len(values)
    return tuple(
        _signature(entry, n, value.type) for n, (entry, value) in enumerate(zip(entries, values, strict=True))
    )


def _signature(entry: Any, n: int, kind: ir.Type) -> Signature:
    from ..dialects.tensorrt.profiles import ranges_of

    name = entry["plan.name"].value if "plan.name" in entry else f"value{n}"
    dims = {}
    if "tensorrt.dimension_names" in entry:
        dims = {int(key.name): key.attr.value for key in entry["tensorrt.dimension_names"]}
    ranges = ranges_of(entry["tensorrt.shape_profile"]) if "tensorrt.shape_profile" in entry else ()
    return Signature(name, *_shape_and_dtype(kind), dims, ranges)


def _shape_and_dtype(kind: ir.Type) -> tuple[tuple[int, ...] | None, str]:
    """A shape with -1 where it varies, and the element type; see `Signature` for what has neither."""
    from torch_mlir import ir

    if isinstance(kind, ir.MemRefType | ir.RankedTensorType):
        return tuple(-1 if dim < 0 else dim for dim in kind.shape), str(kind.element_type)
    if isinstance(kind, ir.UnrankedMemRefType | ir.UnrankedTensorType):
        return None, str(kind.element_type)
    return None, str(kind)


def _with_lifetimes(buffers: list[Buffer], steps: list[Step]) -> tuple[Buffer, ...]:
    """Inputs, outputs and constants with the steps that touch them; the others say theirs themselves."""
    from dataclasses import replace

    touched: dict[int, list[int]] = {}
    for number, step in enumerate(walk(steps)):
        for n in step.touches():
            touched.setdefault(n, []).append(number)
    made = []
    for n, buffer in enumerate(buffers):
        if buffer.role in ("input", "output", "constant") and n in touched:
            buffer = replace(buffer, first=touched[n][0], last=touched[n][-1])
        made.append(buffer)
    return tuple(made)
