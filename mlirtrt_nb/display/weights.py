"""What is shown of weights: how many bytes, and names, shapes, dtypes and sizes of the first arrays."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from .card import Card, Section, Table
from .html import card_html
from .text import card_text
from .units import byte_size, plural

if TYPE_CHECKING:
    import numpy as np

__all__ = ["weights_html", "weights_table_text", "weights_text"]

_MOST = 20  # arrays that are listed


def weights_text(weights: Mapping[str, np.ndarray]) -> str:
    """How many bytes in how many arrays."""
    size = sum(array.nbytes for array in weights.values())
    return f"{byte_size(size)} in {plural(len(weights), 'array')}" if weights else "none"


def _card(weights: Mapping[str, np.ndarray]) -> Card:
    rows = tuple(_row(name, array) for name, array in islice(weights.items(), _MOST))
    table = Table(
        ("name", "shape", "dtype", "size"), rows, (False, False, False, True), more=len(weights) - len(rows)
    )
    return Card("Weights", weights_text(weights), sections=(Section("Arrays", table),) if rows else ())


def _row(name: str, array: np.ndarray) -> tuple[str, ...]:
    return name, "x".join(map(str, array.shape)) or "scalar", str(array.dtype), byte_size(array.nbytes)


def weights_html(weights: Mapping[str, np.ndarray]) -> str:
    """The arrays as a static HTML table."""
    return card_html(_card(weights))


def weights_table_text(weights: Mapping[str, np.ndarray]) -> str:
    """The arrays as a table of text."""
    return card_text(_card(weights), limit=_MOST)
