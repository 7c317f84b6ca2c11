"""A drawn graph as one output: the picture, folded parts below it, and a table of nodes that it links with."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from html import escape

from ..html import cell_html
from ..style import framed
from ..units import plural
from .condense import first_nodes, join_chains
from .model import Graph, Node
from .svg import STYLE, drawing

__all__ = ["description", "graph_html"]

_MOST_PARTS = 8
_MOST_NODES = 60  # of a folded part
_MOST_ROWS = 150
_WORDS = {
    "none": "",
    "regions": "the regions of ops are folded",
    "chains": "regions are folded, and ops in a row stand in one box",
    "clusters": "engines, host parts and regions are folded, and ops in a row stand in one box",
}


def graph_html(graph: Graph, *, title: str, level: str, marked: Sequence[Node], whole: bool = False) -> str:
    """The output. `level` is what was collapsed (see `view.LEVELS`); `whole` gives the picture its full
    height, for a page of its own."""
    nodes = list(graph.walk())
    # From what is drawn, so that the same graph gives the same page.
    prefix = f"g{zlib.crc32(repr([title, [node.title for node in nodes]]).encode()):08x}-"
    picture = drawing(
        graph, label=f"{description(title, graph)}; listed below", prefix=prefix, marked=marked, linked=True
    )
    about = [plural(sum(node.ops for node in graph.nodes), "op"), _WORDS[level]]
    body = [
        f"<style>{STYLE}</style><h3>Graph of {escape(title)}</h3>",
        f"<p>{escape('; '.join(filter(None, about)))}</p>",
        _scroll(picture, f"graph of {title}", height="none" if whole else "640px"),
        *_folded(nodes, prefix),
        _table(nodes, prefix),
    ]
    return framed("".join(body), label=f"graph of {title}")


def description(title: str, graph: Graph) -> str:
    """What a screen reader says of the picture."""
    drawn = sum(node.kind == "op" for node in graph.walk())
    ends = {kind: [node.label for node in graph.nodes if node.kind == kind] for kind in ("input", "output")}
    told = [f"{kind}s {', '.join(names[:6])}" for kind, names in ends.items() if names]
    return f"graph of {title}: {'; '.join([plural(drawn, 'node'), *told])}"


def _scroll(body: str, label: str, *, height: str = "") -> str:
    style = f' style="max-height:{height}"' if height else ""
    return (
        f'<div class="mt-scroll" tabindex="0" role="region" aria-label="{escape(label, quote=True)}"{style}>'
        f"{body}</div>"
    )


def _folded(nodes: Sequence[Node], prefix: str) -> list[str]:
    """A part that opens for each node with regions, a cluster or a function folded inside."""
    shown = [(number, node) for number, node in enumerate(nodes) if node.folded]
    parts = []
    for number, node in shown[:_MOST_PARTS]:
        for place, part in enumerate(node.folded):
            name = f"{node.label}, {part.name}" if part.name else node.label
            small = part if len(part.nodes) <= _MOST_NODES else first_nodes(join_chains(part), _MOST_NODES)
            svg = drawing(small, label=f"inside of {name}", prefix=f"{prefix}{number}-{place}-")
            inside = f"{name}: {plural(sum(inner.ops for inner in part.nodes), 'op')}"
            parts.append(f"<details><summary>{escape(inside)}</summary>{_scroll(svg, name)}</details>")
    if len(shown) > _MOST_PARTS:
        parts.append(f"<p>… {plural(len(shown) - _MOST_PARTS, 'more folded box')}</p>")
    return parts


def _table(nodes: Sequence[Node], prefix: str) -> str:
    """The nodes with their sources; each row links to its box, and each box to its row."""
    rows = "".join(_row(number, node, prefix) for number, node in enumerate(nodes[:_MOST_ROWS]))
    heads = "".join(
        f'<th scope="col">{name}</th>' for name in ("node", "op", "source", "result", "not in an engine")
    )
    more = f"<p>… {plural(len(nodes) - _MOST_ROWS, 'more box')}</p>" if len(nodes) > _MOST_ROWS else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"
    return f"<details><summary>Nodes and their sources</summary>{_scroll(table, 'nodes')}</details>"


def _row(number: int, node: Node, prefix: str) -> str:
    cells = (node.op or node.kind, node.source, node.detail, node.warning)
    listed = "".join(cell_html(cell[:200]) for cell in cells)
    link = f'<a href="#{prefix}{number}">{escape(node.label[:60])}</a>'
    return f'<tr id="{prefix}r{number}"><th scope="row">{link}</th>{listed}</tr>'
