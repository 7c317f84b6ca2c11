"""Pictures of functions: what is drawn, what is folded, and how it is written."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from onnx import parser

import mlirtrt_nb as mt
from mlirtrt_nb.display.graph.condense import join_chains
from mlirtrt_nb.display.graph.model import Edge, Graph, Node
from mlirtrt_nb.display.graph.svg import STYLE
from mlirtrt_nb.display.palette import DARK, LIGHT, contrast

HEAD = '<ir_version: 8, opset_import: ["" : 17]> '
RESIDUAL = (
    HEAD
    + """main (float[4,4] x) => (float[4,4] y)
{ a = Relu(x)  b = Tanh(a)  c = Sigmoid(b)  d = Add(c, a)  y = Neg(d) }"""
)
CUT = HEAD + """main (float[2,4,4] x) => (float[2] y) { a = Relu(x)  b = Tanh(a)  c = Det(b)  y = Sqrt(c) }"""
BRANCHES = (
    HEAD
    + """main (float[4] x, bool c) => (float[4] y)
{ a = Relu(x)
  y = If (c) <then_branch = t () => (float[4] p) { p = Tanh(a) },
              else_branch = e () => (float[4] q) { r = Abs(a)  q = Neg(r) }> }"""
)


def load(text: str) -> mt.Program:
    program = mt.from_onnx(parser.parse_model(text))
    program.name = "small"
    return program


def long(count: int) -> mt.Program:
    """Blocks of two ops beside a skip, so that rows of ops do not make one box of all."""
    body = "v0 = Relu(x) " + " ".join(
        f"a{n} = Tanh(v{n}) b{n} = Abs(a{n}) v{n + 1} = Add(v{n}, b{n})" for n in range(count)
    )
    return load(f"{HEAD}main (float[4] x) => (float[4] v{count}) {{ {body} }}")


def test_nodes_edges_and_sources(golden: Callable[[str, str], None]) -> None:
    """Each op is a node with its source, its result's type and what it reads."""
    view = load(RESIDUAL).graph()
    assert view.level == "none"
    assert view.df["op"].tolist() == ["", "onnx.Relu", "onnx.Tanh", "onnx.Sigmoid", "onnx.Add", "onnx.Neg", ""]
    assert view.df["source"].tolist() == ["x", "a", "b", "c", "d", "y", "y"]
    pairs = {(edge.start, edge.end) for edge in view.graph.edges}
    assert pairs == {(0, 1), (1, 2), (2, 3), (3, 4), (1, 4), (4, 5), (5, 6)}
    golden("display/graph.txt", str(view))
    golden("display/graph.dot", view.dot())


def test_regions_are_drawn_inside_and_can_be_folded() -> None:
    """The branches of an If are graphs inside of it, with what they capture as an input; or only counted."""
    program = load(BRANCHES)
    opened = program.graph(collapse="none")
    branch = next(node for node in opened.graph.nodes if node.label == "If")
    assert [part.name for part in branch.inner] == ["then", "else"]
    assert [node.label for node in branch.inner[1].nodes] == ["a", "Abs", "Neg", "result 0"]
    folded = program.graph(collapse="regions")
    closed = next(node for node in folded.graph.nodes if node.label == "If")
    assert (closed.inner, closed.ops, closed.detail) == ([], 3, "3 ops inside")
    html = folded._repr_html_()
    assert html.count("<svg") == 3 and "If, else: 2 ops" in html


def test_engines_and_host_parts_are_boxes() -> None:
    """A Plan shows its engines and host parts, open or folded; what the host runs says why."""
    plan = mt.compile(load(CUT), ["cpu"])
    opened = plan.graph()
    labels = [node.label for node in opened.graph.nodes if node.kind == "op"]
    assert labels == ["trt_engines::main_0", "main_host_0", "trt_engines::main_1"]
    assert [len(node.inner) for node in opened.graph.nodes if node.kind == "op"] == [1, 1, 1]
    folded = plan.graph(collapse="clusters")
    assert [node.warning for node in folded.graph.nodes if node.label == "main_host_0"] == [
        "no TensorRT layer for Det"
    ]
    one = plan.graph("trt_engines::main_0")
    assert one.df.query("kind == 'op'")["op"].tolist() == ["tensorrt.activation"] * 2


def test_a_large_function_folds_its_rows_of_ops() -> None:
    """Over the limit, ops that feed only one another stand in one box; the ops are all counted."""
    program = long(40)
    view = program.graph(limit=100)
    assert view.level == "chains"
    assert sum(node.ops for node in view.graph.walk()) == 121
    assert len(list(view.graph.walk())) <= 100
    assert {node.label for node in view.graph.nodes if node.ops == 2} == {"Tanh → Abs"}


def test_a_graph_beyond_all_limits_is_cut_and_says_so() -> None:
    """What is not drawn stands in a box, so the page has a bound whatever the program."""
    view = long(600).graph(limit=50)
    assert [node.label for node in view.graph.nodes if node.kind == "more"]
    assert len(view._repr_html_()) < 100_000
    assert len(str(view).splitlines()) < 70


