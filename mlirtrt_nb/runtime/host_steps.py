"""The steps of a host program, each bound to its engine and its fixed memory once.

While a program runs, its values are a list with one entry per buffer: NumPy arrays for what the caller, the
arena or the weights hold, ONNX Runtime's values for what an engine allocates during the call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..dialects.onnx.ort_arrays import array_of, is_numpys, ort_value
from ..dialects.onnx.ort_session import Opened
from ..engine.base import Engine
from ..engine.host_engine import is_onnxruntime
from ..errors import VerificationError
from ..ir import dtypes
from .control_flow import branch, repeat
from .schedule import Buffer, Schedule, Step

__all__ = ["StepMaker", "Values"]

Values = list[Any]
Run = Callable[[Values], None]


def is_plain(buffer: Buffer) -> bool:
    """Whether ONNX Runtime takes and gives the buffer's elements as a NumPy array."""
    if buffer.dtype == "!onnx.string":
        return True
    return is_bindable(buffer) and is_numpys(dtypes.by_mlir(buffer.dtype).np)


def is_bindable(buffer: Buffer) -> bool:
    """Whether ONNX Runtime can be given the buffer's memory: a tensor, and not of strings."""
    return not buffer.dtype.startswith("!")


class StepMaker:
    """Makes the steps of one binding of a program.

    `fixed` holds, per buffer, the array that it lies in at every call, or None. `native` collects the buffers
    whose values are ONNX Runtime's own; those of `mixed` are that or arrays, as several steps fill them.
    """

    def __init__(
        self, schedule: Schedule, fixed: Values, opened: Mapping[str, Opened], engines: Mapping[str, Engine]
    ) -> None:
        self.native: set[int] = set()
        self.mixed = _filled_by_several(schedule)
        self._buffers = schedule.buffers
        self._fixed = fixed
        self._opened = opened
        self._engines = engines

    def make(self, step: Step) -> Run:
        """The step as a function of a call's values. Raises VerificationError for a step of another device."""
        if step.kind == "copy":
            return self._copy(step.ins[0], step.outs[0])
        if step.kind == "move":
            return self._move(step.ins[0], step.outs[0])
        if step.kind == "append":
            return self._append(step.ins[0], step.outs[0])
        if step.kind == "if":
            then, other = ([self.make(inner) for inner in block] for block in step.blocks)
            return branch(self.reader(step.ins[0]), then, other)
        if step.kind == "repeat":
            return self._repeat(step)
        if step.kind != "call":
            raise VerificationError(f"plan.{step.kind} cannot run on the host")
        session = self._opened[step.callee].session
        if not step.outs:
            return self._check(session, step)
        if not is_onnxruntime(self._engines[step.callee]):
            return self._plain_call(session, step)
        if self.is_direct(step):
            return self._direct_call(session, step)
        if all(is_bindable(self._buffers[n]) for n in (*step.ins, *step.outs)):
            return self._bound_call(session, step)
        return self._plain_call(session, step)

    def is_direct(self, step: Step) -> bool:
        """Whether a call reads arrays and allocates all it gives: then handing the arrays over is fastest."""
        return (
            step.kind == "call"
            and len(step.outs) > 0
            and is_onnxruntime(self._engines[step.callee])
            and all(is_plain(self._buffers[n]) for n in (*step.ins, *step.outs))
            and all(n not in self.native and n not in self.mixed for n in step.ins)
            and all(self._fixed[n] is None for n in step.outs)
        )

    def names(self, step: Step) -> tuple[list[str], list[str]]:
        """The names of an engine's inputs and outputs, in the order of the step's."""
        engine = self._engines[step.callee]
        return [binding.name for binding in engine.inputs], [binding.name for binding in engine.outputs]

    def reader(self, number: int) -> Callable[[Values], Any]:
        """How to read the array of an output from a call's values, once the steps are made."""
        if number in self.mixed:
            return lambda values: _read(values[number])
        if number not in self.native:
            return lambda values: values[number]
        if is_plain(self._buffers[number]):
            return lambda values: values[number].numpy()
        return lambda values: array_of(values[number])

    def _copy(self, source: int, target: int) -> Run:
        read = self.reader(source)
        if self._fixed[target] is not None:
            return lambda values: np.copyto(values[target], read(values))

        def copy(values: Values) -> None:
            found = read(values)
            values[target] = found.copy() if isinstance(found, np.ndarray) else found

        return copy

    def _move(self, source: int, target: int) -> Run:
        if self._fixed[source] is not None or self._fixed[target] is not None:
            return self._copy(source, target)

        def move(values: Values) -> None:
            values[target] = values[source]

        return move

    def _append(self, part: int, collected: int) -> Run:
        read = self.reader(part)
        if self._fixed[part] is not None:
            return lambda values: values[collected].append(read(values).copy())
        return lambda values: values[collected].append(read(values))

    def _repeat(self, step: Step) -> Run:
        assert step.number is not None
        return repeat(
            number=step.number,
            trips=None if step.trips is None else self.reader(step.trips),
            going=None if step.going is None else self.reader(step.going),
            collected=[(n, self._buffers[n]) for n in step.outs],
            body=[self.make(inner) for inner in step.blocks[0]],
            put=self._put,
        )

    def _put(self, values: Values, number: int, array: np.ndarray, before: Any) -> None:
        fixed = self._fixed[number]
        if fixed is not None:
            np.copyto(fixed, array)
        values[number] = array if fixed is None else fixed

    def _direct_call(self, session: Any, step: Step) -> Run:
        run = session._sess.run
        ins, outs = self.names(step)
        pairs = list(zip(ins, step.ins, strict=True))

        def call(values: Values) -> None:
            results = run(outs, {name: values[n] for name, n in pairs}, None)
            for n, result in zip(step.outs, results, strict=True):
                values[n] = result

        return call

    def _plain_call(self, session: Any, step: Step) -> Run:
        """A call through Python objects: for sequences and optionals, which cannot be bound."""
        ins, names = self.names(step)
        readers = [(name, self.reader(n)) for name, n in zip(ins, step.ins, strict=True)]

        def call(values: Values) -> None:
            results = session.run(names, {name: read(values) for name, read in readers})
            for n, result in zip(step.outs, results, strict=True):
                if self._fixed[n] is None:
                    values[n] = result
                else:
                    np.copyto(self._fixed[n], result)

        return call

    def _check(self, session: Any, step: Step) -> Run:
        """A call of assertions, which gives nothing and fails where one does not hold."""
        ins, _ = self.names(step)
        readers = [(name, self.reader(n)) for name, n in zip(ins, step.ins, strict=True)]

        def call(values: Values) -> None:
            session.run(None, {name: read(values) for name, read in readers})

        return call

    def _bound_call(self, session: Any, step: Step) -> Run:
        in_names, out_names = self.names(step)
        ins = list(zip(in_names, step.ins, strict=True))
        outs = list(zip(out_names, step.outs, strict=True))
        kept = []
        binding = session.io_binding()._iobinding
        for name, n in ins:
            if self._fixed[n] is not None:
                kept.append(ort_value(self._fixed[n]))
                binding.bind_ortvalue_input(name, kept[-1]._ortvalue)
        for name, n in outs:
            if self._fixed[n] is not None:
                kept.append(ort_value(self._fixed[n]))
                binding.bind_ortvalue_output(name, kept[-1]._ortvalue)
            else:
                binding.bind_output(name, _cpu())
        loose = [(name, n) for name, n in ins if self._fixed[n] is None]
        call = _BoundCall(
            run=session._sess.run_with_iobinding,
            binding=binding,
            kept=kept,
            arrays=tuple((name, n) for name, n in loose if self._is_array(n) and is_plain(self._buffers[n])),
            others=tuple(
                (name, n) for name, n in loose if self._is_array(n) and not is_plain(self._buffers[n])
            ),
            native=tuple((name, n) for name, n in loose if n in self.native and n not in self.mixed),
            mixed=tuple((name, n) for name, n in loose if n in self.mixed),
            fresh=tuple((k, name, n) for k, (name, n) in enumerate(outs) if self._fixed[n] is None),
        )
        self.native |= {n for _, _, n in call.fresh if n not in self.mixed}
        return call

    def _is_array(self, number: int) -> bool:
        return number not in self.native and number not in self.mixed


