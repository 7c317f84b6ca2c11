"""`GraphView`: a function of a program as a picture, in a notebook, as text, and in files."""

from __future__ import annotations

import os
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ...files import checked_path, write_text
from ...shown import Shown
from .condense import first_nodes, join_chains, neighbourhood
from .dot import dot_text
from .model import Graph, Node
from .page import description, graph_html
from .read import CALLS, GraphReader
from .svg import drawing, standalone

if TYPE_CHECKING:
    import pandas as pd

    from ...program import Program

__all__ = ["LEVELS", "GraphView"]

# What is collapsed: nothing; the regions of ops; also rows of ops; also clusters and called functions.
LEVELS = ("none", "regions", "chains", "clusters")


class GraphView(Shown):
    """A picture of a program's function. Made by `Program.graph` and `Plan.graph`.

    Args:
        program: any program, at any stage.
        function: its path ("main", "trt_engines::main_0"); the entry function if None.
        collapse: one of `LEVELS`, or "auto": the first of them that leaves at most `limit` nodes.
        around: draw only the neighbourhood of an op: the name of its source ("/conv1/Conv"), or of the op
            ("tensorrt.softmax", of which all are taken).
        hops: how many edges the neighbourhood reaches.
        constants: draw constants too.
        limit: the most nodes that are drawn; what is beyond stands in a small box.

    Attributes:
        graph: what is drawn. level: what was collapsed.

    Raises:
        OptionError: an unknown function, level or op; the message lists near names.
    """

    def __init__(
        self,
        program: Program,
        function: str | None = None,
        *,
        collapse: str = "auto",
        around: str | None = None,
        hops: int = 2,
        constants: bool = False,
        limit: int = 120,
    ) -> None:
        if collapse not in ("auto", *LEVELS):
            raise OptionError(
                f"collapse={collapse!r} is no level of detail", hint=f"one of auto, {', '.join(LEVELS)}"
            )
        for option, number, least in (("hops", hops, 0), ("limit", limit, 1)):
            if not isinstance(number, int | np.integer) or number < least:
                raise OptionError(
                    f"{option}={number!r} is not a number of ops", hint=f"a whole number, {least} or more"
                )
        self.program = program
        self._functions, self.function = _function(program, function)
        self._marked: list[Node] = []
        with program.context:
            if around is None:
                self.level, self.graph = self._whole(collapse, constants, limit)
            else:
                self.level = "none" if collapse == "auto" else collapse
                self.graph = first_nodes(self._around(around, hops, constants), limit)
        self._title = f"{program.name}, @{self.function}" + (f" around {around}" if around else "")

    def _read(self, level: str, constants: bool) -> Graph:
        reader = GraphReader(
            self._functions,
            constants=constants,
            open_regions=level == "none",
            open_clusters=level != "clusters",
        )
        graph = reader.function(self._functions[self.function].operation, "")
        return _join_all(graph) if level in ("chains", "clusters") else graph

    def _whole(self, collapse: str, constants: bool, limit: int) -> tuple[str, Graph]:
        for level in LEVELS if collapse == "auto" else (collapse,):
            graph = self._read(level, constants)
            if sum(1 for _ in graph.walk()) <= limit:
                return level, graph
        return level, _bounded(graph, limit)

    def _around(self, around: str, hops: int, constants: bool) -> Graph:
        whole = self._read(self.level, constants)
        names: set[str] = set()
        for graph in _graphs(whole):
            found = {n for n, node in enumerate(graph.nodes) if around == node.source and node.kind == "op"}
            found = found or {n for n, node in enumerate(graph.nodes) if around in (node.op, node.source)}
            if found:
                self._marked = [graph.nodes[n] for n in sorted(found)]
                return neighbourhood(graph, found, hops)
            names |= {name for node in graph.nodes for name in (node.op, node.source) if name}
        near = get_close_matches(around, sorted(names), 3, 0.4)
        hint = f"near names: {', '.join(map(repr, near))}" if near else None
        raise OptionError(f"no op or source is called {around!r} in @{self.function}", hint=hint)

    @property
    def title(self) -> str:
        """What is drawn, in words."""
        return self._title

    @cached_property
    def df(self) -> pd.DataFrame:
        """One row per node that is drawn: node, kind, op, source, result, ops, warning."""
        import pandas as pd

        rows = [
            (number, node.kind, node.op, node.source, node.detail, node.ops, node.warning)
            for number, node in enumerate(self.graph.walk())
        ]
        return pd.DataFrame(rows, columns=["node", "kind", "op", "source", "result", "ops", "warning"])

    def svg(self) -> str:
        """The picture as an SVG document of its own: no scripts, light or dark as the reader has it."""
        label = description(self.title, self.graph)
        return standalone(drawing(self.graph, label=label, prefix="n", marked=self._marked))

    def dot(self) -> str:
        """The same in Graphviz's DOT language."""
        return dot_text(Graph(self.title, self.graph.nodes, self.graph.edges))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture; `.svg`, `.dot` or `.html` says how. Raises OptionError."""
        from ..style import page

        target = checked_path(path, OptionError)
        makers = {
            ".svg": self.svg,
            ".dot": self.dot,
            ".gv": self.dot,
            ".html": lambda: page(self._html(whole=True), title=self.title),
        }
        if target.suffix not in makers:
            raise OptionError(f"{target} is no kind of picture", hint=f"end its name in {', '.join(makers)}")
        write_text(target, makers[target.suffix]())
        return target

    def __repr__(self) -> str:
        return f"<GraphView of {self.title}: {sum(1 for _ in self.graph.walk())} nodes>"

    def __str__(self) -> str:
        return _as_text(self)

    def _repr_html_(self) -> str:
        return self._html()

    def _html(self, *, whole: bool = False) -> str:
        return graph_html(self.graph, title=self.title, level=self.level, marked=self._marked, whole=whole)


def _function(program: Program, wanted: str | None) -> tuple[dict[str, Any], str]:
    """Every function by path, and the one to draw."""
    from ...ir.inspect import entry_function
    from ...ir.symbols import functions

    with program.context:
        found = {path: function for path, function in functions(program.module) if function.regions[0].blocks}
        entry = entry_function(program.module.operation)
        if wanted is None and entry is not None:
            wanted = next(path for path, function in found.items() if function.operation == entry)
    if wanted is None:
        raise OptionError("the program has no function with a body")
    if wanted not in found:
        near = get_close_matches(wanted, list(found), 3) or sorted(found)[:5]
        raise OptionError(f"there is no function {wanted!r}", hint=f"near names: {', '.join(near)}")
    return found, wanted


def _join_all(graph: Graph) -> Graph:
    for node in graph.nodes:
        node.inner = [_join_all(part) for part in node.inner]
    return join_chains(graph)


def _bounded(graph: Graph, limit: int) -> Graph:
    """At most `limit` nodes, those inside of others counted: large insides are folded, then the end is cut."""
    small = first_nodes(graph, limit)
    room = limit - len(small.nodes)
    for node in small.nodes:
        size = sum(1 for part in node.inner for _ in part.walk())
        if size > room and len(small.nodes) > 3:
            node.inner, node.folded = [], node.inner
        elif size > room:
            node.inner = [first_nodes(part, max(room, 1)) for part in node.inner]
            room = 0
        else:
            room -= size
    return small


def _graphs(graph: Graph) -> list[Graph]:
    """The graph and all that are drawn inside of its nodes."""
    inner = [other for node in graph.nodes for part in node.inner for other in _graphs(part)]
    return [graph, *inner]


def _as_text(view: GraphView, most: int = 60) -> str:
    lines = [f"Graph of {view.title}"]
    lines += _lines(view.graph, "  ")
    more = [f"  … {len(lines) - most} more lines"] if len(lines) > most + 1 else []
    return "\n".join(lines[: most + 1] + more)


def _lines(graph: Graph, indent: str) -> list[str]:
    """One line per node: its name, what it is, and what it reads."""
    reads: dict[int, list[str]] = {}
    for edge in graph.edges:
        node = graph.nodes[edge.start]
        reads.setdefault(edge.end, []).append(_name(node))
    lines = []
    for number, node in enumerate(graph.nodes):
        name = f"{node.source}: " if node.kind == "op" and _name(node) not in ("", node.label) else ""
        kind = f"{node.kind} " if node.kind in ("input", "output") else ""
        origin = f"  ← {', '.join(dict.fromkeys(reads[number]))}" if number in reads else ""
        detail = f"  {node.detail}" if node.detail else ""
        warning = f"  [host: {node.warning}]" if node.warning else ""
        lines.append(f"{indent}{name}{kind}{node.label}{detail}{origin}{warning}")
        for part in node.inner:
            lines += [f"{indent}  {part.name}:"] if part.name else []
            lines += _lines(part, indent + "    ")
    return lines


def _name(node: Node) -> str:
    """The name of a node in the text: a call goes by what it calls, which holds more than its first source."""
    return node.label if node.op in CALLS else node.source or node.label
