"""The loop over a sequence, around the step of a cell. A sequence of one step needs no loop."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

import numpy as np
from torch_mlir import ir

from ....ir.builder import Op
from ....ir.values import has_uses
from ..conversions.emitter import Emitter
from .cells import CELLS
from .frame import Frame

__all__ = ["expand"]

_REVERSE = {"kFORWARD": (False,), "kREVERSE": (True,), "kBIDIRECTIONAL": (False, True)}
# All hidden states and the last ones, from steps first to batch first.
_WHOLE, _LAST = (2, 0, 1, 3), (1, 0, 2)


def expand(op: Op, emit: Emitter, weights: MutableMapping[str, np.ndarray]) -> list[ir.Value | None]:
    """What an lstm, gru or rnn op gives, made where `emit` stands; None for an output that nothing reads."""
    assert op.operation is not None
    sequence = _Sequence(op, emit, weights, whole=has_uses(op.operation.results[0]))
    initial = [sequence.frame.initial(name) for name in sequence.cell.states]
    output, last = sequence.once(initial) if sequence.frame.steps == 1 else sequence.loop(initial)
    if sequence.frame.batch_first:
        output = None if output is None else emit.transpose(output, _WHOLE)
        last = [emit.transpose(state, _LAST) for state in last]
    return [output, *last]


class _Sequence:
    """One op's steps. `whole`: all hidden states are wanted, not just the last."""

    def __init__(self, op: Op, emit: Emitter, weights: MutableMapping[str, np.ndarray], *, whole: bool) -> None:
        self.frame = Frame(op, emit, weights)
        self.cell = CELLS[op.definition.mnemonic](self.frame)
        self._emit = emit
        self._whole = whole
        self._reverse = _REVERSE[op.attr("direction")]
        lengths = op.operand("sequenceLens")
        # [1, batch, 1], and what stands in the output after a sequence's end.
        self._lengths = None if lengths is None else emit.unsqueeze(lengths, [0, 2])
        self._nothing = None if lengths is None else self.frame.zeros()

    def once(self, initial: Sequence[ir.Value]) -> tuple[ir.Value | None, list[ir.Value]]:
        """All hidden states and the last states, of a single step."""
        emit, frame = self._emit, self.frame
        x = emit.transpose(frame.input, _LAST) if frame.batch_first else frame.input
        running = None if self._lengths is None else emit.with_number("kGREATER", self._lengths, 0)
        states, output = self._step(x, initial, running)
        return (emit.unsqueeze(output, [0]) if self._whole else None), states

    def loop(self, initial: Sequence[ir.Value]) -> tuple[ir.Value | None, list[ir.Value]]:
        """All hidden states and the last states, of a loop."""
        emit, frame = self._emit, self.frame
        zero, one = emit.filled(0, "i32"), emit.filled(1, "i32")
        count = self._count()
        final = emit.binary("kSUB", count, one) if self._lengths is not None and True in self._reverse else None
        kinds = self._result_types(len(initial))
        results = emit.ops("for", [zero, count, one, initial], self._collected(), kinds)
        owner = results[0].owner
        assert not isinstance(owner, ir.Block)
        arguments = [zero.type, *(value.type for value in initial)]
        places = [owner.location] * len(arguments)
        block = owner.operation.regions[0].blocks.append(*arguments, arg_locs=places)
        with emit.inside(block):
            number, *states = block.arguments
            slices = [self._slice(reverse) for reverse in self._reverse]
            running = None if self._lengths is None else self._running(number, final)
            following, output = self._step(emit.concat(slices, 0), states, running)
            parts = [frame.direction(output, n) for n in range(len(self._reverse))] if self._whole else []
            emit.ops("yield", [[*following, *parts]], None, [])
        last, stacked = results[: len(initial)], results[len(initial) :]
        return (emit.concat(stacked, 1) if stacked else None), last

    def _count(self) -> ir.Value:
        """The number of steps, an i32 of rank 0: the builder has no loops that count in i64."""
        if self.frame.steps is not None:
            return self._emit.filled(self.frame.steps, "i32")
        return self._emit.squeeze(self.frame.extent(self.frame.time), [0])

    def _collected(self) -> dict[str, ir.Attribute | list[int]]:
        """How the loop stacks the hidden states of each direction."""
        if not self._whole:
            return {}
        kinds = ["kREVERSE" if reverse else "kCONCATENATE" for reverse in self._reverse]
        listed = ir.ArrayAttr.get([ir.StringAttr.get(kind) for kind in kinds])
        return {"collected": listed, "collect_axes": [0] * len(kinds)}

    def _result_types(self, states: int) -> list[ir.Type]:
        frame = self.frame
        stacked = self._emit.type([frame.steps, 1, frame.batch, frame.hidden], frame.element)
        return [frame.state_type] * states + [stacked] * (len(self._reverse) if self._whole else 0)

    def _slice(self, reverse: bool) -> ir.Value:
        """What the current step of one direction reads: [1, batch, width].

        The axis comes here, not before the loop: the builder joins products of steps that lie side by side.
        """
        frame = self.frame
        kind = self._emit.type([frame.batch, frame.width], frame.element)
        attributes = {"axis": frame.time, "reverse": reverse}
        return self._emit.unsqueeze(self._emit.op("iterator", [frame.input], attributes, kind), [0])

    def _running(self, number: ir.Value, final: ir.Value | None) -> ir.Value:
        """Whether the current step lies within each sequence: [directions, batch, 1]."""
        emit = self._emit
        assert self._lengths is not None
        found = []
        for reverse in self._reverse:
            at = emit.binary("kSUB", final, number) if reverse and final is not None else number
            found.append(emit.binary("kLESS", at, self._lengths))
        return emit.concat(found, 0)

    def _step(
        self, x: ir.Value, states: Sequence[ir.Value], running: ir.Value | None
    ) -> tuple[list[ir.Value], ir.Value]:
        """The states after a step, and the hidden one as the output has it.

        Past the end of a sequence the states stay and the output is 0.
        """
        following = self.cell.step(x, states)
        if running is None or self._nothing is None:
            return following, following[0]
        kept = [self._emit.select(running, new, old) for new, old in zip(following, states, strict=True)]
        return kept, self._emit.select(running, following[0], self._nothing)
