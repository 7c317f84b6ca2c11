"""A compiled function: native code of this process, called with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from ...errors import EngineBuildError
from .checks import failure_at
from .lowering import Lowered
from .runtime_ir import GUARD, RAW_OFFSET, offsets_of
from .types import HostType
from .weights import binder

__all__ = ["Kernel"]

_WORD = 8
_PACKED = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


class Kernel:
    """A lowered function, compiled for this processor.

    Args:
        lowered: what `lower` made.
        weights: the table with every name in `lowered.weights`. Arrays are read in place and kept alive.
        name: for messages.

    Raises EngineBuildError if a weight is missing or LLVM refuses the code.
    """

    def __init__(self, lowered: Lowered, weights: Mapping[str, np.ndarray], name: str) -> None:
        self.inputs, self.outputs = lowered.inputs, lowered.outputs
        self.name = name
        self._failures = lowered.failures
        self._engine = _compiled(lowered, name)
        self._kept = [_weight(weights, weight, name) for weight in lowered.weights]
        for number, array in enumerate(self._kept):
            block = (ctypes.c_int64 * (3 + 2 * array.ndim))(*_descriptor(array))
            pointer = ctypes.c_void_p(ctypes.addressof(block))
            _packed(self._engine, f"_mlir_ciface_{binder(number)}")(_table(ctypes.addressof(pointer)))
        self._call = _packed(self._engine, GUARD)
        self._lock = Lock()  # the memory below serves one call at a time
        self._lay_out()

    def _lay_out(self) -> None:
        """Memory for descriptors and numbers, with all that does not change from call to call filled in."""
        at, words = [], 0
        for kind in self.inputs:
            at.append(words)
            words += max(kind.size, 16) // _WORD
        self._block = (ctypes.c_int64 * max(words, 1))()
        base = ctypes.addressof(self._block)
        self._pointers = (ctypes.c_void_p * max(len(at), 1))(*(base + _WORD * word for word in at))
        offsets, size = offsets_of(self.outputs)
        self._results = (ctypes.c_int64 * max(-(-size // _WORD), 1))()
        self._owned = (ctypes.c_int8 * max(len(self.outputs), 1))()
        results, owned = (
            ctypes.c_void_p(ctypes.addressof(self._results)),
            ctypes.c_void_p(ctypes.addressof(self._owned)),
        )
        first = ctypes.addressof(self._pointers)
        entries = [results.value, owned.value]
        # An array is handed over by the address of its descriptor's address, a number by its own address.
        entries += [
            base + _WORD * word if kind.is_scalar else first + _WORD * n
            for n, (kind, word) in enumerate(zip(self.inputs, at, strict=True))
        ]
        self._entries = (ctypes.c_void_p * len(entries))(*entries)
        self._way_in = ctypes.c_void_p(ctypes.addressof(self._entries))
        self._code = ctypes.c_int32(0)
        self._packed = (ctypes.c_void_p * 2)(ctypes.addressof(self._way_in), ctypes.addressof(self._code))
        self._fillers = [_filler(kind, self._block, word) for kind, word in zip(self.inputs, at, strict=True)]
        self._readers = [
            _reader(kind, ctypes.addressof(self._results) + offset)
            for kind, offset in zip(self.outputs, offsets, strict=True)
        ]

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Run on arrays (of the inputs' dtypes and shapes, unchecked) and numbers; the results, in order.

        A result of rank 0 or more is a new array, a scalar a NumPy scalar. Raises InputError for a check that
        does not hold: an access out of bounds, shapes that disagree, a division by zero, an assertion.
        """
        with self._lock:
            for fill, value in zip(self._fillers, arrays, strict=True):
                fill(value)
            self._call(self._packed)
            code = self._code.value
            if code == 0:
                return [read(owned) for read, owned in zip(self._readers, self._owned, strict=False)]
        raise failure_at(code, self._failures).error(self.name)


def _compiled(lowered: Lowered, name: str) -> Any:
    from torch_mlir import ir
    from torch_mlir.execution_engine import ExecutionEngine

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(lowered.bytecode)
        try:
            return ExecutionEngine(module, opt_level=2, enable_object_dump=False)
        except RuntimeError as error:
            raise EngineBuildError(f"LLVM cannot compile it: {error}", where=f"@{name}") from error


def _packed(engine: Any, name: str) -> Callable[[Any], None]:
    address = engine.raw_lookup(name)
    if not address:
        raise EngineBuildError(f"the compiled code has no {name}")
    return _PACKED(address)


def _table(*addresses: int) -> Any:
    return (ctypes.c_void_p * len(addresses))(*addresses)


def _weight(weights: Mapping[str, np.ndarray], weight: str, name: str) -> np.ndarray:
    if weight not in weights:
        raise EngineBuildError(f"weight {weight!r} is not in the table", where=f"@{name}")
    array = weights[weight]
    return array if array.flags.c_contiguous else array.copy(order="C")


def _descriptor(array: np.ndarray) -> list[int]:
    """A memref descriptor: address twice, offset, sizes, strides in elements."""
    address = array.__array_interface__["data"][0]
    size = array.itemsize
    return [address, address, 0, *array.shape, *(stride // size for stride in array.strides)]


def _filler(kind: HostType, block: Any, word: int) -> Callable[[Any], None]:
    """How to put a value of an input where native code reads it."""
    if kind.is_scalar:
        view = np.frombuffer(block, np.uint8)[_WORD * word :][: kind.np.itemsize].view(kind.np)

        def fill_number(value: Any) -> None:
            view[0] = value

        return fill_number
    if not kind.strided and all(dim >= 0 for dim in kind.shape):
        example = np.empty(kind.shape, kind.np)
        block[word : word + 3 + 2 * example.ndim] = _descriptor(example)

        def fill_address(array: np.ndarray) -> None:
            block[word] = block[word + 1] = array.__array_interface__["data"][0]

        return fill_address
    end = word + 3 + 2 * len(kind.shape)

    def fill(array: np.ndarray) -> None:
        block[word:end] = _descriptor(array)

    return fill


def _reader(kind: HostType, address: int) -> Callable[[int], Any]:
    """How to read a result from its place; it is told whether the memory is the caller's now."""
    dtype = kind.np
    if kind.is_scalar:
        view = np.frombuffer(memoryview((ctypes.c_char * kind.size).from_address(address)), dtype)
        return lambda owned: view[0]
    words = (ctypes.c_int64 * (3 + 2 * len(kind.shape))).from_address(address)
    # NumPy's interface knows only NumPy's own types: the others are read as plain bytes.
    known = dtype.str if dtype.kind in "biufc" else f"|u{dtype.itemsize}"

    def read(owned: int) -> np.ndarray:
        block, aligned, offset, *dims = words
        start = aligned + offset * dtype.itemsize
        array = np.asarray(_Memory(start, dims, known, dtype.itemsize, block if owned else 0))
        if known != dtype.str:
            array = array.view(dtype)
        return array if owned else array.copy()

    return read


class _Memory:
    """Memory that native code allocated, as NumPy reads it; freed with the last array on it."""

    __slots__ = ("__array_interface__", "_block")

    def __init__(self, address: int, dims: Sequence[int], typestr: str, itemsize: int, block: int) -> None:
        rank = len(dims) // 2
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "typestr": typestr,
            "shape": tuple(dims[:rank]),
            "strides": tuple(stride * itemsize for stride in dims[rank:]),
        }
        self._block = block

    def __del__(self) -> None:
        if self._block:
            _free(ctypes.c_void_p.from_address(self._block - RAW_OFFSET).value)
