"""Latency of several plans under the same conditions: measured in turns, one at a time, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import MlirTrtError
from ..plan import Plan
from ..reports.latency import LatencyReport, benchmark

__all__ = ["ROUNDS", "differing_conditions", "measure"]

ROUNDS = 3  # turns that each plan gets, so that a drift of the machine's speed meets all alike

# What names a report rather than its conditions.
_NAMES = frozenset({"session", "inputs", "duration_ms", "iterations"})


def measure(
    plans: Mapping[str, Plan],
    inputs: Mapping[str, np.ndarray],
    duration_ms: float,
    device: str,
    step: Callable[[str, int, int], None],
) -> tuple[dict[str, LatencyReport], dict[str, str]]:
    """A report per plan, and for plans that cannot run why not.

    Args:
        duration_ms: of measuring, per plan, over all its turns.
        device: as for `Plan.session`.
        step: called before each turn.
    """
    sessions: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for name, plan in plans.items():
        try:
            sessions[name] = plan.session(device)
        except MlirTrtError as error:
            failed[name] = error.what
    turns: dict[str, list[LatencyReport]] = {name: [] for name in sessions}
    for number in range(ROUNDS):
        names = (
            list(sessions)[number % len(sessions) :] + list(sessions)[: number % len(sessions)]
            if sessions
            else []
        )
        for position, name in enumerate(names):
            if name in failed:
                continue
            step(name, number * len(names) + position, ROUNDS * len(names))
            try:
                turns[name].append(_turn(sessions[name], inputs, duration_ms))
            except MlirTrtError as error:
                failed[name] = error.what
    for session in sessions.values():
        session.close()
    return {
        name: _joined(reports, duration_ms) for name, reports in turns.items() if reports and name not in failed
    }, failed


def _turn(session: Any, inputs: Mapping[str, np.ndarray], duration_ms: float) -> LatencyReport:
    share = duration_ms / ROUNDS
    return benchmark(session, inputs, warmup_ms=min(100.0, share / 2), duration_ms=share, iterations=3)


def _joined(reports: list[LatencyReport], duration_ms: float) -> LatencyReport:
    """The queries of all turns as one report."""
    names = reports[0].samples
    samples = {name: np.concatenate([report.samples[name] for report in reports]) for name in names}
    conditions = {**reports[0].conditions, "duration_ms": duration_ms, "turns": len(reports)}
    return LatencyReport(samples, sum(report.walltime for report in reports), conditions)


def differing_conditions(reports: Mapping[str, LatencyReport]) -> list[str]:
    """The conditions in which the reports do not agree."""
    listed = list(reports.values())
    names = {name for report in listed for name in report.conditions} - _NAMES
    return sorted(name for name in names if len({str(r.conditions.get(name)) for r in listed}) > 1)
