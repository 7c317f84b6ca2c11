"""The values that one op gives, counted sample by sample, beside what f16 can hold."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["F16_LARGEST", "F16_SMALLEST", "F16_SMALLEST_NORMAL", "OpRange"]

F16_LARGEST = 65504.0
F16_SMALLEST_NORMAL = 2.0**-14
F16_SMALLEST = 2.0**-24


@dataclass
class OpRange:
    """The values of one op's first floating-point result, over all samples. `keep` is the pattern that names
    it for `Precision`, `readers` those of the ops that read the result.

    `subnormal` and `vanishing` are shares of the values that are not 0: below f16's smallest normal number,
    and below half its smallest subnormal, which f16 rounds to 0. `dead` lists channels (positions of axis 1)
    that are 0 throughout, of `channels`. `kept` says why fp16 computes the op in fp32 by itself ("" if it does
    not), `read_small` whether an op reads the result in f16 all the same, `proportional` whether scaling what
    comes in scales the result.
    """

    op: str
    source: str
    element: str
    keep: str
    low: float = np.inf
    high: float = -np.inf
    largest: float = 0.0
    count: int = 0
    overflowing: int = 0
    nonzero: int = 0
    small: int = 0
    tiny: int = 0
    not_finite: int = 0
    alive: np.ndarray | None = field(default=None, repr=False)
    readers: tuple[str, ...] = ()
    kept: str = ""
    read_small: bool = True
    proportional: bool = False

    @property
    def subnormal(self) -> float:
        """The share of the values other than 0 that f16 holds with fewer bits."""
        return self.small / self.nonzero if self.nonzero else 0.0

    @property
    def vanishing(self) -> float:
        """The share of the values other than 0 that become 0 in f16."""
        return self.tiny / self.nonzero if self.nonzero else 0.0

    @property
    def channels(self) -> int:
        """How many channels were looked at; 0 where the values have none."""
        return 0 if self.alive is None else int(self.alive.size)

    @property
    def dead(self) -> list[int]:
        """The channels whose values are all 0."""
        return [] if self.alive is None else np.flatnonzero(~self.alive).tolist()

    def add(self, array: np.ndarray, *, channels: bool = True) -> None:
        """Count the values of an array in; its axis 1 is of channels, but for weights."""
        finite = np.isfinite(array)
        self.not_finite += int(array.size - np.count_nonzero(finite))
        magnitude = np.abs(np.where(finite, array, 0))
        self.count += array.size
        if not array.size:
            return
        values = np.where(finite, array, 0)
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        self.largest = max(self.largest, float(magnitude.max()))
        # 65520 and above round to infinity; below it to the largest number.
        self.overflowing += int(np.count_nonzero(magnitude >= F16_LARGEST + 16))
        nonzero = magnitude > 0
        self.nonzero += int(np.count_nonzero(nonzero))
        self.small += int(np.count_nonzero(nonzero & (magnitude < F16_SMALLEST_NORMAL)))
        self.tiny += int(np.count_nonzero(nonzero & (magnitude <= F16_SMALLEST / 2)))
        if channels:
            self._add_channels(nonzero)

    def _add_channels(self, nonzero: np.ndarray) -> None:
        if nonzero.ndim < 3:
            return
        others = tuple(axis for axis in range(nonzero.ndim) if axis != 1)
        alive = np.asarray(nonzero.any(axis=others))
        if self.alive is None:
            self.alive = alive
        elif self.alive.shape == alive.shape:
            self.alive = self.alive | alive
