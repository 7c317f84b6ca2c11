"""`Weights`: the arrays of a program by name, a dict that is never shown with the values in it."""

from __future__ import annotations

import numpy as np

from .shown import Shown

__all__ = ["Weights"]


class Weights(dict[str, np.ndarray], Shown):
    """Name -> array. It is shown by names, shapes, dtypes and sizes, of the first 20 arrays at most."""

    def __repr__(self) -> str:
        from .display.weights import weights_text

        return f"<Weights: {weights_text(self)}>"

    def __str__(self) -> str:
        from .display.weights import weights_table_text

        return weights_table_text(self)

    def _repr_html_(self) -> str:
        from .display.weights import weights_html

        return weights_html(self)
