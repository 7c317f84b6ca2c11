"""How far arrays are from reference arrays: sums that are filled array by array, and the measures of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError

if TYPE_CHECKING:
    from .output_errors import OutputErrors

__all__ = ["METRICS", "Errors", "Metric", "metric"]


@dataclass
class Errors:
    """Sums over pairs of arrays, from which every measure comes. All measures are over all elements added.

    Where the reference is finite and the other value is not, the error is infinite; where both are the same
    infinity or both NaN, there is none.
    """

    count: int = 0
    rows: int = 0
    agreeing: int = 0
    differing: int = 0  # elements that are not the same
    broken: int = 0  # elements that are not finite where the reference's are
    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    reference_squares: float = 0.0
    other_squares: float = 0.0
    products: float = 0.0

    def add(self, reference: np.ndarray, other: np.ndarray) -> None:
        """Add a pair of equal shape and numeric type. A row, for `top1_agreement`, is the last axis."""
        if not reference.size:
            return
        one, two = reference.astype(np.float64), other.astype(np.float64)
        self._add_rows(one, two)
        both = np.isfinite(one) & np.isfinite(two)
        self.broken += int(np.count_nonzero(np.isfinite(one) & ~np.isfinite(two)))
        self.count += one.size
        self.differing += int(np.count_nonzero((one != two) & ~(np.isnan(one) & np.isnan(two))))
        one, two = np.where(both, one, 0.0).reshape(-1), np.where(both, two, 0.0).reshape(-1)
        error = np.abs(one - two)
        self.largest = max(self.largest, float(error.max()))
        self.total += float(error.sum())
        self.squares += float(error @ error)
        self.reference_squares += float(one @ one)
        self.other_squares += float(two @ two)
        self.products += float(one @ two)

    def _add_rows(self, one: np.ndarray, two: np.ndarray) -> None:
        # Classifiers often end in [n, classes, 1, 1]: axes of length 1 at the end do not make a row.
        while one.ndim > 2 and one.shape[-1] == 1:
            one, two = one[..., 0], two[..., 0]
        if one.ndim == 0 or one.shape[-1] < 2:
            return
        same = one.argmax(axis=-1) == two.argmax(axis=-1)
        self.rows += int(np.size(same))
        self.agreeing += int(np.count_nonzero(same))

    @property
    def max_abs_error(self) -> float:
        """The largest absolute error."""
        return math.inf if self.broken else self.largest

    @property
    def mean_abs_error(self) -> float:
        """The mean absolute error."""
        return math.inf if self.broken else self.total / max(self.count, 1)

    @property
    def snr_db(self) -> float:
        """Signal to noise in dB: 20 is an error of a tenth of the signal's size; infinite without error."""
        if self.broken:
            return -math.inf
        if self.squares == 0:
            return math.inf
        return 10 * math.log10(self.reference_squares / self.squares) if self.reference_squares else -math.inf

    @property
    def cosine(self) -> float:
        """The cosine of the angle between the two as vectors; 1 is the same direction. NaN if one is 0."""
        sizes = math.sqrt(self.reference_squares) * math.sqrt(self.other_squares)
        if self.squares == 0 and not self.broken:
            return 1.0
        return self.products / sizes if sizes and not self.broken else math.nan

    @property
    def top1_agreement(self) -> float:
        """The share of rows whose largest element is at the same place; NaN if there are no rows."""
        return self.agreeing / self.rows if self.rows else math.nan

    def merged(self, other: Errors) -> Errors:
        """The sums of both."""
        made = Errors(**{name: getattr(self, name) + getattr(other, name) for name in vars(self)})
        made.largest = max(self.largest, other.largest)
        return made


@dataclass(frozen=True)
class Metric:
    """A measure by which results are accepted; `higher_is_better` gives the side of the threshold."""

    name: str
    higher_is_better: bool
    default: float

    def value(self, errors: Errors | OutputErrors) -> float:
        """The measure; the worst value there is where it is NaN."""
        found = float(getattr(errors, self.name))
        return found if not math.isnan(found) else (-math.inf if self.higher_is_better else math.inf)

    def accepts(self, value: float, threshold: float) -> bool:
        """Whether a value is on the good side of the threshold, or on it."""
        return value >= threshold if self.higher_is_better else value <= threshold


METRICS = {
    entry.name: entry
    for entry in (
        Metric("snr_db", True, 30.0),
        Metric("cosine", True, 0.999),
        Metric("top1_agreement", True, 0.99),
        Metric("max_abs_error", False, 1e-2),
        Metric("mean_abs_error", False, 1e-3),
    )
}


def metric(name: str | Metric) -> Metric:
    """A metric by name. Raises OptionError that lists them."""
    if isinstance(name, Metric):
        return name
    if name not in METRICS:
        raise OptionError(f"there is no metric {name!r}", hint=f"metrics: {', '.join(METRICS)}")
    return METRICS[name]
