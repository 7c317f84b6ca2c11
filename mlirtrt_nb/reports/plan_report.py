"""The tables of a Plan: engines, layers, memory, fallbacks, steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..shown import Shown
from .remedies import explain

if TYPE_CHECKING:
    from ..plan import Plan
    from ..runtime.schedule import Buffer, Schedule, Step

__all__ = ["PlanReport"]

_MOST = (1 << 63) - 1  # bytes that a column holds
_ENGINES = {
    "engine": "string",
    "target": "string",
    "layers": "Int64",
    "weights_bytes": "Int64",
    "activation_bytes": "Int64",
    "build_seconds": "float64",
    "scratch_bytes": "Int64",
    "engine_bytes": "Int64",
    "builder": "string",
    "cached": "boolean",
}
_LAYERS = {
    "engine": "string",
    "target": "string",
    "layer": "string",
    "kind": "string",
    "sources": "object",
    "inputs": "object",
    "outputs": "object",
    "shapes": "object",
    "dtypes": "object",
    "formats": "object",
    "tactic": "string",
    "stream": "Int64",
    "weights_bytes": "Int64",
    "output_bytes": "Int64",
}
_MEMORY = {
    "buffer": "string",
    "offset": "Int64",
    "bytes": "Int64",
    "space": "string",
    "first_use": "Int64",
    "last_use": "Int64",
    "device": "string",
    "role": "string",
    "alias": "Int64",
    "shape": "string",
    "dtype": "string",
}
_FALLBACKS = {
    "op": "string",
    "count": "Int64",
    "reason": "string",
    "location": "string",
    "backend": "string",
    "cause": "string",
    "remedy": "string",
}
_TIMELINE = {
    "device": "string",
    "step": "Int64",
    "inside": "string",
    "op": "string",
    "callee": "string",
    "stream": "Int64",
    "reads": "object",
    "writes": "object",
    "sources": "object",
}
_SUMMARY = {"fact": "string", "value": "object"}


class PlanReport(Shown):
    """A Plan's tables as DataFrames, each made when it is first asked for. Sizes that are not known are NA."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @cached_property
    def engines(self) -> pd.DataFrame:
        """One row per engine. Byte counts are the builder's own, and so are the seconds, of an engine that this
        compilation took from the cache (`cached`) as well."""
        return _frame(_ENGINES, (self._engine_row(engine) for engine in self._plan.engine_values))

    @cached_property
    def layers(self) -> pd.DataFrame:
        """One row per engine layer; `sources` lists the source nodes it was made from."""
        return _frame(_LAYERS, self._layer_rows())

    @cached_property
    def memory(self) -> pd.DataFrame:
        """One row per buffer of each program. `offset` is NA for memory that the caller or an engine brings,
        `bytes` where the size is known only at the call. `first_use` and `last_use` are steps."""
        rows = (row for schedule in self._plan.schedules.values() for row in _memory_rows(schedule))
        return _frame(_MEMORY, rows)

    @cached_property
    def fallbacks(self) -> pd.DataFrame:
        """What TensorRT did not take, most frequent first: why, where it ran, and what to change."""
        rows = sorted(self._plan.fallback_rows, key=lambda row: -row.count)
        return _frame(_FALLBACKS, ({**vars(row), **vars(explain(row.reason))} for row in rows))

    @cached_property
    def timeline(self) -> pd.DataFrame:
        """The steps of each program in order; `inside` says of which branch ("3 then") or loop ("5 turn");
        `sources` are those of an engine's layers too."""
        made: dict[str, list[str]] = {}  # engine -> the sources of its layers
        for engine in self._plan.engine_values:
            made.setdefault(engine.name, []).extend(s for layer in engine.report.layers for s in layer.sources)
        rows = (row for schedule in self._plan.schedules.values() for row in _step_rows(schedule, made))
        return _frame(_TIMELINE, rows)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A fact and its value to a row."""
        return _frame(_SUMMARY, ({"fact": fact, "value": value} for fact, value in self._facts()))

    def __str__(self) -> str:
        from ..display.plan import report_text

        return report_text(self._plan)

    def __repr__(self) -> str:
        return f"<PlanReport of {self._plan.name!r}: engines, layers, memory, fallbacks, timeline, summary>"

    def _repr_html_(self) -> str:
        from ..display.plan import report_html

        return report_html(self._plan)

    def _engine_row(self, engine: Any) -> dict[str, Any]:
        report = engine.report
        return {
            "engine": engine.name,
            "target": engine.target,
            "layers": len(report.layers) or None,
            "weights_bytes": report.weights_bytes,
            "activation_bytes": report.activation_bytes,
            "build_seconds": report.build_seconds,
            "scratch_bytes": report.scratch_bytes,
            "engine_bytes": len(engine.blob),
            "builder": report.builder,
            "cached": report.cached,
        }

    def _layer_rows(self) -> Iterator[dict[str, Any]]:
        for engine in self._plan.engine_values:
            for layer in engine.report.layers:
                fields = {**vars(layer), "layer": layer.name, "engine": engine.name, "target": engine.target}
                yield {key: list(v) if isinstance(v, tuple) else v for key, v in fields.items()}

    def _facts(self) -> Iterator[tuple[str, Any]]:
        plan = self._plan
        yield "targets", list(plan.targets)
        yield "engines", len(plan.engine_values)
        yield "weights_bytes", sum(array.nbytes for array in plan.weights.values())
        yield "fallback_ops", sum(row.count for row in plan.fallback_rows)
        for device, schedule in plan.schedules.items():
            yield f"{device}_steps", sum(1 for _ in schedule.all_steps())
            yield f"{device}_arena_bytes", schedule.arena_bytes
            yield f"{device}_peak_live_bytes", schedule.peak_live_bytes
        yield from plan.metadata.items()


def _frame(columns: dict[str, str], rows: Iterator[dict[str, Any]]) -> pd.DataFrame:
    """A frame with exactly these columns and types."""
    listed = list(rows)
    data = {
        name: pd.Series([_held(row.get(name)) for row in listed], dtype=kind) for name, kind in columns.items()
    }
    return pd.DataFrame(data)


def _held(value: Any) -> Any:
    """The value, or nothing for bytes of a size that no machine has and no column holds."""
    return None if isinstance(value, int) and value > _MOST else value


def _memory_rows(schedule: Schedule) -> Iterator[dict[str, Any]]:
    from ..runtime.inputs import spelled

    for buffer in schedule.buffers:
        yield {
            "buffer": buffer.name,
            "offset": buffer.offset,
            "bytes": _size(buffer),
            "space": buffer.space,
            "first_use": buffer.first,
            "last_use": buffer.last,
            "device": schedule.device,
            "role": buffer.role,
            "alias": buffer.alias,
            "shape": spelled(buffer.shape),
            "dtype": buffer.dtype,
        }


def _size(buffer: Buffer) -> int | None:
    from math import prod

    from ..ir import dtypes

    if buffer.bytes is not None:
        return buffer.bytes
    if buffer.shape is None or buffer.dtype.startswith("!") or any(dim < 0 for dim in buffer.shape):
        return None
    return dtypes.by_mlir(buffer.dtype).nbytes(prod(buffer.shape))


def _step_rows(schedule: Schedule, made: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    names = [buffer.name for buffer in schedule.buffers]
    inside = _places(schedule)
    for number, step in enumerate(schedule.all_steps()):
        scratch = [] if step.workspace is None else [names[step.workspace]]
        bounds = [names[n] for n in (step.trips, step.going) if n is not None]
        yield {
            "device": schedule.device,
            "step": number,
            "inside": inside[number],
            "op": step.kind,
            "callee": step.callee or None,
            "stream": step.stream,
            "reads": [names[n] for n in step.ins] + bounds,
            "writes": [names[n] for n in step.outs] + scratch,
            "sources": list(dict.fromkeys([*step.sources, *made.get(step.callee, ())])),
        }


def _places(schedule: Schedule) -> list[str | None]:
    """For each step, the branch or loop that it is in."""
    found: list[str | None] = []

    def visit(steps: Iterable[Step], place: str | None) -> None:
        for step in steps:
            number = len(found)
            found.append(place)
            words = ("then", "else") if step.kind == "if" else ("turn",)
            for word, block in zip(words, step.blocks, strict=False):
                visit(block, f"{number} {word}")

    visit(schedule.steps, None)
    return found
