"""A figure that a notebook shows as an image."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

__all__ = ["ShownFigure"]


class ShownFigure(Figure):
    """A figure that knows how to show itself: matplotlib's own waits for pyplot or `%matplotlib inline`."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
