"""A `Graph` as SVG: static, without scripts, in the colours of the theme, labelled for screen readers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ..palette import DARK, LIGHT
from .layout import Layout, lay_out
from .model import Graph, Node

__all__ = ["STYLE", "drawing", "standalone"]

# Widths of characters of a monospaced font, as shares of its size.
_CHARACTER = 0.602
_FONT, _SMALL = 12.0, 10.0
_HEIGHT, _LOW, _HEADER, _PAD = 40.0, 24.0, 24.0, 12.0
_LONGEST = 38  # characters of a line
_ROLES = ("page", "code", "head", "line", "text", "muted", "accent", "warn", "op", "symbol", "good")

# Shape and line tell kinds apart as well as colour: ends are round, several ops in one box are a pile, what
# the host runs has a dashed border.
STYLE = """
.mtg text{font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace)}
.mtg .l{font-size:12px;fill:var(--mt-text)} .mtg .d{font-size:10px;fill:var(--mt-muted)}
.mtg .b{fill:var(--mt-code);stroke:var(--mt-line)} .mtg .p .b{fill:var(--mt-page);stroke:var(--mt-accent)}
.mtg .w .b{stroke:var(--mt-warn);stroke-width:1.6;stroke-dasharray:5 3} .mtg .w .d{fill:var(--mt-warn)}
.mtg .g .b{fill:var(--mt-page)} .mtg .h{fill:var(--mt-head);stroke:var(--mt-line)}
.mtg .m .l{fill:var(--mt-muted);font-size:10px}
.mtg .m .b{fill:none;stroke:none} .mtg .e{fill:none;stroke:var(--mt-muted);stroke-width:1.2}
.mtg .a{fill:var(--mt-muted)} .mtg .c .b{stroke:var(--mt-accent);stroke-width:2.5}
.mtg a:focus .b,.mtg a:hover .b{stroke:var(--mt-accent);stroke-width:2.5}
""".strip()


@dataclass
class _Drawn:
    """A graph that has been laid out: its nodes' sizes are settled, those inside of others first."""

    graph: Graph
    layout: Layout
    inner: list[list[_Drawn]]


def drawing(graph: Graph, *, label: str, prefix: str, marked: Sequence[Node] = (), linked: bool = False) -> str:
    """The `<svg>` element. Its colours are CSS variables of what is around it (see `STYLE`).

    Args:
        label: said by screen readers.
        prefix: of the ids of nodes, so that several drawings can be in one page; node n has `{prefix}n`.
        marked: the nodes that the view is around, with a thick border.
        linked: whether node n links to `#{prefix}rn`, its row in a table.
    """
    drawn = _lay_out(graph)
    width, height = drawn.layout.width + 2 * _PAD, drawn.layout.height + 2 * _PAD
    numbers = {id(node): number for number, node in enumerate(graph.walk())}
    parts = _Painter(prefix, numbers, marked, linked).graph(drawn, _PAD, _PAD)
    name = escape(label, quote=True)
    role = "group" if linked else "img"  # what is inside an image cannot be reached
    return (
        f'<svg class="mtg" xmlns="http://www.w3.org/2000/svg" role="{role}" aria-label="{name}"'
        f' width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<title>{escape(label)}</title>{''.join(parts)}</svg>"
    )


def standalone(svg: str) -> str:
    """A drawing as a file of its own, with its colours, light or dark as the reader has it."""
    light, dark = ("".join(f"--mt-{role}:{palette[role]};" for role in _ROLES) for palette in (LIGHT, DARK))
    style = (
        f".mtg{{{light}background:var(--mt-page)}}@media(prefers-color-scheme:dark){{.mtg{{{dark}}}}}{STYLE}"
    )
    return svg.replace("</title>", f"</title><style>{style}</style>", 1)


def _lay_out(graph: Graph) -> _Drawn:
    inner = [[_lay_out(part) for part in node.inner] for node in graph.nodes]
    sizes = [_size(node, parts) for node, parts in zip(graph.nodes, inner, strict=True)]
    edges = [(edge.start, edge.end) for edge in graph.edges]
    return _Drawn(graph, lay_out(sizes, list(dict.fromkeys(edges))), inner)


