"""A `Graph` in Graphviz's DOT language, boxes inside of others as clusters."""

from __future__ import annotations

from itertools import count

from .model import Graph, Node

__all__ = ["dot_text"]


def dot_text(graph: Graph) -> str:
    """The text of a `digraph`."""
    return "\n".join(
        [
            f"digraph {_quoted(graph.name or 'graph')} {{",
            '  node [shape=box, style=rounded, fontname="monospace", fontsize=10];',
            *_Writer().graph(graph, "  "),
            "}",
            "",
        ]
    )


class _Writer:
    """Numbers nodes and clusters through the whole drawing."""

    def __init__(self) -> None:
        self._nodes = count()
        self._clusters = count()

    def graph(self, graph: Graph, indent: str) -> list[str]:
        """The statements of a graph."""
        lines: list[str] = []
        ends: list[tuple[str, str]] = []  # per node, what an edge to it and one from it are tied to
        for node in graph.nodes:
            if node.inner:
                ends.append(self._cluster(node, indent, lines))
            else:
                name = f"n{next(self._nodes)}"
                lines.append(f"{indent}{name} [{_attributes(node)}];")
                ends.append((name, name))
        for edge in graph.edges:
            label = f" [label={_quoted(edge.label)}, fontsize=8]" if edge.label else ""
            lines.append(f"{indent}{ends[edge.start][1]} -> {ends[edge.end][0]}{label};")
        return lines

    def _cluster(self, node: Node, indent: str, lines: list[str]) -> tuple[str, str]:
        """A node with graphs inside; edges to it end at a point in its box."""
        port = f"n{next(self._nodes)}"
        lines.append(f"{indent}subgraph cluster_{next(self._clusters)} {{")
        lines.append(f"{indent}  label={_quoted(node.label)};")
        lines.append(f"{indent}  {port} [shape=point];")
        for part in node.inner:
            if part.name and len(node.inner) > 1:
                lines.append(f"{indent}  subgraph cluster_{next(self._clusters)} {{")
                lines.append(f"{indent}    label={_quoted(part.name)};")
                lines += [*self.graph(part, f"{indent}    "), f"{indent}  }}"]
            else:
                lines += self.graph(part, f"{indent}  ")
        lines.append(f"{indent}}}")
        return port, port


def _attributes(node: Node) -> str:
    second = (node.warning and f"host: {node.warning}") or node.detail
    parts = [f"label={_quoted(node.label + (chr(10) + second if second else ''))}"]
    parts += [f"tooltip={_quoted(node.title)}"] if node.title else []
    parts += ["shape=ellipse"] if node.kind in ("input", "output") else []
    parts += ["shape=plaintext"] if node.kind == "more" else []
    parts += ['style="rounded,dashed"'] if node.warning else []
    return ", ".join(parts)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
