"""Making figures without pyplot, so that nothing is drawn twice and no global state is left."""

from __future__ import annotations

from typing import Any

from ..errors import MissingDependencyError

__all__ = ["new_figure"]


def new_figure(size: tuple[float, float]) -> Any:
    """An empty matplotlib Figure of `size` inches. Raises MissingDependencyError without matplotlib."""
    try:
        from .shown_figure import ShownFigure
    except ImportError as error:
        raise MissingDependencyError(
            "plots need matplotlib", hint="pip install 'mlirtrt_nb[notebook]'"
        ) from error
    return ShownFigure(figsize=size, layout="constrained")
