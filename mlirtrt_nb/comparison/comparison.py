"""`Comparison`: the rows of a comparison, as a table, figures and files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import MissingDependencyError, MlirTrtError, OptionError
from ..files import replacing, write_text
from ..numerics.error_curve import ErrorCurve, error_curve
from ..numerics.samples import Samples
from ..program import Program
from ..shown import Shown
from .engines import engine_numbers
from .notes import Facts, notes_of

if TYPE_CHECKING:
    import pandas as pd

    from ..plan import Plan
    from ..reports.latency import LatencyReport

__all__ = ["COLUMNS", "Comparison"]

# Column -> pandas dtype.
COLUMNS = {
    "variant": "string",
    "latency_ms": "float64",
    "latency_p99_ms": "float64",
    "throughput_qps": "float64",
    "peak_memory_bytes": "Int64",
    "weights_bytes": "Int64",
    "engine_layers": "Int64",
    "activation_bytes": "Int64",
    "op_types": "string",
    "reformat_layers": "Int64",
    "qdq_layers": "Int64",
    "max_abs_error": "float64",
    "mean_abs_error": "float64",
    "cosine": "float64",
    "snr_db": "float64",
    "top1_agreement": "float64",
    "notes": "string",
    "failed": "bool",
}
_ERRORS = ("max_abs_error", "mean_abs_error", "cosine", "snr_db", "top1_agreement")
_ENGINES = {
    "variant": "string",
    "target": "string",
    "layers": "Int64",
    "weights_bytes": "Int64",
    "activation_bytes": "Int64",
    "peak_memory_bytes": "Int64",
    "reformat_layers": "Int64",
    "qdq_layers": "Int64",
    "build_seconds": "float64",
    "builder": "string",
}


class Comparison(Shown):
    """Variants of a program beside each other. Made by `mlirtrt_nb.compare`.

    Attributes:
        program: what was compared; targets: what it was built for.
        reference: the name of the row that the others are measured against.
        samples: the inputs that errors were computed on.
        warnings: what makes rows hard to compare.
    """

    def __init__(
        self,
        program: Program,
        targets: tuple[str, ...],
        reference: str,
        samples: Samples,
        facts: Sequence[Facts],
        warnings: tuple[str, ...] = (),
        shapes: Any = None,
    ) -> None:
        self.program = program
        self.targets = targets
        self.reference = reference
        self.samples = samples
        self.warnings = warnings
        self._shapes = shapes
        self._facts = {entry.variant.name: entry for entry in facts}

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the rows."""
        return tuple(self._facts)

    @property
    def plans(self) -> dict[str, Plan]:
        """The Plan of each variant that could be built."""
        return {
            name: entry.variant.plan for name, entry in self._facts.items() if entry.variant.plan is not None
        }

    @property
    def reports(self) -> dict[str, LatencyReport]:
        """The LatencyReport of each variant that was measured."""
        return {name: entry.latency for name, entry in self._facts.items() if entry.latency is not None}

    @cached_property
    def df(self) -> pd.DataFrame:
        """One row per variant, the reference first: `COLUMNS`. What is not known is NA; `attrs["sources"]`
        says of each column where it comes from."""
        import pandas as pd

        rows = [self._row(entry) for entry in self._facts.values()]
        columns = {
            name: pd.Series([row.get(name) for row in rows], dtype=dtype) for name, dtype in COLUMNS.items()
        }
        frame = pd.DataFrame(columns)
        frame.attrs["sources"] = self.sources
        return frame

    def _row(self, facts: Facts) -> dict[str, Any]:
        variant, engines, latency = facts.variant, facts.engines, facts.latency
        row: dict[str, Any] = {
            "variant": variant.name,
            "op_types": _shares(facts),
            "notes": "; ".join(self.notes(variant.name)),
            "failed": bool(variant.error),
        }
        if latency is not None:
            line = latency.df.iloc[0]
            row |= {
                "latency_ms": float(line["median"]),
                "latency_p99_ms": float(line["percentile(99%)"]),
                "throughput_qps": latency.throughput,
            }
        if engines is not None:
            row |= {
                "peak_memory_bytes": engines.memory_bytes,
                "weights_bytes": engines.weights_bytes,
                "engine_layers": engines.layers,
                "activation_bytes": engines.activation_bytes,
                "reformat_layers": engines.reformat_layers,
                "qdq_layers": engines.qdq_layers,
            }
        if variant.errors is not None and not variant.random:
            row |= {name: getattr(variant.errors, name) for name in _ERRORS}
        return row

    def notes(self, variant: str) -> list[str]:
        """Why a variant is slower, larger or wrong, in sentences. Raises OptionError for an unknown one."""
        return notes_of(
            self._entry(variant), None if variant == self.reference else self._facts[self.reference]
        )

    @property
    def sources(self) -> dict[str, str]:
        """Column -> where its numbers come from, in words."""
        target = next((target for target in self.targets if target != "cpu"), "cpu")
        builder = next((e.engines.builder for e in self._facts.values() if e.engines is not None), "")
        engines = f"builder's report for {target}" + (f", {builder}" if builder else "")
        measured = "not measured"
        if self.reports:
            report = next(iter(self.reports.values()))
            measured = f"measured on {report.conditions.get('device')}, {_first(self.samples)}"
        errors = f"rounding reference against {self.reference}, {self.samples.origin}"
        found = dict.fromkeys(("latency_ms", "latency_p99_ms", "throughput_qps"), measured)
        found |= dict.fromkeys(
            ("weights_bytes", "engine_layers", "activation_bytes", "reformat_layers", "qdq_layers"), engines
        )
        found["peak_memory_bytes"] = (
            "not known: ONNX Runtime does not report its activations"
            if target == "cpu"
            else f"weights by the {engines}, and the Plan's own buffers"
        )
        found["op_types"] = "the IR, which the engines are typed by"
        found |= dict.fromkeys(_ERRORS, errors)
        if len(self.program.outputs) > 1:
            found |= dict.fromkeys(_ERRORS, f"{errors}, the worst of the floating-point outputs")
            found["max_abs_error"] = f"{errors}, the worst of all outputs"
        return found

    @cached_property
    def engines(self) -> pd.DataFrame:
        """One row per variant and target: layers, bytes and build seconds."""
        import pandas as pd

        rows = []
        for name, plan in self.plans.items():
            for target in plan.targets:
                numbers = engine_numbers(plan, target)
                if numbers is not None:
                    rows.append({"variant": name, **vars(numbers), "peak_memory_bytes": numbers.memory_bytes})
        return pd.DataFrame(
            {name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in _ENGINES.items()}
        )

    @cached_property
    def conditions(self) -> pd.DataFrame:
        """One row per condition of the measurement, a column per variant."""
        import pandas as pd

        names = dict.fromkeys(key for report in self.reports.values() for key in report.conditions)
        rows = {
            name: {key: str(report.conditions.get(key, "")) for key in names}
            for name, report in self.reports.items()
        }
        return pd.DataFrame(rows).rename_axis("condition").reset_index()

    def curve(self, variant: str) -> ErrorCurve:
        """The error of each op of a variant along the graph; see `mt.error_curve`."""
        entry = self._entry(variant)
        return error_curve(
            self.program,
            entry.variant.precision,
            list(self.samples.values),
            shapes=self._shapes,
            target=self.targets,
        )

    def _entry(self, variant: str) -> Facts:
        if variant not in self._facts:
            raise OptionError(f"there is no variant {variant!r}", hint=f"variants: {', '.join(self._facts)}")
        return self._facts[variant]

    def plot(self) -> Any:
        """A figure: error against latency, and memory as bars. Raises MissingDependencyError."""
        from ..reports.comparison_plot import comparison_figure

        return comparison_figure(self.df, self.name, self.reference, self.sources)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `df` as CSV. Raises MlirTrtError if the file cannot be written."""
        write_text(path, self.df.to_csv(index=False), MlirTrtError)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write `df` as Parquet, its sources in the metadata. Raises MissingDependencyError, MlirTrtError."""
        try:
            with replacing(path, MlirTrtError) as file:
                self.df.to_parquet(file, index=False)
        except ImportError as error:
            raise MissingDependencyError("Parquet files need pyarrow", hint="pip install pyarrow") from error

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The table as Markdown, with units, notes and sources; also written to `path` if one is given."""
        from ..display.comparison import comparison_markdown

        text = comparison_markdown(self)
        if path is not None:
            write_text(path, text, MlirTrtError)
        return text

    def __repr__(self) -> str:
        return f"<Comparison of {self.name!r}: {', '.join(self.variants)}>"

    def __str__(self) -> str:
        from ..display.comparison import comparison_text

        return comparison_text(self)

    def _repr_html_(self) -> str:
        from ..display.comparison import comparison_html

        return comparison_html(self)


def _first(samples: Samples) -> str:
    """What latency was measured on."""
    return samples.origin if len(samples.values) == 1 else f"the first of {samples.origin}"


def _shares(facts: Facts) -> str | None:
    """ "i8 62 %, f32 38 %": shares of the ops, largest first."""
    types = facts.variant.types
    if not types.total:
        return None
    ordered = sorted(types.counts.items(), key=lambda entry: -entry[1])
    return ", ".join(f"{element} {100 * count / types.total:.0f} %" for element, count in ordered)
