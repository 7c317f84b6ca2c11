"""`partition`: how a model is cut into engines and host parts, and what other cluster settings would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..plan import Plan
from ..program import Program
from ..shown import Shown
from .flat_graph import FlatGraph, FlatOp, FlatValue, flat_graph

if TYPE_CHECKING:
    import pandas as pd

    from ..passes.pipeline import Pipeline

__all__ = ["Part", "Partition", "partition"]

# Settings that `what_if` tries.
_SIZES = (1, 2, 3, 5, 10, 20, 50)
_NAMED = {"tensorrt": "engine", "host": "host", "kernel": "host", "onnx": "host", "": "control"}
# What runs a backend's ops, by the names that `plan.fallbacks` has.
_RUN_BY = {
    "tensorrt": "tensorrt",
    "host": "onnxruntime",
    "kernel": "mlir_host",
    "onnx": "onnxruntime",
    "": "plan",
}
_MOST_KINDS = 4


@dataclass(frozen=True)
class Part:
    """One engine or host part: what runs it and its ops, as positions in the graph.

    `backend` is "tensorrt", or as in `plan.fallbacks`: "onnxruntime", "mlir_host" or, for a branch or a loop of
    the Plan itself, "plan".
    """

    name: str
    backend: str
    ops: tuple[int, ...]


def partition(
    source: Program | Plan | Any,
    *,
    target: str | Iterable[str] = "sm89",
    shapes: Any = None,
    pipeline: Pipeline | str | None = None,
    min_cluster_size: int = 1,
    merge: str = "all",
) -> Partition:
    """How `source` is cut into engines and host parts.

    Args:
        source: a Plan, which knows what its builders refused; a Program; or anything that `mt.load` takes. A
            Program goes through the pipeline up to "plan-clustering"; no engine is built.
        target, shapes, pipeline: as in `mt.compile`; `shapes` is not needed, but sizes are known by it only.
        min_cluster_size, merge: as the options of the pass "plan-clustering".

    Raises:
        SourceError, ShapeError, OptionError, PassError.
    """
    program = source.program if isinstance(source, Plan) else _converted(source, target, shapes, pipeline)
    name = source.name if isinstance(source, Plan) else program.name
    return Partition(flat_graph(program), name, min_cluster_size, merge)


def _converted(
    source: Any, target: str | Iterable[str], shapes: Any, pipeline: Pipeline | str | None
) -> Program:
    from ..compilation import before_clustering
    from ..frontends.load import load
    from ..targets import parse_targets

    program = source if isinstance(source, Program) else load(source)
    if "plan" in set(program.ops["dialect"]):
        return program  # it is cut already
    worth = any(name != "cpu" for name in parse_targets(target))
    return _opened(before_clustering(program, target, shapes, pipeline), worth)


def _opened(program: Program, worth: bool) -> Program:
    """With those branches and loops open that no engine holds whole, as clustering has them."""
    from ..ir.inspect import entry_function
    from ..passes.clustering.refused_regions import open_refused

    entry = entry_function(program.module.operation)
    if entry is not None:
        with program.context:
            open_refused(entry.regions[0].blocks[0], worth=worth)
    return program


class Partition(Shown):
    """A model cut into parts, in the order in which they run. Made by `mt.partition`.

    Attributes:
        parts: the engines and host parts.
        name: the model's.
        min_cluster_size, merge: the settings.
    """

    def __init__(self, graph: FlatGraph, name: str, min_cluster_size: int = 1, merge: str = "all") -> None:
        from ..passes.pipeline import make_pass

        # It raises where the pass would, and reads text as a pipeline's text is read.
        settings: Any = make_pass("plan-clustering", {"min_cluster_size": min_cluster_size, "merge": merge})
        self._graph = graph
        self.name = name
        self.min_cluster_size: int = settings.min_cluster_size
        self.merge: str = settings.merge
        self.parts = _parts(graph, self.min_cluster_size, self.merge)
        self._part_of = {op: number for number, part in enumerate(self.parts) for op in part.ops}

    def with_settings(self, *, min_cluster_size: int | None = None, merge: str | None = None) -> Partition:
        """The same model cut by other settings; those that are not given stay."""
        size = self.min_cluster_size if min_cluster_size is None else min_cluster_size
        return Partition(self._graph, self.name, size, self.merge if merge is None else merge)

    @property
    def pass_text(self) -> str:
        """The pass with these settings, as it stands in a pipeline's text."""
        from ..passes.pipeline import Pipeline

        entry = Pipeline.parse("plan-clustering")
        return str(entry.set("plan-clustering", min_cluster_size=self.min_cluster_size, merge=self.merge))

    @property
    def engines(self) -> int:
        """How many TensorRT engines there are."""
        return sum(part.backend == "tensorrt" for part in self.parts)

    @property
    def engine_ops(self) -> int:
        """How many ops are in engines."""
        return sum(len(part.ops) for part in self.parts if part.backend == "tensorrt")

    @property
    def ops(self) -> int:
        """How many ops there are in all, without constants."""
        return len(self._graph.ops)

    @cached_property
    def boundary_bytes(self) -> int | None:
        """Bytes of the values that pass between parts, each counted once; None if one is not known."""
        return _total(value for value, _, _ in self._crossings)

    @cached_property
    def copied_bytes(self) -> int | None:
        """Of `boundary_bytes`, those between an engine and the host, which a GPU's bus has to carry."""
        return _total(value for value, giver, readers in self._crossings if self._changes_side(giver, readers))

    @cached_property
    def unknown_sizes(self) -> str:
        """Why `boundary_bytes` is not known, and what to do about it where that helps; "" where it is known."""
        if self.boundary_bytes is not None:
            return ""
        unknown = [value for value in self._graph.values if value.bytes is None]
        made = [value.producer for value in unknown if value.producer is not None]
        if not made or len(made) < len(unknown):  # an input's own
            return "Sizes need fixed shapes: give shapes= (--shape) with one size per dimension"
        first = self._graph.ops[made[0]]
        where = f"{first.source} ({first.name})" if first.source else first.name
        return f"Sizes depend on data: how much {where} gives is known only when it runs"

    @cached_property
    def _crossings(self) -> list[tuple[FlatValue, int, tuple[int, ...]]]:
        """Each value that passes between parts, with the part that gives it and those that read it."""
        found = []
        for value in self._graph.values:
            if value.producer is not None:
                giver = self._part_of[value.producer]
                readers = sorted({self._part_of[reader] for reader in value.readers} - {giver})
                if readers:
                    found.append((value, giver, tuple(readers)))
        return found

    @cached_property
    def _ends(self) -> list[tuple[list[FlatValue], list[FlatValue]]]:
        """Per part, the values that come from other parts, and those that go to them."""
        ends: list[tuple[list[FlatValue], list[FlatValue]]] = [([], []) for _ in self.parts]
        for value, giver, readers in self._crossings:
            ends[giver][1].append(value)
            for reader in readers:
                ends[reader][0].append(value)
        return ends

    def _changes_side(self, giver: int, readers: tuple[int, ...]) -> bool:
        is_engine = self.parts[giver].backend == "tensorrt"
        return any((self.parts[reader].backend == "tensorrt") != is_engine for reader in readers)

    @cached_property
    def df(self) -> pd.DataFrame:
        """One row per part, in order: part, backend, ops, kinds, input_bytes, output_bytes, first, last, why.

        Bytes are of values from and to other parts, NA where a shape is not known; `first` and `last` are
        sources; `why` is the commonest reason for which ops are not in an engine.
        """
        import pandas as pd

        frame = pd.DataFrame(
            [self._row(number, part) for number, part in enumerate(self.parts)], columns=_COLUMNS
        )
        return frame.astype({"ops": "Int64", "input_bytes": "Int64", "output_bytes": "Int64"})

    def _row(self, number: int, part: Part) -> tuple[Any, ...]:
        ops = [self._graph.ops[op] for op in part.ops]
        kinds = Counter(op.name.partition(".")[2] for op in ops)
        shown = [f"{count} {kind}" for kind, count in kinds.most_common(_MOST_KINDS)]
        others = len(kinds) - _MOST_KINDS
        more = [f"{others} other kind{'s' if others > 1 else ''}"] if others > 0 else []
        read, given = (_total(values) for values in self._ends[number])
        sources = [op.source for op in ops if op.source] or [""]
        kinds_text = ", ".join(shown + more)
        ends = sources[0], sources[-1]
        return (part.name, part.backend, len(ops), kinds_text, read, given, *ends, _why(part, ops))

    @cached_property
    def edges(self) -> pd.DataFrame:
        """One row per pair of parts that values pass between: giver, reader, values, bytes."""
        import pandas as pd

        pairs: dict[tuple[int, int], list[FlatValue]] = {}
        for value, giver, readers in self._crossings:
            for reader in readers:
                pairs.setdefault((giver, reader), []).append(value)
        rows = [
            (self.parts[giver].name, self.parts[reader].name, len(values), _total(values))
            for (giver, reader), values in sorted(pairs.items())
        ]
        return pd.DataFrame(rows, columns=["giver", "reader", "values", "bytes"]).astype({"bytes": "Int64"})

    @cached_property
    def what_if(self) -> pd.DataFrame:
        """What each way of merging and each smallest size gives, one row per different outcome, with the first
        settings that give it: min_cluster_size, merge, engines, host_parts, engine_ops, boundary_bytes,
        copied_bytes."""
        import pandas as pd

        from ..passes.clustering.partition import MERGES

        rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for merge in MERGES:
            for size in _SIZES:
                other = self.with_settings(min_cluster_size=size, merge=merge)
                host = sum(part.backend not in ("tensorrt", "plan") for part in other.parts)
                outcome = (other.engines, host, other.engine_ops, other.boundary_bytes, other.copied_bytes)
                rows.setdefault(outcome, (size, merge, *outcome))
        frame = pd.DataFrame(list(rows.values()), columns=_WHAT_IF)
        return frame.astype({"boundary_bytes": "Int64", "copied_bytes": "Int64"})

    def __repr__(self) -> str:
        return (
            f"<Partition of {self.name!r}: {self.engines} engines, {self.engine_ops} of {self.ops} ops in them>"
        )

    def __str__(self) -> str:
        from ..display.partition import partition_text

        return partition_text(self)

    def _repr_html_(self) -> str:
        from ..display.partition import partition_html

        return partition_html(self)


