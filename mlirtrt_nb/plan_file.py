"""Plans to and from files."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import container
from .engine.codec import engine_from_json, engine_to_json
from .errors import PlanFileError
from .files import reason
from .runtime.schedule import Schedule

if TYPE_CHECKING:
    from .plan import Plan

__all__ = ["load", "save"]


def save(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write `plan` to one file; see `Plan.save`."""
    sections: dict[str, Any] = {"ir": plan.bytecode}
    described = []
    for number, engine in enumerate(plan.engine_values):
        sections[f"engine{number}"] = engine.blob
        described.append(engine_to_json(engine))
    meta = {
        "name": plan.name,
        "metadata": plan.metadata,
        "schedules": [schedule.to_json() for schedule in plan.schedules.values()],
        "engines": described,
        "fallbacks": [asdict(row) for row in plan.fallback_rows],
    }
    container.write(path, container.PLAN, meta, sections, plan.weights)


def load(path: str | os.PathLike[str], *, verify: bool = True) -> Plan:
    """Open a file; see `Plan.load`."""
    from .plan import Fallback, Plan

    opened = container.read(path, container.PLAN, verify=verify)
    meta = opened.meta
    try:
        schedules = [Schedule.from_json(entry) for entry in meta["schedules"]]
        engines = [
            engine_from_json(entry, opened.sections[f"engine{number}"])
            for number, entry in enumerate(meta["engines"])
        ]
        return Plan._restored(
            opened.sections["ir"],
            {schedule.device: schedule for schedule in schedules},
            engines,
            opened.arrays,
            [Fallback(**row) for row in meta["fallbacks"]],
            meta["metadata"],
            str(meta["name"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        # Its checksums hold, so whoever wrote it wrote something else.
        raise PlanFileError(
            f"{Path(path)} is not laid out as this version writes Plans: {reason(error)}",
            hint="compile again with this version and save",
        ) from error
