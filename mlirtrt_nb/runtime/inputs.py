"""Checks what a caller hands to a Session against what the Plan was compiled for.

An array that fits is recognised in well under a microsecond; everything else takes the slow way, which either
makes an array of it without a copy or says what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..errors import InputError
from ..ir import dtypes
from ..kind_name import kind_name
from .device_array import device_array
from .schedule import Range, Signature

__all__ = ["InputChecker", "as_array", "counted_inputs", "numpy_dtype", "refuse_masked", "spelled"]


_ndarray = np.ndarray


class InputChecker:
    """Turns the arguments of a call into arrays in the order of the inputs."""

    def __init__(self, inputs: Sequence[Signature], device: str) -> None:
        self._inputs = tuple(inputs)
        self._device = device
        self._names = tuple(signature.name for signature in inputs)
        self._checks = tuple(_Check(signature, device) for signature in inputs)
        self._varying = any(check.shape is None for check in self._checks)
        self._seen: tuple[tuple[int, ...], ...] = ()

    def positional(self, values: Sequence[Any]) -> list[Any]:
        """Check one value per input, in order."""
        if len(values) != len(self._checks):
            raise InputError(f"expected {counted_inputs(self._checks)}, got {len(values)}", hint=self._hint())
        arrays = [check(value) for check, value in zip(self._checks, values)]  # noqa: B905 - checked above
        if self._varying:
            shapes = tuple([getattr(array, "shape", ()) for array in arrays])
            if shapes != self._seen:
                self._check_shapes(shapes)
                self._seen = shapes
        return arrays

    def named(self, values: Mapping[str, Any]) -> list[Any]:
        """Check values by name."""
        self.check_names(values)
        return self.positional([values[name] for name in self._names])

    def given(self, values: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        """Check values by name or in order; an array alone is the only input."""
        if isinstance(values, Mapping):
            return self.named(values)
        if isinstance(values, Sequence) and not isinstance(values, str | bytes):
            return self.positional(values)
        if isinstance(values, np.ndarray) or hasattr(values, "__dlpack__"):
            return self.positional([values])
        raise InputError(f"inputs are arrays by name or in order, not {kind_name(values)}", hint=self._hint())

    def check_names(self, values: Mapping[str, Any]) -> None:
        """Check that there is a value for each input, and no other. Raises InputError."""
        if not isinstance(values, Mapping):
            raise InputError(
                f"inputs are a mapping from name to array, not {kind_name(values)}", hint=self._hint()
            )
        for name in values:
            if name not in self._names:
                close = get_close_matches(str(name), self._names, 1)
                meant = f"did you mean {close[0]!r}? " if close else ""
                raise InputError(f"there is no input {name!r}", hint=meant + self._hint())
        missing = [name for name in self._names if name not in values]
        if missing:
            raise InputError(f"missing input {', '.join(map(repr, missing))}", hint=self._hint())

    def mixed(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Check a call's arguments: first some by position, then the others by name."""
        if len(args) > len(self._names):
            raise InputError(f"expected {counted_inputs(self._names)}, got {len(args)}", hint=self._hint())
        given = dict(zip(self._names, args, strict=False))
        twice = [name for name in kwargs if name in given]
        if twice:
            raise InputError(f"input {twice[0]!r} is given twice, by position and by name")
        return self.named({**given, **kwargs})

    def _hint(self) -> str:
        return "inputs: " + ", ".join(f"{s.name}: {spelled(s.shape, s.dims)}x{s.dtype}" for s in self._inputs)

    def _check_shapes(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Dimensions of one name must agree, and one profile must hold all shapes."""
        sizes: dict[str, tuple[int, str]] = {}
        for signature, shape in zip(self._inputs, shapes, strict=True):
            for axis, name in signature.dims.items():
                size, other = sizes.setdefault(name, (shape[axis], signature.name))
                if size != shape[axis]:
                    raise InputError(
                        f"dimension {name!r} is {size} in input {other!r} "
                        f"but {shape[axis]} in {signature.name!r}"
                    )
        profiles = max((len(signature.ranges) for signature in self._inputs), default=0)
        problems = [self._misfit(n, shapes) for n in range(profiles)]
        if problems and all(problems):
            first = problems[0]
            others = "the other profile does not fit" if profiles == 2 else "none of the other profiles fits"
            more = f" (and {others})" if profiles > 1 else ""
            raise InputError(f"{first}{more}", hint="compile with shapes= (--shape) that cover it")

    def _misfit(self, profile: int, shapes: Sequence[tuple[int, ...]]) -> str | None:
        for signature, shape in zip(self._inputs, shapes, strict=True):
            if profile < len(signature.ranges) and not signature.dtype.startswith("!"):
                problem = _outside(signature.ranges[profile], shape)
                if problem:
                    return f"input {signature.name!r} has shape {spelled(shape)}: {problem}"
        return None


def _outside(sides: Range, shape: Sequence[int]) -> str | None:
    low, _, high = sides
    for axis, (least, dim, most) in enumerate(zip(low, shape, high, strict=True)):
        if not least <= dim <= most:
            span = str(least) if least == most else f"{least} to {most}"
            return f"axis {axis} is {dim}, the Plan was compiled for {span}"
    return None


class _Check:
    """Checks one input. `shape` is None if it varies."""

    __slots__ = ("_device", "_signature", "dtype", "shape")

    def __init__(self, signature: Signature, device: str) -> None:
        self._signature = signature
        self._device = device
        static = signature.shape is not None and all(dim >= 0 for dim in signature.shape)
        self.shape = signature.shape if static else None
        self.dtype = numpy_dtype(signature.dtype)

    def __call__(self, value: Any) -> Any:
        if (
            type(value) is _ndarray
            and (value.dtype is self.dtype or value.dtype == self.dtype)
            and (value.shape == self.shape or (self.shape is None and self._fits(value.shape)))
            and value.flags.c_contiguous
        ):
            return value
        return self._slow(value)

    def _fits(self, shape: tuple[int, ...]) -> bool:
        wanted = self._signature.shape
        if wanted is None:
            return True
        return len(shape) == len(wanted) and all(
            want in (-1, dim) for want, dim in zip(wanted, shape, strict=True)
        )

    def _slow(self, value: Any) -> Any:
        signature = self._signature
        if self._device == "cuda" and self.dtype is not None:
            found = device_array(value, f"input {signature.name!r}")
            if found is not None:
                self._check_fit(found.dtype, found.shape)
                return found
        if self.dtype is None:  # a sequence, an optional or a map: its engine checks it
            return value
        array = as_array(value, f"input {signature.name!r}")
        if array is not value and not hasattr(value, "dtype"):
            self._check_plain(array, value)
        self._check_fit(array.dtype, array.shape)
        if array.dtype.kind in "US":
            array = array.astype(object)
        # Not ascontiguousarray, which turns rank 0 into rank 1.
        return array if array.flags.c_contiguous else array.copy(order="C")

    def _check_plain(self, array: np.ndarray, value: Any) -> None:
        """Raise InputError for a Python object that made an array of another dtype: it has no `astype`."""
        name, wanted = self._signature.name, self.dtype
        if wanted is None or wanted.kind == "O" or array.dtype == wanted:
            return
        if array.dtype.kind not in "biufc":
            raise InputError(
                f"input {name!r} is {kind_name(value)}, expected an array of {wanted}",
                hint="run({...}) takes inputs by name" if isinstance(value, Mapping) else None,
            )
        raise InputError(
            f"input {name!r} is {kind_name(value)} that makes an array of {array.dtype}, expected {wanted}",
            hint=f"np.asarray({name if name.isidentifier() else '...'}, {wanted.name!r})",
        )

    def _check_fit(self, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        signature, wanted = self._signature, self.dtype
        if wanted is not None and dtype != wanted and not (wanted.kind == "O" and dtype.kind in "OUS"):
            raise InputError(
                f"input {signature.name!r} has dtype {dtype}, expected {wanted}",
                hint=f"{signature.name}.astype({wanted.name!r})" if signature.name.isidentifier() else None,
            )
        if not self._fits(shape):
            raise InputError(
                f"input {signature.name!r} has shape {spelled(shape)}, "
                f"expected {spelled(signature.shape, signature.dims)}"
            )


def numpy_dtype(spelling: str) -> np.dtype | None:
    """The dtype of an input or output's arrays by its MLIR spelling; None for a sequence, optional or map."""
    if spelling == "!onnx.string":
        return np.dtype(object)
    return None if spelling.startswith("!") else dtypes.by_mlir(spelling).np


def as_array(value: Any, what: str) -> np.ndarray:
    """An array on the memory of `value` where it has some: NumPy, DLPack, anything that NumPy takes.

    Raises InputError if it lies on a GPU or cannot be an array.
    """
    refuse_masked(value, what)
    if isinstance(value, np.ndarray):
        return np.asarray(value) if isinstance(value, np.ma.MaskedArray) else value
    try:
        return _from_memory(value, what)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # whatever the object's own protocol methods raise
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"{what} cannot be read as an array: {reason}") from error


