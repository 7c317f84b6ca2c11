"""A diff in turns: stretches of changes with their context, and what lies between them."""

from __future__ import annotations

from collections.abc import Iterator

from .rows import Row, TextDiff

__all__ = ["stretches"]


def stretches(diff: TextDiff, context: int) -> Iterator[tuple[bool, list[Row]]]:
    """(True, rows of changes with `context` rows around them) and (False, rows to fold), in order.

    Changes whose contexts touch are one stretch.
    """
    near = [False] * len(diff.rows)
    for number, row in enumerate(diff.rows):
        if row.kind != "same":
            start, end = max(0, number - context), min(len(near), number + context + 1)
            near[start:end] = [True] * (end - start)
    current: list[Row] = []
    state: bool | None = None
    for row, visible in zip(diff.rows, near, strict=True):
        if state is not None and visible != state:
            yield state, current
            current = []
        state = visible
        current.append(row)
    if state is not None:
        yield state, current
