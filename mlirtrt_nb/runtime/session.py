"""`Session`: a Plan made ready on a device."""

from __future__ import annotations

import math
import re
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from keyword import iskeyword
from typing import Any, Protocol

import numpy as np

from ..engine.onnxruntime.failures import failure_of
from ..errors import InputError, MlirTrtError, OptionError
from ..ir import dtypes
from ..kind_name import kind_name
from ..memory import no_room
from .device_array import device_array
from .inputs import InputChecker, as_array, spelled
from .overlap import check_apart
from .schedule import Schedule, Signature

__all__ = ["Session"]


class Executable(Protocol):
    """What a Session drives: a program on one kind of device."""

    device: str
    schedule: Schedule

    def call(self, inputs: Sequence[Any]) -> list[Any]: ...

    def bound(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[[], list[Any]]: ...

    def conditions(self) -> dict[str, Any]: ...

    def timed(self, inputs: Sequence[Any]) -> dict[str, float]: ...

    def profile(self, inputs: Sequence[Any], runs: int) -> list[Any]: ...

    def close(self) -> None: ...


class Session:
    """A Plan made ready: memory allocated, engines loaded, steps bound. Made by `plan.session()`.

        y = session(x)                      # arrays in, arrays out; several outputs as a named tuple
        outputs = session.run({"x": x})     # by name, in and out
        session.bind(x=buffer, y=out); session.execute()   # in place, no allocation

    Inputs are NumPy arrays or anything with `__dlpack__`. One call runs at a time; calls from several threads
    wait for one another.
    """

    def __init__(self, program: Executable, name: str = "plan") -> None:
        self._program = program
        self._call: Callable[[Sequence[Any]], list[Any]] = program.call
        self.name = name
        self.inputs: tuple[Signature, ...] = program.schedule.inputs
        self.outputs: tuple[Signature, ...] = program.schedule.outputs
        self._check = InputChecker(self.inputs, program.device)
        self._positional = self._check.positional
        self._pack = _packer(tuple(signature.name for signature in self.outputs))
        self._bound: dict[str, Any] = {}
        self._execute: Callable[[], list[Any]] | None = None
        self._open = True

    @property
    def device(self) -> str:
        """ "cpu" or "cuda"."""
        return self._program.device

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run. One output comes bare, several as a named tuple, none as an empty tuple.

        Raises InputError for a wrong name, count, dtype, rank or shape, TargetError for too little memory.
        """
        arrays = self._check.mixed(args, kwargs) if kwargs else self._positional(args)
        try:
            return self._pack(self._call(arrays))
        except MlirTrtError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run on inputs by name; outputs by name."""
        arrays = self._check.named(inputs)
        try:
            results = self._call(arrays)
        except MlirTrtError:
            raise
        except Exception as error:
            raise self._failure(error) from error
        return {signature.name: result for signature, result in zip(self.outputs, results, strict=True)}

    def bind(
        self,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        /,
        **buffers: Any,
    ) -> Session:
        """Say where inputs are read and outputs written by `execute`, from now on and in place.

        Args:
            inputs, outputs: buffers by name; for names that are no identifiers, or are both input and output.
            buffers: the same as keywords.

        Buffers are NumPy arrays or anything with `__dlpack__`, contiguous, of exactly the declared dtype and
        shape. What was bound before and is not named stays. An output that is not bound gets memory of its own
        if its shape is fixed; else its engine allocates it at each execution. No output may share memory with
        another buffer; inputs may with each other. Returns the session.
        """
        if not self._open:
            self._closed()
        named = self._sides(inputs, outputs, buffers)
        for (side, name), value in named.items():
            self._bound[f"{side} {name}"] = self._buffer(side, name, value)
        self._execute = None
        return self

    def execute(self) -> Any:
        """Run on what is bound and return the outputs as a call does, in the bound memory."""
        if self._execute is None:
            self._execute = self._prepare()
        try:
            return self._pack(self._execute())
        except MlirTrtError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def checked(self, /, *args: Any, **kwargs: Any) -> list[Any]:
        """A call's arguments as arrays in the order of the inputs. Raises InputError as a call does."""
        return self._check.mixed(args, kwargs)

    def ordered(self, inputs: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        """Inputs by name or in order as `checked` arrays in the order of the inputs. Raises InputError."""
        if not self._open:
            self._closed()
        return self._check.given(inputs)

    def timed(self, inputs: Mapping[str, Any] | Sequence[Any]) -> dict[str, float]:
        """Run once on inputs by name or in order; trtexec's metrics in ms as far as the device can tell."""
        return self._program.timed(self.ordered(inputs))

    def profile(self, inputs: Mapping[str, Any] | Sequence[Any], runs: int = 10) -> list[Any]:
        """What each engine layer takes on inputs by name or in order: a list of `LayerTimes` over some runs."""
        if not isinstance(runs, int | np.integer) or runs < 1:
            raise OptionError(f"runs must be a number of 1 or more, got {runs!r}")
        arrays = self.ordered(inputs)
        try:
            return self._program.profile(arrays, runs)
        except MlirTrtError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def conditions(self) -> dict[str, Any]:
        """What a measurement of this session should be labelled with: device, processor, versions."""
        return self._program.conditions()

    def close(self) -> None:
        """Free the device memory and the engines. A closed session cannot run."""
        self._program.close()
        self._call = self._closed
        self._execute = self._closed
        self._open = False

    def __reduce__(self) -> tuple[Any, ...]:
        raise MlirTrtError(
            "a session cannot be pickled", hint="pickle its plan, and make a session where it runs"
        )

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        ins = ", ".join(f"{s.name}: {spelled(s.shape, s.dims)}x{s.dtype}" for s in self.inputs)
        outs = ", ".join(f"{s.name}: {spelled(s.shape, s.dims)}x{s.dtype}" for s in self.outputs)
        return f"<Session {self.name!r} on {self.device}: ({ins}) -> ({outs})>"

    @staticmethod
    def _closed(*_: Any) -> Any:
        raise MlirTrtError("the session is closed", hint="make another with plan.session()")

    def _failure(self, error: Exception) -> MlirTrtError:
        """What an engine raised while it ran, as one of the package's errors."""
        return failure_of(error, self.name)

    def _sides(
        self, inputs: Mapping[str, Any] | None, outputs: Mapping[str, Any] | None, buffers: Mapping[str, Any]
    ) -> dict[tuple[str, str], Any]:
        ins = {signature.name for signature in self.inputs}
        outs = {signature.name for signature in self.outputs}
        for side, given in (("inputs", inputs), ("outputs", outputs)):
            if given is not None and not isinstance(given, Mapping):
                raise InputError(f"{side} are a mapping from name to buffer, not {kind_name(given)}")
        named = {("input", name): value for name, value in (inputs or {}).items()}
        named |= {("output", name): value for name, value in (outputs or {}).items()}
        for name, value in buffers.items():
            if name in ins and name in outs:
                raise InputError(
                    f"{name!r} is both an input and an output", hint="bind({...}, {...}) by position"
                )
            named["input" if name in ins else "output", name] = value
        for side, name in named:
            if name not in (ins if side == "input" else outs):
                raise InputError(
                    f"there is no input or output {name!r}",
                    hint=f"inputs: {', '.join(ins)}; outputs: {', '.join(outs)}",
                )
        return named

    def _buffer(self, side: str, name: str, value: Any) -> Any:
        what = f"{side} {name!r}"
        on_device = device_array(value, what) if self.device == "cuda" else None
        if on_device is not None:
            return on_device
        return as_array(value, what) if side == "input" else _writable(value, name)

    def _prepare(self) -> Callable[[], list[Any]]:
        missing = [s.name for s in self.inputs if f"input {s.name}" not in self._bound]
        if missing:
            raise InputError(f"input {missing[0]!r} is not bound", hint="session.bind(...) it before execute()")
        given = [self._bound[f"input {s.name}"] for s in self.inputs]
        inputs = self._check.positional(given)
        for signature, array, buffer in zip(self.inputs, inputs, given, strict=True):
            if array is not buffer:
                raise InputError(f"input {signature.name!r} is not contiguous and cannot be bound in place")
        outputs = [self._output(signature) for signature in self.outputs]
        check_apart(
            {f"input {s.name!r}": array for s, array in zip(self.inputs, inputs, strict=True)},
            {f"output {s.name!r}": array for s, array in zip(self.outputs, outputs, strict=True)},
        )
        return self._program.bound(inputs, outputs)

    def _output(self, signature: Signature) -> Any:
        static = signature.shape is not None and all(dim >= 0 for dim in signature.shape)
        array = self._bound.get(f"output {signature.name}")
        if signature.dtype.startswith("!"):
            if array is not None:
                raise InputError(f"output {signature.name!r} is of type {signature.dtype} and cannot be bound")
            return None
        dtype = dtypes.by_mlir(signature.dtype).np
        if array is None:
            return _fresh(signature, dtype) if static else None
        if array.dtype != dtype:
            raise InputError(f"output {signature.name!r} is bound to dtype {array.dtype}, expected {dtype}")
        if signature.shape is not None and not _matches(array.shape, signature.shape):
            expected = spelled(signature.shape, signature.dims)
            raise InputError(
                f"output {signature.name!r} is bound to shape {spelled(array.shape)}, expected {expected}"
            )
        return array


def _fresh(signature: Signature, dtype: np.dtype) -> np.ndarray:
    shape = signature.shape or ()
    try:
        return np.empty(shape, dtype)
    except MemoryError:
        raise no_room(f"output {signature.name!r}", math.prod(shape) * dtype.itemsize) from None


def _matches(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return len(shape) == len(wanted) and all(w in (-1, dim) for w, dim in zip(wanted, shape, strict=True))


def _writable(value: Any, name: str) -> np.ndarray:
    """An array whose writes land in `value`."""
    if not isinstance(value, np.ndarray) and not hasattr(value, "__dlpack__"):
        raise InputError(f"output {name!r} must be bound to an array, not {type(value).__name__}")
    array = as_array(value, f"output {name!r}")
    if not array.flags.writeable and not isinstance(value, np.ndarray) and hasattr(value, "__array__"):
        array = np.asarray(value)  # DLPack before version 1 could not say that memory may be written
    if not array.flags.writeable:
        raise InputError(f"output {name!r} is bound to memory that cannot be written")
    if not array.flags.c_contiguous:
        raise InputError(f"output {name!r} is not contiguous and cannot be bound in place")
    return array


def _packer(names: tuple[str, ...]) -> Callable[[list[Any]], Any]:
    """How a call returns its outputs."""
    if len(names) == 1:
        return _first
    return _tuple_class(names)._make if names else tuple


def _first(results: list[Any]) -> Any:
    return results[0]


@cache
def _tuple_class(names: tuple[str, ...]) -> Any:
    """A named tuple whose fields are the outputs' names, made identifiers; `_fields` has them in order."""
    fields: list[str] = []
    for n, name in enumerate(names):
        field = re.sub(r"\W", "_", name).lstrip("_") or f"output{n}"
        if field[0].isdigit() or iskeyword(field):
            field = f"output_{field}"
        fields.append(f"{field}_{n}" if field in fields or hasattr(tuple, field) else field)
    made = namedtuple("Outputs", fields)  # type: ignore[misc]

    def reduce(self: tuple[Any, ...]) -> tuple[Any, ...]:
        return _rebuild, (names, tuple(self))

    made.__reduce__ = reduce  # type: ignore[method-assign,assignment]
    return made


def _rebuild(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return _tuple_class(names)._make(values)