def refuse_masked(value: Any, what: str) -> None:
    """Raise InputError for a masked array that hides something, also as an item of a list."""
    if isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, list | tuple | np.ma.MaskedArray):
                refuse_masked(item, what)
    elif np.ma.is_masked(value):
        raise InputError(f"{what} is a masked array, whose mask would be lost", hint="fill it: x.filled(0)")


def _from_memory(value: Any, what: str) -> np.ndarray:
    if hasattr(value, "__dlpack_device__"):
        kind, number = value.__dlpack_device__()
        if int(kind) not in (1, 3):  # kDLCPU, kDLCUDAHost
            raise InputError(
                f"{what} is on device {number}, the session reads host memory", hint="copy it to the CPU"
            )
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError, AttributeError):
            return np.asarray(value)  # element types that DLPack or NumPy's reader lacks
    return np.asarray(value)


def spelled(shape: Sequence[int] | None, dims: Mapping[int, str] | None = None) -> str:
    """ "1x?x4"; a varying dimension by its name where it has one; "scalar" for rank 0."""
    if shape is None:
        return "any shape"
    names = dims or {}
    return "x".join(names.get(n, "?") if dim < 0 else str(dim) for n, dim in enumerate(shape)) or "scalar"


def counted_inputs(expected: Sequence[Any]) -> str:
    """ "1 input", "2 inputs"."""
    return "1 input" if len(expected) == 1 else f"{len(expected)} inputs"
