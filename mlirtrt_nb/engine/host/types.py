"""The types that cross the border between Python and native code, and how they lie in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import EngineBuildError
from ...ir import dtypes

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["HostType", "host_type"]

_SHAPED = re.compile(r"(tensor|memref)<((?:(?:\?|\d+)x)*)([\w]+|complex<\w+>)(?:,\s*(.*))?>")
_TORCH_TENSOR = re.compile(r"!torch\.vtensor<\[([\d,?]*)\],([\w<>]+)>")
_TORCH_SCALARS = {"!torch.int": "i64", "!torch.float": "f64", "!torch.bool": "i1"}
_TAKES = "a function that runs on the host takes and gives ranked tensors, memrefs and numbers"


@dataclass(frozen=True)
class HostType:
    """One argument or result. `kind` is "tensor", "memref" or "scalar"; a varying dimension is -1; `dtype` is
    the MLIR spelling ("ui8", "bf16", "index"); `strided` says that a memref takes arrays with any strides."""

    kind: str
    shape: tuple[int, ...]
    dtype: str
    strided: bool = False

    @property
    def np(self) -> np.dtype:
        """The NumPy dtype of the elements."""
        return dtypes.by_mlir(self.dtype).np

    @property
    def is_scalar(self) -> bool:
        """Whether it is a number and no array."""
        return self.kind == "scalar"

    @property
    def size(self) -> int:
        """Bytes of the value as native code reads it: of a descriptor, or of the number itself."""
        return self.np.itemsize if self.is_scalar else 8 * (3 + 2 * len(self.shape))

    @property
    def alignment(self) -> int:
        """Bytes that the address of the value must be a multiple of."""
        return self.np.alignment if self.is_scalar else 8

    def __str__(self) -> str:
        if self.is_scalar:
            return self.dtype
        dims = "".join(f"{'?' if dim < 0 else dim}x" for dim in self.shape)
        return f"{self.kind}<{dims}{self.dtype}{', strided' if self.strided else ''}>"

    @staticmethod
    def parse(text: str) -> HostType:
        """The type that `str` wrote, or that MLIR writes. Raises EngineBuildError for one that cannot cross."""
        match = _SHAPED.fullmatch(text)
        if match:
            kind, dims, dtype, layout = match.groups()
            made = HostType(kind, _dims(dims.split("x")[:-1]), dtype, _strided(kind, layout, text))
        elif (torch := _TORCH_TENSOR.fullmatch(text)) is not None:
            made = HostType("tensor", _dims(torch[1].split(",") if torch[1] else []), _signless(torch[2]))
        else:
            made = HostType("scalar", (), _TORCH_SCALARS.get(text, text))
        try:
            made.np  # noqa: B018 - whether there is one
        except KeyError:
            raise EngineBuildError(f"{text} cannot be handed over to NumPy", hint=_TAKES) from None
        return made


def host_type(kind: ir.Type) -> HostType:
    """The HostType of an MLIR type. Raises EngineBuildError for one that cannot cross."""
    return HostType.parse(str(kind))


def _dims(texts: list[str]) -> tuple[int, ...]:
    return tuple(-1 if text == "?" else int(text) for text in texts)


def _strided(kind: str, layout: str | None, text: str) -> bool:
    """Whether a memref's layout takes any strides; one that asks for certain ones is refused."""
    if layout is None or layout == "strided" or kind == "tensor":
        return layout == "strided"
    if re.fullmatch(r"strided<\[[?, ]*\], offset: \?>", layout):
        return True
    raise EngineBuildError(
        f"{text} has a layout that arrays are not given in",
        hint="leave the layout out, or write strided<[?, ...], offset: ?>",
    )


def _signless(torch: str) -> str:
    """MLIR's spelling of a torch element type: `si64` is `i64`."""
    return torch.removeprefix("s") if torch.startswith("si") else torch
