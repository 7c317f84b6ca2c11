"""Weights that cannot be written to while a pass of the user's own runs.

Their arrays are shared: with the program that the run started from, and with its snapshots. A change in place
would show in those, or, in the worker process, be seen by nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["held"]


@contextmanager
def held(weights: dict[str, np.ndarray]) -> Iterator[None]:
    """Read-only views in the place of the arrays that could be written to; those that are left at the end are
    put back, so that an array that nobody replaced is the same object as before."""
    lent: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for name, array in weights.items():
        if isinstance(array, np.ndarray) and array.flags.writeable:
            view = array.view()
            view.flags.writeable = False
            weights[name] = view
            lent[id(view)] = view, array
    try:
        yield
    finally:
        for name, array in weights.items():
            if id(array) in lent:
                weights[name] = lent[id(array)][1]
