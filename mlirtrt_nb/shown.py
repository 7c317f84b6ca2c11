"""`Shown`: what an object has in common that a notebook shows as HTML and a terminal as text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["Shown"]


class Shown(ABC):
    """An object that shows itself: a class says its text, as `__str__`, and its HTML."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        # IPython takes a class's own `__repr__`, or a printer of `str` and `dict`, before an inherited method.
        cls._repr_pretty_ = Shown._repr_pretty_  # type: ignore[method-assign]

    @abstractmethod
    def _repr_html_(self) -> str:
        """The object as static HTML."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