def test_the_neighbourhood_of_an_op() -> None:
    """Around a source: all at most so many edges away, and boxes for what lies beyond."""
    program = long(600)
    view = program.graph(around="a300", hops=1)
    ops = view.df.query("kind == 'op'")
    assert set(ops["source"]) == {"v300", "a300", "b300"}
    titles = [node.title for node in view.graph.nodes if node.kind == "more"]
    assert "not drawn: a299, v299" not in titles and any("b299" in title for title in titles)
    assert program.graph(around="a300", hops=2).df.query("kind == 'op'")["source"].nunique() > 3
    every = load(RESIDUAL).graph(around="onnx.Tanh", hops=0)
    assert every.df.query("kind == 'op'")["source"].tolist() == ["b"]


def test_inside_an_engine_too() -> None:
    """An op is found in the function that holds it."""
    plan = mt.compile(load(CUT), ["cpu"])
    assert plan.graph(around="b", hops=1).df.query("kind == 'op'")["source"].tolist() == ["a", "b"]


def test_the_svg_is_a_document_with_names_and_no_scripts() -> None:
    """It parses as XML, has a role, a name and a title per node, and colours for both themes."""
    svg = load(RESIDUAL).graph().svg()
    root = ET.fromstring(svg)
    names = {"svg": "http://www.w3.org/2000/svg"}
    assert root.get("role") == "img" and "inputs x; outputs y" in (root.get("aria-label") or "")
    titles = [title.text or "" for title in root.findall(".//svg:g/svg:title", names)]
    assert len(titles) == 7 and "from b" in titles[2]
    assert "prefers-color-scheme:dark" in svg and "script" not in svg and "http://www.w3.org" in svg
    assert not re.search(r"(?:href|src)=.https?:", svg)


def test_nodes_and_rows_link_to_each_other() -> None:
    """Each box links to the row with its source, and the row back to the box."""
    html = load(RESIDUAL).graph()._repr_html_()
    ids = set(re.findall(r'id="([^"]+)"', html))
    links = re.findall(r'href="#([^"]+)"', html)
    assert len(links) == 14 and set(links) <= ids
    assert load(RESIDUAL).graph()._repr_html_() == html


def test_the_colours_of_texts_have_contrast() -> None:
    """Every colour that a text is drawn in is readable on every colour that boxes are filled with."""
    texts = set(
        re.findall(r"text|muted|warn", " ".join(re.findall(r"\.[ld]\{[^}]*fill:var\(--mt-(\w+)", STYLE)))
    )
    fills = set(re.findall(r"\.[bh]\{fill:var\(--mt-(\w+)", STYLE))
    assert texts == {"text", "muted", "warn"} and fills == {"code", "page", "head"}
    for palette in (LIGHT, DARK):
        for text in texts:
            for fill in fills - ({"head"} if text != "text" else set()):
                assert contrast(palette[text], palette[fill]) >= 4.5


def test_files(tmp_path: Path) -> None:
    """A picture is saved by its name's ending; another ending is refused."""
    view = load(RESIDUAL).graph()
    assert view.save(tmp_path / "a.svg").read_text(encoding="utf-8") == view.svg()
    assert view.save(tmp_path / "a.dot").read_text(encoding="utf-8").startswith('digraph "small, @main"')
    page = view.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert (
        'style="max-height:none"' in page and "640px" not in page
    )  # a page of its own needs no inner scrolling
    assert 'style="max-height:640px"' in view._repr_html_()
    with pytest.raises(mt.OptionError, match="no kind of picture"):
        view.save(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"collapse": "all"}, "collapse='all' is no level of detail"),
        ({"around": "Sigmoit"}, "no op or source"),
        ({"function": "mian"}, "no function 'mian'"),
        ({"hops": -1}, "^hops=-1 is not a number of ops"),
        ({"limit": 0}, "^limit=0 is not a number of ops"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    """Each mistake has one message with what there is instead."""
    with pytest.raises(mt.OptionError, match=message) as caught:
        load(RESIDUAL).graph(**options)  # type: ignore[arg-type]
    assert caught.value.hint


def test_rows_are_joined_only_where_nothing_else_reads_them() -> None:
    """A value with two readers ends a row; an input and an output are never part of one."""
    nodes = [Node("x", kind="input"), *(Node(label) for label in "abcd"), Node("y", kind="output")]
    edges = [Edge(0, 1), Edge(1, 2), Edge(2, 3), Edge(2, 4), Edge(3, 4), Edge(4, 5)]
    joined = join_chains(Graph("g", nodes, edges))
    assert [node.label for node in joined.nodes] == ["x", "a → b", "c", "d", "y"]
    assert {(edge.start, edge.end) for edge in joined.edges} == {(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)}
