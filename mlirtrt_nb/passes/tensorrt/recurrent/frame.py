"""What the steps of one recurrent op have in common: its extents, and ops that need them.

Whatever depends on a batch that varies is made here, before the loop: inside there are no shapes to work out.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TypeAlias

import numpy as np
from torch_mlir import ir

from ....dialects.tensorrt.recurrent import directions_of
from ....ir.builder import Op
from ..conversions.emitter import Emitter
from ..conversions.node import element, shape_of
from ..matching import constant

__all__ = ["Frame", "Parameter"]

# Weights of the op: numbers that are known, or a value.
Parameter: TypeAlias = np.ndarray | ir.Value


class Frame:
    """One recurrent op with an emitter. A state is a value of [directions, batch, hidden].

    `batch`, `steps` and `width` are None where they vary; `time` is the axis of the steps in the op's input.
    """

    def __init__(self, op: Op, emit: Emitter, weights: MutableMapping[str, np.ndarray]) -> None:
        self.op, self.emit = op, emit
        self._weights = weights
        value = op.operand("input")
        assert value is not None
        self.input = value
        self.element = element(value)
        self.batch_first = op.attr("layout") == 1
        self.time = 1 if self.batch_first else 0
        dims = shape_of(value)
        self.steps, self.batch, self.width = dims[self.time], dims[1 - self.time], dims[2]
        self.directions, self.hidden = directions_of(op), int(op.attr("hiddenSize"))
        self._sizes = {count: self._size(count) for count in {1, self.directions}}
        self.state_type = self._type(self.directions)

    def _type(self, directions: int) -> ir.RankedTensorType:
        return self.emit.type([directions, self.batch, self.hidden], self.element)

    def _size(self, directions: int) -> ir.Value | None:
        """The shape of a state as an i32 vector, where the batch varies."""
        if self.batch is not None:
            return None
        ends = [self.emit.constant(np.array([n], np.int32)) for n in (directions, self.hidden)]
        return self.emit.concat([ends[0], self.extent(1 - self.time), ends[1]], 0)

    def extent(self, axis: int) -> ir.Value:
        """A dimension of the input that varies, as an i32 vector of one."""
        shape = self.emit.op("shape", [self.input], None, self.emit.type([3], "i32"))
        return self.emit.slice(shape, [axis], [1])

    # Parts of states

    def gate(self, value: ir.Value, number: int) -> ir.Value:
        """Columns `number` * hidden and on of a value of [directions, batch, gates * hidden]."""
        return self._cut(value, [0, 0, number * self.hidden], self.directions)

    def direction(self, value: ir.Value, number: int) -> ir.Value:
        """A state of one direction alone."""
        return value if self.directions == 1 else self._cut(value, [number, 0, 0], 1)

    def _cut(self, value: ir.Value, start: list[int], directions: int) -> ir.Value:
        kind = self._type(directions)
        if kind == value.type:
            return value
        attributes = {"static_start": start, "static_stride": [1, 1, 1]}
        if self.batch is not None:
            attributes["static_size"] = [directions, self.batch, self.hidden]
        return self.emit.op("slice", [value, None, None, self._sizes[directions]], attributes, kind)

    def zeros(self) -> ir.Value:
        """A state of zeros."""
        if self.batch is not None:
            return self.emit.filled(0, self.element, (self.directions, self.batch, self.hidden))
        attributes = {"static_start": [0, 0, 0], "static_stride": [0, 0, 0]}
        zero = self.emit.filled(0, self.element, (1, 1, 1))
        operands = [zero, None, None, self._sizes[self.directions]]
        return self.emit.op("slice", operands, attributes, self.state_type)

    def initial(self, name: str) -> ir.Value:
        """The state that the operand `name` gives, or zeros."""
        value = self.op.operand(name)
        if value is None:
            return self.zeros()
        return self.emit.transpose(value, [1, 0, 2]) if self.batch_first else value

    # Weights

    def parameter(self, name: str) -> Parameter | None:
        """The op's operand `name`; its numbers where it is a constant."""
        value = self.op.operand(name)
        if value is None:
            return None
        found = constant(value, self._weights)
        return value if found is None else found

    def required(self, name: str) -> Parameter:
        """As `parameter`, of an operand that the op must have."""
        found = self.parameter(name)
        assert found is not None
        return found

    def part(self, weights: Parameter, start: int, size: int) -> Parameter:
        """What stands from `start` on along the second axis of weights, whose first is the directions."""
        if isinstance(weights, np.ndarray):
            return weights[:, start : start + size]
        rest = self.emit.sizes(weights)[2:]
        return self.emit.slice(weights, [0, start, *[0] * len(rest)], [self.directions, size, *rest])

    def total(self, a: Parameter, b: Parameter) -> Parameter:
        """The sum of weights of one shape."""
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return a + b
        return self.emit.binary("kSUM", self.value(a, "weights"), self.value(b, "weights"))

    def row(self, weights: Parameter, what: str) -> ir.Value:
        """Weights of [directions, width] as a value of [directions, 1, width]."""
        if isinstance(weights, np.ndarray):
            return self.value(weights[:, None, :], what)
        return self.emit.unsqueeze(weights, [1])

    def value(self, weights: Parameter, what: str) -> ir.Value:
        """Weights as a value; numbers become a constant, whose name ends in `what`."""
        if isinstance(weights, np.ndarray):
            return self.emit.constant(np.ascontiguousarray(weights), what)
        return weights

    def product(self, x: ir.Value, weights: ir.Value) -> ir.Value:
        """`x` times the transposed weights: [directions, batch, rows of the weights]."""
        result = self.emit.type([self.directions, self.batch, shape_of(weights)[1]], self.element)
        return self.emit.op("matrix_multiply", [x, weights], {"op0": "kNONE", "op1": "kTRANSPOSE"}, result)
