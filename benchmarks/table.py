"""Rows of a benchmark: printed as a table, judged against a limit, saved as JSON."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["Benchmark", "Row", "geometric_mean"]

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Row:
    """One comparison. `ratio` is ours / peer's, None where the peer has no figure (`note` says why)."""

    case: str
    measure: str
    ours: float
    peer: float | None
    unit: str
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.peer is None or self.peer == 0 else self.ours / self.peer


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean; 1.0 of nothing, 0.0 where one of them is."""
    if not all(ratios):
        return 0.0
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


@dataclass
class Benchmark:
    """A named set of rows with the limits it is to keep: on the geometric mean, and on each row."""

    name: str
    peer: str
    mean_limit: float | None = None
    each_limit: float | None = None
    rows: list[Row] = field(default_factory=list)

    def measures(self) -> list[str]:
        return list(dict.fromkeys(row.measure for row in self.rows))

    def ratios(self, measure: str) -> list[float]:
        return [row.ratio for row in self.rows if row.measure == measure and row.ratio is not None]

    def kept(self, measure: str) -> bool:
        """Whether the limits hold for one measure."""
        ratios = self.ratios(measure)
        mean_ok = self.mean_limit is None or geometric_mean(ratios) <= self.mean_limit
        return mean_ok and (self.each_limit is None or all(ratio <= self.each_limit for ratio in ratios))

    def text(self) -> str:
        """The table, and a line per measure that says whether its limits hold."""
        lines = [f"## {self.name} (peer: {self.peer})", ""]
        lines.append(f"{'case':<34}{'measure':<20}{'ours':>14}{'peer':>14}  {'unit':<7}{'ratio':>7}  note")
        for row in self.rows:
            peer = "-" if row.peer is None else f"{row.peer:,.4g}" if row.peer < 1e4 else f"{row.peer:,.0f}"
            ours = f"{row.ours:,.4g}" if row.ours < 1e4 else f"{row.ours:,.0f}"
            ratio = "-" if row.ratio is None else f"{row.ratio:.3f}"
            lines.append(
                f"{row.case:<34}{row.measure:<20}{ours:>14}{peer:>14}  {row.unit:<7}{ratio:>7}  {row.note}"
            )
        return "\n".join([*lines, "", *map(self._verdict, self.measures())])

    def _verdict(self, measure: str) -> str:
        ratios = self.ratios(measure)
        if not ratios:
            return f"{measure}: the peer has no figure"
        limits = [f"mean <= {self.mean_limit}"] * (self.mean_limit is not None)
        limits += [f"each <= {self.each_limit}"] * (self.each_limit is not None)
        state = "kept" if self.kept(measure) else "NOT KEPT"
        return (
            f"{measure}: geometric mean {geometric_mean(ratios):.3f}, worst {max(ratios):.3f}"
            f"  [{' and '.join(limits) or 'no limit'}: {state}]"
        )

    def save(self) -> Path:
        """Write the rows and the machine as JSON; the file appears whole or not at all."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name.replace(' ', '_')}.json"
        content = {
            "name": self.name,
            "peer": self.peer,
            "machine": {
                "cpus": os.cpu_count(),
                "machine": platform.machine(),
                "python": platform.python_version(),
            },
            "limits": {"mean": self.mean_limit, "each": self.each_limit},
            "measures": {
                measure: {"geometric_mean": geometric_mean(self.ratios(measure)), "kept": self.kept(measure)}
                for measure in self.measures()
            },
            "rows": [{**asdict(row), "ratio": row.ratio} for row in self.rows],
        }
        part = path.with_suffix(".part")
        part.write_text(json.dumps(content, indent=1))
        part.replace(path)
        return path
