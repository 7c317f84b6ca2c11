"""Engines as plain JSON values and a blob, for the files that hold them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .base import Binding, Engine, EngineReport, LayerRow

__all__ = ["engine_from_json", "engine_to_json"]


def engine_to_json(engine: Engine) -> dict[str, Any]:
    """All of an engine but its blob, as JSON can hold it."""
    entry = {name: getattr(engine, name) for name in ("name", "kind", "target", "weights")}
    entry["inputs"] = [asdict(binding) for binding in engine.inputs]
    entry["outputs"] = [asdict(binding) for binding in engine.outputs]
    entry["report"] = asdict(engine.report)
    return entry


def engine_from_json(entry: dict[str, Any], blob: memoryview) -> Engine:
    """The engine that `engine_to_json` described. Raises KeyError or TypeError for another entry."""
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
