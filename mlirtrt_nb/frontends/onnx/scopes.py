"""One graph and the scopes around it: known ops, one definition per name, an order without cycles."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Final

from onnx import GraphProto, NodeProto

from ...dialects.onnx.schemas import versions
from ...errors import InvalidModelError
from .nodes import describe, free_names, subgraphs

__all__ = ["Scope"]

# Domains that an engine of this package can run, beside those with schemas.
_RUNNABLE: Final = re.compile(r"com\.microsoft(\..+)?|com\.ms\.internal\.nhwc|ai\.onnx(\..+)?")


class Scope:
    """One graph and the scopes around it."""

    def __init__(self, graph: GraphProto, imports: dict[str, int], outer: Scope | None) -> None:
        self.graph = graph
        self.imports = imports
        self.outer = outer
        self.known: set[str] = set()

    def sees(self, name: str) -> bool:
        """Whether a node here may read `name`, from this graph or one around it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.known:
                return True
            scope = scope.outer
        return False

    def check(self) -> None:
        """Put the nodes into an order in which each reads what is known.

        Raises InvalidModelError where there is none, and for names that nothing or more than one thing makes.
        """
        graph = self.graph
        producers = self._producers()
        self.known = {entry.name for entry in graph.input}
        self.known |= {tensor.name for tensor in graph.initializer}
        self.known |= {sparse.values.name for sparse in graph.sparse_initializer}
        if not self._walk(graph.node):
            # Some node reads what a later one makes: order them, or say why that cannot be done.
            ordered = self._ordered(producers)
            del graph.node[:]
            graph.node.extend(ordered)
            self._walk(graph.node)
        for entry in graph.output:
            if not self.sees(entry.name):
                raise self._dangling(f"graph {graph.name!r}", "output", entry.name)

    def _producers(self) -> dict[str, int]:
        producers: dict[str, int] = {}
        given = {entry.name for entry in self.graph.input} | {t.name for t in self.graph.initializer}
        for index, node in enumerate(self.graph.node):
            for name in node.output:
                if not name:
                    continue
                if name in producers or name in given:
                    other = (
                        describe(self.graph.node[producers[name]])
                        if name in producers
                        else "an input or initializer"
                    )
                    raise InvalidModelError(
                        f"the tensor {name!r} is written twice: by {other} and by {describe(node)}",
                        hint="every output of a node needs a name of its own",
                    )
                producers[name] = index
        return producers

    def _walk(self, nodes: Sequence[NodeProto]) -> bool:
        """Check each node and its subgraphs; False at the first that reads what is not made yet."""
        for node in nodes:
            if any(name and not self.sees(name) for name in node.input):
                return False
            graphs = list(subgraphs(node))
            if graphs and any(not self.sees(name) for name in free_names(node)):
                return False
            self._check_op(node)
            for graph in graphs:
                Scope(graph, self.imports, self).check()
            self.known.update(node.output)
        return True

    def _ordered(self, producers: dict[str, int]) -> list[NodeProto]:
        nodes = list(self.graph.node)
        given = {entry.name for entry in self.graph.input} | {t.name for t in self.graph.initializer}
        given |= {sparse.values.name for sparse in self.graph.sparse_initializer}
        waits: list[int] = [0] * len(nodes)
        readers: dict[int, list[int]] = {}
        for index, node in enumerate(nodes):
            for name in {*node.input, *free_names(node)}:
                if name in producers:
                    waits[index] += 1
                    readers.setdefault(producers[name], []).append(index)
                elif name and name not in given and not (self.outer and self.outer.sees(name)):
                    raise self._dangling(describe(node), "input", name, producers)
        order = [index for index, count in enumerate(waits) if not count]
        for index in order:  # grows while it is walked
            for reader in readers.get(index, ()):
                waits[reader] -= 1
                if not waits[reader]:
                    order.append(reader)
        if len(order) < len(nodes):
            stuck = [describe(nodes[i]) for i, count in enumerate(waits) if count]
            shown = ", ".join(stuck[:4]) + (f" and {len(stuck) - 4} more" if len(stuck) > 4 else "")
            raise InvalidModelError(f"the graph {self.graph.name!r} has a cycle through or before {shown}")
        return [nodes[index] for index in order]

    def _dangling(self, reader: str, what: str, name: str, more: Iterable[str] = ()) -> InvalidModelError:
        names = {*self.known, *more}
        scope = self.outer
        while scope is not None:
            names |= scope.known
            scope = scope.outer
        near = difflib.get_close_matches(name, sorted(names), 3, 0.6)
        return InvalidModelError(
            f"the {what} {name!r} of {reader} is written by no node and is no input or initializer",
            hint=f"near names: {', '.join(map(repr, near))}" if near else None,
        )

    def _check_op(self, node: NodeProto) -> None:
        domain = "" if node.domain == "ai.onnx" else node.domain
        key = (domain, node.op_type)
        version = self.imports.get(domain)
        if version is None and (domain or self.imports):
            raise InvalidModelError(
                f"{describe(node)} is of domain {domain or 'ai.onnx'!r}, of which the model imports no version",
                hint=_near_domain(domain, self.imports),
            )
        schemas = versions().get(key)
        if schemas is not None:
            if version is not None and schemas[0].since_version > version:
                raise InvalidModelError(
                    f"{describe(node)} needs opset {schemas[0].since_version}, the model imports {version}",
                    hint="export the model again, or convert it with onnx.version_converter",
                )
            return
        if not domain or any(known == domain for known, _ in versions()):
            names = [kind for known, kind in versions() if known == domain]
            near = difflib.get_close_matches(node.op_type, names, 3, 0.5)
            raise InvalidModelError(
                f"ONNX has no op {node.op_type!r}" + (f" in domain {domain!r}" if domain else ""),
                where=describe(node),
                hint=f"near names: {', '.join(near)}" if near else None,
            )
        if not _RUNNABLE.fullmatch(domain):
            raise InvalidModelError(
                f"nothing here can run ops of domain {domain!r}",
                where=describe(node),
                hint=_near_domain(domain, ["ai.onnx", "ai.onnx.ml", "com.microsoft"])
                or "give the op as a local function of the model, or replace it by standard ops",
            )


def _near_domain(domain: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(domain, [k for k in known if k], 1, 0.7)
    return f"near name: {near[0]!r}" if near else None