_COLUMNS = ["part", "backend", "ops", "kinds", "input_bytes", "output_bytes", "first", "last", "why"]
_WHAT_IF = [
    "min_cluster_size",
    "merge",
    "engines",
    "host_parts",
    "engine_ops",
    "boundary_bytes",
    "copied_bytes",
]


def _why(part: Part, ops: list[FlatOp]) -> str:
    """The commonest reason among the ops of a host part; "" for an engine."""
    if part.backend in ("tensorrt", "plan"):
        return ""
    from ..passes.clustering.reasons import TOO_SMALL

    reasons = Counter(op.reason or TOO_SMALL for op in ops)
    return reasons.most_common(1)[0][0]


def _total(values: Iterable[FlatValue]) -> int | None:
    sizes = [value.bytes for value in values]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _parts(graph: FlatGraph, least: int, merge: str) -> list[Part]:
    """The clusters in an order in which they can run, named as the passes name their functions. What is in a
    branch or a loop of the Plan follows it."""
    inside: dict[int, list[int]] = {}
    for region, holder in enumerate(graph.holders):
        if holder is not None:
            inside.setdefault(holder, []).append(region)
    counts: Counter[str] = Counter()
    parts: list[Part] = []

    def visit(region: int) -> None:
        for backend, ops in _clusters(graph, region, least, merge):
            noun = _NAMED[backend]
            parts.append(Part(f"{noun}_{counts[noun]}", _RUN_BY[backend], ops))
            counts[noun] += 1
            for op in ops:
                for inner in inside.get(op, ()):
                    visit(inner)

    visit(0)
    return parts


def _clusters(graph: FlatGraph, region: int, least: int, merge: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The clusters of one region in an order in which they can run: the backend and the ops of each."""
    from ..dialects.plan.attributes import BACKENDS
    from ..passes.clustering.partition import settled_partition, topological_order

    ops = [number for number, op in enumerate(graph.ops) if op.region == region]
    place = {op: number for number, op in enumerate(ops)}
    producers = [[place[producer] for producer in graph.producers[op]] for op in ops]
    clusters, backends = settled_partition(
        [graph.ops[op].backend for op in ops], producers, BACKENDS, merge=merge, least=least
    )
    members: dict[int, list[int]] = {}
    for number, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(number)
    for cluster in topological_order(clusters, producers):
        yield backends[members[cluster][0]], tuple(ops[number] for number in members[cluster])
