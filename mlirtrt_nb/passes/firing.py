"""Which rewrite fired where: passes report each op that they replace, the run collects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["Firing", "recorded", "report", "report_as"]

# No more than this many are kept of one pass.
_LONGEST = 20_000


@dataclass(frozen=True)
class Firing:
    """A rule replaced an op. `rule` is "" where the pass has only one; `op` is the op's name as it is shown;
    `sources` are the names of the source nodes, or the lines, that it came from."""

    rule: str
    op: str
    sources: tuple[str, ...]


_LOG: ContextVar[list[Firing] | None] = ContextVar("firings", default=None)


def report(operation: ir.Operation, rule: str = "") -> None:
    """Note that `operation`, which is still there, is being replaced. Nothing happens outside a run."""
    report_as(operation.name, operation.location, rule)


def report_as(op: str, location: ir.Location, rule: str = "") -> None:
    """As `report`, of an op that is known by its name and location alone."""
    log = _LOG.get()
    if log is None or len(log) >= _LONGEST:
        return
    from ..ir.context import shown_name
    from ..ir.locations import sources_of

    log.append(Firing(rule, shown_name(op), sources_of(location)))


@contextmanager
def recorded() -> Iterator[list[Firing]]:
    """Collect what is reported inside."""
    log: list[Firing] = []
    token = _LOG.set(log)
    try:
        yield log
    finally:
        _LOG.reset(token)
