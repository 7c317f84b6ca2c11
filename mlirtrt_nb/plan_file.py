"""Plans to and from files."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import container
from .engine.base import Binding, Engine, EngineReport, LayerRow
from .errors import PlanFileError
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
        described.append(_engine_to_json(engine))
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
            _engine_from_json(entry, opened.sections[f"engine{number}"])
            for number, entry in enumerate(meta["engines"])
        ]
        return Plan._restored(
            opened.sections["ir"],
            {schedule.device: schedule for schedule in schedules},
            engines,
            opened.arrays,
            [Fallback(**row) for row in meta["fallbacks"]],
            meta["metadata"],
            meta["name"],
        )
    except (KeyError, TypeError, ValueError) as error:
        # Its checksums hold, so whoever wrote it wrote something else.
        raise PlanFileError(
            f"{Path(path)} is not laid out as this version writes Plans: {type(error).__name__}: {error}",
            hint="compile again with this version and save",
        ) from error


def _engine_to_json(engine: Engine) -> dict[str, Any]:
    entry = {name: getattr(engine, name) for name in ("name", "kind", "target", "weights")}
    entry["inputs"] = [asdict(binding) for binding in engine.inputs]
    entry["outputs"] = [asdict(binding) for binding in engine.outputs]
    entry["report"] = asdict(engine.report)
    return entry


def _engine_from_json(entry: dict[str, Any], blob: memoryview) -> Engine:
    report = dict(entry["report"])
    report["layers"] = tuple(LayerRow(**_tuples(layer)) for layer in report["layers"])
    report["messages"] = tuple(report["messages"])
    return Engine(
        name=entry["name"],
        kind=entry["kind"],
        target=entry["target"],
        blob=blob,
        inputs=tuple(Binding(**_tuples(binding)) for binding in entry["inputs"]),
        outputs=tuple(Binding(**_tuples(binding)) for binding in entry["outputs"]),
        weights=tuple(entry["weights"]),
        report=EngineReport(**report),
    )


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    """JSON gives lists where the dataclasses have tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
