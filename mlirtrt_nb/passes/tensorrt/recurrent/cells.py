"""The arithmetic of one step of lstm, gru and rnn.

A cell is made before the loop, with what stays the same over the steps. Both directions step together.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from ....dialects.tensorrt.recurrent import GATES, functions_of
from .frame import Frame, Parameter

__all__ = ["CELLS", "Cell"]

_Function = tuple[str, "float | None", "float | None"]


class Cell:
    """One step. `states` names the operands that give the states before the first."""

    states: tuple[str, ...] = ("initialHidden",)

    def __init__(self, frame: Frame) -> None:
        self.frame, self.emit = frame, frame.emit
        self._functions = functions_of(frame.op)
        self._clip = frame.op.attr("clip")
        self.prepare()

    def prepare(self) -> None:
        """Make the values that every step needs."""
        raise TypeError(f"{type(self).__name__} does not define prepare")

    def step(self, x: ir.Value, states: Sequence[ir.Value]) -> list[ir.Value]:
        """The states after a step, the hidden state first. `x` is [directions or 1, batch, width]."""
        raise TypeError(f"{type(self).__name__} does not define step")

    # Weights

    def weights(self, name: str) -> ir.Value:
        """The value of an operand that every cell of this kind has."""
        value = self.frame.op.operand(name)
        assert value is not None
        return value

    def biases(self) -> tuple[Parameter, Parameter] | None:
        """The input's and the recurrence's, each [directions, gates * hidden]."""
        bias = self.frame.parameter("bias")
        if bias is None:
            return None
        half = GATES[self.frame.op.definition.mnemonic] * self.frame.hidden
        return self.frame.part(bias, 0, half), self.frame.part(bias, half, half)

    def bias(self) -> ir.Value | None:
        """Both biases in one."""
        both = self.biases()
        return None if both is None else self.frame.row(self.frame.total(*both), "bias")

    # Arithmetic

    def sum(self, a: ir.Value, b: ir.Value | None) -> ir.Value:
        """a + b; `a` itself where there is no b."""
        return a if b is None else self.emit.binary("kSUM", a, b)

    def product(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a * b, element by element."""
        return self.emit.binary("kPROD", a, b)

    def rest(self, x: ir.Value) -> ir.Value:
        """1 - x."""
        return self.emit.binary("kSUB", self.emit.filled(1, self.frame.element, (1, 1, 1)), x)

    def gated(self, number: int, x: ir.Value) -> ir.Value:
        """As `activate`, on a gate's value, which is clipped if so asked."""
        if self._clip is not None:
            x = self.emit.activation("kCLIP", x, -self._clip, self._clip)
        return self.activate(number, x)

    def activate(self, number: int, x: ir.Value) -> ir.Value:
        """Function `number` of each direction on a state."""
        frame = self.frame
        count = len(self._functions) // frame.directions
        chosen = self._functions[number::count]
        if len(set(chosen)) == 1:
            return self._apply(chosen[0], x)
        return self.emit.concat([self._apply(f, frame.direction(x, n)) for n, f in enumerate(chosen)], 0)

    def _apply(self, function: _Function, x: ir.Value) -> ir.Value:
        kind, alpha, beta = function
        if kind == "kAFFINE":
            scaled = self.emit.with_number("kPROD", x, alpha or 0.0)
            return self.emit.with_number("kSUM", scaled, beta or 0.0)
        if kind == "kSOFTPLUS":
            alpha = beta = 1.0
        return self.emit.activation(kind, x, alpha, beta)


class _Lstm(Cell):
    states = ("initialHidden", "initialCell")

    def prepare(self) -> None:
        self._input, self._recurrence = self.weights("weights"), self.weights("recurrenceWeights")
        self._bias = self.bias()
        self._coupled = bool(self.frame.op.attr("inputForget"))
        given, hidden = self.frame.parameter("peepholes"), self.frame.hidden
        self._peepholes: list[ir.Value | None] = [None] * 3
        if given is not None:
            parts = [self.frame.part(given, n * hidden, hidden) for n in range(3)]
            self._peepholes = [self.frame.row(part, "peepholes") for part in parts]

    def step(self, x: ir.Value, states: Sequence[ir.Value]) -> list[ir.Value]:
        hidden, cell = states
        from_state = self.sum(self.frame.product(hidden, self._recurrence), self._bias)
        gates = self.sum(self.frame.product(x, self._input), from_state)
        first, last, middle, fresh = (self.frame.gate(gates, n) for n in range(4))
        entering = self.gated(0, self._peeped(first, 0, cell))
        keeping = self.rest(entering) if self._coupled else self.gated(0, self._peeped(middle, 2, cell))
        following = self.sum(self.product(keeping, cell), self.product(entering, self.gated(1, fresh)))
        leaving = self.gated(0, self._peeped(last, 1, following))
        return [self.product(leaving, self.activate(2, following)), following]

    def _peeped(self, gate: ir.Value, number: int, cell: ir.Value) -> ir.Value:
        weights = self._peepholes[number]
        return gate if weights is None else self.sum(gate, self.product(cell, weights))


class _Gru(Cell):
    """The first two gates, update and reset, have products of their own: the third waits for the reset gate."""

    def prepare(self) -> None:
        hidden = self.frame.hidden
        spans = ((0, 2 * hidden), (2 * hidden, hidden))
        self._after = bool(self.frame.op.attr("linearBeforeReset"))
        self._input, self._recurrence = (
            [self.frame.value(self.frame.part(whole, *span), name) for span in spans]
            for name, whole in ((name, self.frame.required(name)) for name in ("weights", "recurrenceWeights"))
        )
        self._biases: list[ir.Value | None] = [None] * 3
        both = self.biases()
        if both is not None:
            gates, fresh = ([self.frame.part(half, *span) for half in both] for span in spans)
            late = fresh if self._after else [self.frame.total(*fresh)]
            self._biases = [self.frame.row(part, "bias") for part in (self.frame.total(*gates), *late)] + [None]

    def step(self, x: ir.Value, states: Sequence[ir.Value]) -> list[ir.Value]:
        (hidden,) = states
        frame = self.frame
        from_state = self.sum(frame.product(hidden, self._recurrence[0]), self._biases[0])
        gates = self.sum(frame.product(x, self._input[0]), from_state)
        update, reset = (self.gated(0, frame.gate(gates, n)) for n in range(2))
        if self._after:
            product = self.sum(frame.product(hidden, self._recurrence[1]), self._biases[2])
            late = self.product(reset, product)
        else:
            late = frame.product(self.product(reset, hidden), self._recurrence[1])
        late = self.sum(late, self._biases[1])
        fresh = self.gated(1, self.sum(frame.product(x, self._input[1]), late))
        return [self.sum(self.product(self.rest(update), fresh), self.product(update, hidden))]


class _Rnn(Cell):
    def prepare(self) -> None:
        self._input, self._recurrence = self.weights("weights"), self.weights("recurrenceWeights")
        self._bias = self.bias()

    def step(self, x: ir.Value, states: Sequence[ir.Value]) -> list[ir.Value]:
        from_state = self.sum(self.frame.product(states[0], self._recurrence), self._bias)
        return [self.gated(0, self.sum(self.frame.product(x, self._input), from_state))]


CELLS: dict[str, type[Cell]] = {"lstm": _Lstm, "gru": _Gru, "rnn": _Rnn}
