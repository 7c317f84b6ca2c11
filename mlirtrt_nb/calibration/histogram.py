"""Histograms of magnitudes that grow with the data, so that one pass over it is enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

__all__ = ["BINS", "Histogram"]

BINS = 2048
_CHUNK = 1 << 15  # elements that are binned at a time: what a core holds close


@dataclass
class Histogram:
    """How often magnitudes occur: `counts[k]` of them lie in [k, k + 1) * `width`; `amax` is the largest.

    Where a batch goes beyond the last bin, bins are joined in pairs until it fits. `zeros` are left out.
    Without `counted`, only the largest magnitude is kept.
    """

    counts: np.ndarray = field(default_factory=lambda: np.zeros(BINS, np.int64))
    width: float = 0.0
    amax: float = 0.0
    zeros: int = 0
    counted: bool = True

    @property
    def edges(self) -> np.ndarray:
        """The upper end of each bin."""
        return np.arange(1, BINS + 1) * self.width

    def add(self, array: np.ndarray) -> None:
        """Count the values of a batch, all of them finite."""
        flat = array.reshape(-1)
        top = float(max(flat.max(), -flat.min())) if flat.size else 0.0
        if not math.isfinite(top):
            raise ValueError("NaN or infinity cannot be counted")
        self.amax = max(self.amax, top)
        if not self.counted:
            return
        if top == 0.0:
            self.zeros += flat.size
            return
        self._make_room(top)
        inverse = 1.0 / self.width
        # Of denormal numbers even this is beyond float32, in which all else is faster.
        kind = np.float32 if inverse < float(np.finfo(np.float32).max) else np.float64
        for start in range(0, flat.size, _CHUNK):
            part = np.abs(flat[start : start + _CHUNK], dtype=kind)
            zeros = int(np.count_nonzero(part == 0))
            part *= kind(inverse)
            found = np.bincount(part.astype(np.intp), minlength=BINS)  # the type that it counts in
            self.counts += found[:BINS]
            self.counts[-1] += int(found[BINS:].sum())  # what rounding put beyond the end
            self.counts[0] -= zeros
            self.zeros += zeros

    def _make_room(self, top: float) -> None:
        if self.width == 0.0:
            self.width = top / BINS
        while top > self.width * BINS:
            joined = self.counts[0::2] + self.counts[1::2]
            self.counts = np.concatenate([joined, np.zeros(BINS // 2, np.int64)])
            self.width *= 2.0