def _size(node: Node, parts: Sequence[_Drawn]) -> tuple[float, float]:
    lines = [(_short(node.label), _FONT), (_short(_second(node)), _SMALL)]
    text = max(len(line) * size * _CHARACTER for line, size in lines) + 20
    if not parts:
        return text, _HEIGHT if _second(node) else _LOW
    width = sum(part.layout.width + _PAD for part in parts) + _PAD
    height = max(part.layout.height + (_HEADER if part.graph.name else 0) for part in parts)
    return max(text, width), height + _HEADER + 2 * _PAD


def _second(node: Node) -> str:
    """The line below the label: the result's type, or why the op is not in an engine."""
    return f"host: {node.warning}" if node.warning and not node.inner else node.detail


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class _Painter:
    """Draws laid out graphs at a place. Coordinates have one digit after the point."""

    def __init__(self, prefix: str, numbers: dict[int, int], marked: Sequence[Node], linked: bool) -> None:
        self._prefix = prefix
        self._numbers = numbers
        self._marked = {id(node) for node in marked}
        self._linked = linked

    def graph(self, drawn: _Drawn, x: float, y: float) -> list[str]:
        parts = [_edge(route, x, y) for route in drawn.layout.routes]
        for node, box, inner in zip(drawn.graph.nodes, drawn.layout.boxes, drawn.inner, strict=True):
            parts += self._node(node, x + box.x, y + box.y, box.width, box.height, inner)
        return parts

    def _node(
        self, node: Node, x: float, y: float, width: float, height: float, inner: Sequence[_Drawn]
    ) -> list[str]:
        classes = [_CLASSES.get(node.kind, "")] if node.kind in _CLASSES else []
        classes += ["w"] * bool(node.warning) + ["g"] * bool(inner) + ["f"] * (node.ops > 1 and not inner)
        classes += ["c"] * (id(node) in self._marked)
        radius = height / 2 if node.kind in ("input", "output") else 4
        number = self._numbers[id(node)]
        named = " ".join(["n", *filter(None, classes)])
        opened, closed = f'<g id="{self._prefix}{number}" class="{named}">', "</g>"
        parts = [
            opened,
            f"<title>{escape(node.title or node.label)}</title>" if node.title or node.label else "",
            # Several in one box look like a pile of sheets.
            _rect("b", x + 3, y + 3, width, height, radius) if node.ops > 1 and not inner else "",
            _rect("b", x, y, width, height, radius),
        ]
        if not inner:
            parts += _lines(node, x + width / 2, y, height)
            if self._linked:
                parts = [f'<a href="#{self._prefix}r{number}">', *parts, "</g></a>"]
                return parts
            return [*parts, closed]
        parts.append(_rect("h", x, y, width, _HEADER, 4))
        parts.append(_text("l", x + 10, y + 16, _short(node.label), anchor="start"))
        left = x + _PAD
        for part in inner:
            top = y + _HEADER + _PAD
            if part.graph.name:
                parts.append(_text("d", left, top + 6, _short(part.graph.name), anchor="start"))
                top += _HEADER
            parts += self.graph(part, left, top)
            left += part.layout.width + _PAD
        return [*parts, closed]


_CLASSES = {"input": "p", "output": "p", "more": "m"}


def _rect(name: str, x: float, y: float, width: float, height: float, radius: float) -> str:
    return (
        f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f' rx="{radius:.0f}"/>'
    )


def _lines(node: Node, x: float, y: float, height: float) -> list[str]:
    second = _second(node)
    if not second:
        return [_text("l", x, y + height / 2 + 4, _short(node.label))]
    return [_text("l", x, y + 16, _short(node.label)), _text("d", x, y + 31, _short(second))]


def _text(name: str, x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text class="{name}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _edge(route: Sequence[tuple[float, float]], x: float, y: float) -> str:
    """A smooth line through the points, and the head of an arrow at its end."""
    points = [(x + px, y + py) for px, py in route]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if abs(x0 - x1) < 0.5:
            path += f"L{x1:.1f} {y1:.1f}"
        else:
            middle = (y0 + y1) / 2
            path += f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
    ex, ey = points[-1]
    head = f"M{ex - 3.5:.1f} {ey - 7:.1f}L{ex:.1f} {ey:.1f}L{ex + 3.5:.1f} {ey - 7:.1f}Z"
    return f'<path class="e" d="{path}"/><path class="a" d="{head}"/>'
