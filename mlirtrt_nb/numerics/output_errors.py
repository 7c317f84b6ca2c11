"""How far a program's outputs are from a reference's: the worst, since no output makes up for another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .alignment import is_float
from .metrics import Errors

__all__ = ["OutputErrors", "compared"]


@dataclass
class OutputErrors:
    """The errors of each output by name, over all samples, and of each measure the worst.

    Measures are over the floating-point outputs: integers, such as indices, that are exact would hide the
    error of the others. Integers count in `max_abs_error`; a program that has nothing else is measured on them.
    `reshaped` are outputs that had another shape than the reference's, which no error is known of.
    """

    floats: dict[str, Errors] = field(default_factory=dict)
    integers: dict[str, Errors] = field(default_factory=dict)
    reshaped: set[str] = field(default_factory=set)

    @property
    def snr_db(self) -> float:
        """The lowest signal to noise of an output, in dB."""
        return min((entry.snr_db for entry in self._measured), default=math.inf)

    @property
    def cosine(self) -> float:
        """The lowest cosine of an output; NaN if one has none."""
        return float(np.min([entry.cosine for entry in self._measured], initial=1.0))

    @property
    def mean_abs_error(self) -> float:
        """The largest mean absolute error of an output."""
        return max((entry.mean_abs_error for entry in self._measured), default=0.0)

    @property
    def max_abs_error(self) -> float:
        """The largest absolute error of all outputs, integers too."""
        every = (*self.floats.values(), *self.integers.values())
        return max((entry.max_abs_error for entry in every), default=0.0)

    @property
    def top1_agreement(self) -> float:
        """The lowest share of agreeing rows of an output; NaN if no output has rows."""
        shares = [entry.top1_agreement for entry in self._measured if entry.rows]
        return min(shares, default=math.nan)

    @property
    def squares(self) -> float:
        """The sum of the squares of all errors of the outputs that are measured."""
        return sum(entry.squares for entry in self._measured)

    def merged(self, other: OutputErrors) -> OutputErrors:
        """The errors of both."""
        return OutputErrors(
            _merged(self.floats, other.floats),
            _merged(self.integers, other.integers),
            self.reshaped | other.reshaped,
        )

    @property
    def _measured(self) -> Iterable[Errors]:
        return (self.floats or self.integers).values()


def _merged(one: Mapping[str, Errors], two: Mapping[str, Errors]) -> dict[str, Errors]:
    return {name: one.get(name, Errors()).merged(two.get(name, Errors())) for name in {**one, **two}}


def compared(reference: Mapping[str, Any], other: Mapping[str, Any]) -> OutputErrors:
    """The errors of the numeric outputs of one run, by name."""
    found = OutputErrors()
    for name, one in reference.items():
        two = other[name]
        if not isinstance(one, np.ndarray) or not isinstance(two, np.ndarray) or one.dtype.kind in "OUS":
            continue
        if one.shape != two.shape:
            found.reshaped.add(name)
            continue
        (found.floats if is_float(one) else found.integers).setdefault(name, Errors()).add(one, two)
    return found