class _BoundCall:
    """A call of an engine whose memory is bound; only what changes from call to call is bound anew.

    `arrays`, `others`, `native` and `mixed` are (name, buffer) of inputs by how they are handed over; `fresh`
    is (position, name, buffer) of outputs that the engine allocates. Fresh outputs must be bound at each call,
    or ONNX Runtime would write over those that the caller still holds.
    """

    __slots__ = ("_arrays", "_binding", "_device", "_fresh", "_kept", "_mixed", "_native", "_others", "_run")

    def __init__(
        self,
        run: Any,
        binding: Any,
        kept: list[Any],
        arrays: tuple[tuple[str, int], ...],
        others: tuple[tuple[str, int], ...],
        native: tuple[tuple[str, int], ...],
        mixed: tuple[tuple[str, int], ...],
        fresh: tuple[tuple[int, str, int], ...],
    ) -> None:
        self._run = run
        self._binding = binding
        self._kept = kept
        self._arrays = arrays
        self._others = others
        self._native = native
        self._mixed = mixed
        self._fresh = fresh
        self._device = _cpu()

    @property
    def fresh(self) -> tuple[tuple[int, str, int], ...]:
        return self._fresh

    def __call__(self, values: Values) -> None:
        binding = self._binding
        for name, n in self._arrays:
            binding.bind_input(name, values[n])
        for name, n in self._others:
            binding.bind_ortvalue_input(name, ort_value(values[n])._ortvalue)
        for name, n in self._native:
            binding.bind_ortvalue_input(name, values[n])
        for name, n in self._mixed:
            found = values[n]
            binding.bind_ortvalue_input(name, ort_value(found)._ortvalue if _is_object(found) else found)
        for _, name, _ in self._fresh:
            binding.bind_output(name, self._device)
        self._run(binding, None)
        if self._fresh:
            outputs = binding.get_outputs()
            for position, _, n in self._fresh:
                values[n] = outputs[position]


def _is_object(value: Any) -> bool:
    """Whether a value is Python's: an array, a list for a sequence, None for an absent optional."""
    return value is None or isinstance(value, np.ndarray | np.generic | list | dict)


def _read(value: Any) -> Any:
    return value if _is_object(value) else array_of(value)


def _filled_by_several(schedule: Schedule) -> frozenset[int]:
    """The buffers that more than one step fills, or that are filled with what another one held."""
    counts: Counter[int] = Counter()
    for step in schedule.all_steps():
        counts.update(step.outs)
        if step.kind == "move":
            counts.update(step.outs)
    return frozenset(number for number, count in counts.items() if count > 1)


def _cpu() -> Any:
    from onnxruntime.capi import _pybind_state as state

    return state.OrtDevice(state.OrtDevice.cpu(), state.OrtDevice.default_memory(), 0)
