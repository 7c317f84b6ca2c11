"""One argument of a call on the host: what a caller gave, made into what native code reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..kind_name import kind_name
from .inputs import as_array, refuse_masked, spelled

if TYPE_CHECKING:
    from ..engine.host.types import HostType

__all__ = ["HostArgument"]


class HostArgument:
    """Makes of what a caller gives what native code reads, or says what was expected."""

    def __init__(self, name: str, kind: HostType) -> None:
        self.name = name
        self.kind = kind
        self._dtype = kind.np
        self._limits = _limits(kind.dtype)
        self._is_tensor = kind.kind == "tensor"

    def __call__(self, value: Any) -> Any:
        return self._number(value) if self.kind.is_scalar else self._array(value)

    def _number(self, value: Any) -> Any:
        refuse_masked(value, f"input {self.name!r}")
        found = np.asarray(value)
        if found.shape != ():
            raise InputError(
                f"input {self.name!r} has shape {spelled(found.shape)}, expected a number ({self.kind})"
            )
        if found.dtype == self._dtype:
            return found[()]
        if not isinstance(value, np.generic) and self._holds(found):
            return self._fitting(found)[()]
        raise InputError(f"input {self.name!r} is {_kind_name(value)}, expected {self.kind}")

    def _holds(self, found: np.ndarray) -> bool:
        """Whether the type is of the kind of a Python number, or of a wider kind."""
        if self._limits is not None:
            return found.dtype.kind in "biu" or found.size == 0
        if self._dtype.kind == "V":  # bf16 and its like
            return found.dtype.kind in "biuf"
        return np.can_cast(found.dtype, self._dtype, "same_kind")

    def _fitting(self, found: np.ndarray) -> np.ndarray:
        """Python's numbers in another width, if the type has them."""
        with np.errstate(over="ignore"):
            made = found.astype(self._dtype)
        if self._limits is not None:
            least, most = self._limits
            lost, hint = np.asarray((found < least) | (found > most)), f"{least} to {most}"
        else:
            lost, hint = np.isinf(made) & ~np.isinf(found), None
        if lost.any():
            what = f"is {found}" if found.shape == () else f"has {found[lost][0]}"
            raise InputError(f"input {self.name!r} {what}, which {self.kind.dtype} does not hold", hint=hint)
        return made

    def _array(self, value: Any) -> np.ndarray:
        if self._is_ready(value):
            return value
        if self.kind.kind == "memref" and not isinstance(value, np.ndarray):
            raise InputError(
                f"input {self.name!r} is {_kind_name(value)}; a memref is changed in place",
                hint="give a NumPy array",
            )
        array = as_array(value, f"input {self.name!r}")
        if not hasattr(value, "dtype") and array.dtype != self._dtype and self._holds(array):
            array = self._fitting(array)  # a list of Python's numbers
        if array.dtype != self._dtype:
            raise InputError(
                f"input {self.name!r} has dtype {array.dtype}, expected {self._dtype}",
                hint=f"{self.name}.astype({self._dtype.name!r})" if self.name.isidentifier() else None,
            )
        if not self._fits(array.shape):
            raise InputError(
                f"input {self.name!r} has shape {spelled(array.shape)}, expected {spelled(self.kind.shape)}"
            )
        if self.kind.kind == "memref":
            self._check_writable(array)
            return array
        return array if array.flags.c_contiguous else array.copy(order="C")

    def _is_ready(self, value: Any) -> bool:
        """Whether a value can be handed over as it is: the usual case, told quickly."""
        return (
            self._is_tensor
            and type(value) is np.ndarray
            and value.dtype == self._dtype
            and value.flags.c_contiguous
            and self._fits(value.shape)
        )

    def _fits(self, shape: Sequence[int]) -> bool:
        wanted = self.kind.shape
        if len(shape) != len(wanted):
            return False
        return shape == wanted or all(want in (-1, dim) for want, dim in zip(wanted, shape, strict=True))

    def _check_writable(self, array: np.ndarray) -> None:
        if not array.flags.writeable:
            raise InputError(f"input {self.name!r} cannot be written; a memref is changed in place")
        if not self.kind.strided and not array.flags.c_contiguous:
            raise InputError(
                f"input {self.name!r} is not contiguous; a memref is changed in place",
                hint="declare it as memref<..., strided<[?, ...], offset: ?>>, or give a copy",
            )


def _limits(dtype: str) -> tuple[int, int] | None:
    """The least and the largest integer of an element type; None for a type of other things."""
    match = re.fullmatch(r"(u?)i(\d+)", "i64" if dtype == "index" else dtype)
    if match is None or dtype == "i1":
        return None
    bits = int(match[2])
    return (0, 2**bits - 1) if match[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _kind_name(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None or isinstance(value, np.generic):
        return kind_name(value)
    return f"{'an' if dtype.name.startswith('int') else 'a'} {dtype} array"
