"""The partition view says how a model is cut, agrees with the passes, and follows its settings at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from onnx import parser

import mlirtrt_nb as mt
from mlirtrt_nb.display.partition import partition_html, partition_text

# An engine, an op without a layer, a single op, an op without a layer, an engine of three.
SANDWICH = """<ir_version: 8, opset_import: ["" : 17]> main (float[4,4] x) => (float[4,4] y)
{ a = Relu(x)  b = Tanh(a)  c = Det(b)  d = Sqrt(c)  e = Det(b)  f = Add(d, e)
  g = Mul(b, f)  h = Sigmoid(g)  y = Neg(h) }"""
KINDS = """<ir_version: 8, opset_import: ["" : 17]> main (float[4,4] x) => (float[4,4] y)
{ a = Relu(x)  b = Softmax(a)  c = Sqrt(b)  d = Add(c, x)  y = MatMul(d, x) }"""
# The op between the two engines is the only reader of the first.
CHAIN = """<ir_version: 8, opset_import: ["" : 17]> main (float[2,4,4] x) => (float[2] y)
{ a = Relu(x)  b = Tanh(a)  c = Det(b)  y = Sqrt(c) }"""


def load(text: str) -> mt.Program:
    return mt.from_onnx(parser.parse_model(text))


def test_the_parts_of_a_program_and_of_its_plan_are_those_of_the_passes() -> None:
    """The view cuts as plan-clustering does: same parts, same number of ops, whether built or not."""
    program = load(SANDWICH)
    plan = mt.compile(program, ["cpu", "sm89"], cache=False)
    for view in (mt.partition(program), mt.partition(plan)):
        assert view.engines == len(plan.engines.query("target == 'sm89'"))
        steps = plan.timeline().query("device == 'cpu'")
        callees = steps["callee"].dropna()
        assert [part.backend == "tensorrt" for part in view.parts] == ["::" in name for name in callees]
    assert list(mt.partition(program).df["ops"]) == list(mt.partition(plan).df["ops"])


def test_a_step_has_the_sources_of_the_whole_engine() -> None:
    """The timeline names every node that an engine was made from, not just its first."""
    plan = mt.compile(load(CHAIN), cache=False)
    first = plan.timeline().iloc[0]
    assert first["callee"] == "trt_engines::main_0"
    assert first["sources"] == ["a", "b"]


@pytest.mark.parametrize(
    ("rows", "why"), [("4", "depend on data: how much n "), ("b", "need fixed shapes: give")]
)
def test_why_sizes_are_not_known(rows: str, why: str) -> None:
    """A size that hangs on values names the node; shapes are asked for only where an input lacks them."""
    text = CHAIN.replace("float[2,4,4] x", f"float[{rows},4] x").replace("float[2] y", "float[k,m] y")
    body = "{ a = Relu(x)  n = NonZero(a)  f = Cast<to = 1>(n)  y = Sqrt(f) }"
    view = mt.partition(load(text[: text.index("{ a")] + body))
    assert view.boundary_bytes is None
    assert f"Sizes {why}" in " ".join(partition_text(view).split())


def test_bytes_between_parts() -> None:
    """A value that passes to another part counts once, and as copied where it leaves an engine for the host."""
    view = mt.partition(load(CHAIN))
    assert [(part.name, len(part.ops)) for part in view.parts] == [
        ("engine_0", 2),
        ("host_0", 1),
        ("engine_1", 1),
    ]
    assert view.df["output_bytes"].tolist() == [2 * 4 * 4 * 4, 2 * 4, 0]
    assert view.df["input_bytes"].tolist() == [0, 2 * 4 * 4 * 4, 2 * 4]
    assert view.boundary_bytes == view.copied_bytes == 136
    assert view.df["why"].tolist() == ["", "no TensorRT layer for Det", ""]
    assert (
        view.with_settings(min_cluster_size=2).df["why"].iloc[2]
        == "its cluster is smaller than min-cluster-size"
    )
    assert view.edges.values.tolist() == [["engine_0", "host_0", 1, 128], ["host_0", "engine_1", 1, 8]]


def test_a_least_size_sends_small_engines_to_the_host() -> None:
    """With min_cluster_size=2 the last op joins no engine; a Plan compiled by that pass is cut the same."""
    view = mt.partition(load(CHAIN))
    smaller = view.with_settings(min_cluster_size=2)
    assert (view.engines, view.engine_ops) == (2, 3)
    assert (smaller.engines, smaller.engine_ops, smaller.min_cluster_size) == (1, 2, 2)
    assert smaller.pass_text == "plan-clustering{min-cluster-size=2}"
    pipeline = mt.Pipeline.default("sm89").set("plan-clustering", min_cluster_size=2)
    plan = mt.compile(load(CHAIN), ["cpu", "sm89"], pipeline=pipeline, cache=False)
    assert mt.partition(plan, min_cluster_size=2).engines == len(plan.engines.query("target == 'sm89'")) == 1
    # What went to the host only for its size is still TensorRT's to take.
    assert mt.partition(plan).engines == 2


def test_what_if_lists_different_outcomes_only() -> None:
    """Each row is another outcome, and the settings of a row give the numbers beside them."""
    sides = """main (float[4,4] x, float[4,4] z) => (float[] y)
    { a = Relu(x)  b = Det(a)  c = Tanh(z)  d = Det(c)  y = Add(b, d) }"""
    view = mt.partition(load(f'<ir_version: 8, opset_import: ["" : 17]> {sides}'))
    table = view.what_if
    assert not table.drop(columns=["min_cluster_size", "merge"]).duplicated().any()
    assert table["engines"].max() == 3 and table["engines"].min() == 0
    # Apart, the two sides of the Add are an engine each; joined, they are one.
    assert table.set_index(["min_cluster_size", "merge"])["engines"][1, "all"] == 2
    for row in table.itertuples():
        other = view.with_settings(min_cluster_size=row.min_cluster_size, merge=row.merge)
        assert (other.engines, other.boundary_bytes) == (row.engines, row.boundary_bytes)


def test_the_kinds_that_are_not_named_are_counted() -> None:
    """One more than are named is one other kind, and not kinds."""
    assert mt.partition(load(KINDS)).df["kinds"][0].endswith(", 1 other kind")


def test_unknown_sizes_are_not_made_up() -> None:
    """With a dynamic dimension the bytes are missing, and the card says how to get them."""
    text = CHAIN.replace("float[2,4,4]", "float[n,4,4]").replace("float[2]", "float[n]")
    view = mt.partition(load(text))
    assert view.boundary_bytes is None and view.df["output_bytes"].isna().tolist() == [True, True, False]
    assert "give shapes=" in partition_text(view)
    assert mt.partition(load(text), shapes={"x": (2, 4, 4)}).boundary_bytes == 136


BRANCHES = """<ir_version: 8, opset_import: ["" : 17]> main (float[4,4] x, bool c) => (float[4,4] y)
{ a = Relu(x)
  y = If (c) <then_branch = t () => (float[4,4] p)
                { h = MatMul(a, a)  d = Det(h)  g = Mul(h, d)  p = MatMul(g, h) },
              else_branch = e () => (float[4,4] q) { q = Neg(a) }> }"""


def test_the_parts_of_branches_follow_the_branch() -> None:
    """A branch that no engine holds whole has parts of its own, before a build as after it; none of them
    reaches out of the branch."""
    program = load(BRANCHES)
    plan = mt.compile(program, ["cpu", "sm89"], cache=False, isolate=False)
    view = mt.partition(program)
    names = [part.name for part in view.parts]
    assert names[0] == "engine_0" and "control_0" in names
    assert view.engines == mt.partition(plan).engines == len(plan.engines.query("target == 'sm89'"))
    inside = names[names.index("control_0") + 1 :]
    assert {"host_0", "engine_1", "engine_2"} <= set(inside)
    assert view.df.set_index("part").loc["control_0", ["kinds", "why"]].tolist() == ["1 if", ""]


def test_a_closed_branch_is_one_op() -> None:
    """For the CPU alone nothing is opened; a value that only a branch reads still connects the two."""
    view = mt.partition(load(BRANCHES), target="cpu", pipeline="-onnx-to-tensorrt,plan-clustering")
    assert [part.backend for part in view.parts] == ["onnxruntime"] and view.ops == 2


def test_wrong_settings_are_refused() -> None:
    """The view takes what the pass takes, with the pass's own words."""
    view = mt.partition(load(CHAIN))
    with pytest.raises(mt.OptionError, match="merge=some"):
        view.with_settings(merge="some")
    with pytest.raises(mt.OptionError, match="min_cluster_size"):
        view.with_settings(min_cluster_size=0)


def test_displays(golden: Callable[[str, str], None]) -> None:
    """As text and as HTML: the parts, the passes between them, and the table of other settings."""
    view = mt.partition(load(CHAIN))
    view.name = "chain"
    golden("display/partition.txt", partition_text(view))
    html = partition_html(view)
    assert "engine_1" in html and "What other settings would do" in html and len(html) < 20_000
    assert repr(view) == "<Partition of 'chain': 2 engines, 3 of 4 ops in them>"


def test_a_thousand_ops_are_cut_again() -> None:
    """A graph larger than those of ResNet-50 and PP-OCR, with an op for the host in every ninth place: the
    view of another setting is that of a partition made with it."""
    lines = ["v0 = Relu(x)"]
    for n in range(1, 1000):
        other = f"d{n} = Det(v{n - 1})" if n % 9 == 0 else f"d{n} = Abs(v{n - 1})"
        lines.append(f"{other} v{n} = Add(v{n - 1}, d{n})")
    body = " ".join([*lines, "y = Relu(v999)"])
    text = f'<ir_version: 8, opset_import: ["" : 17]> main (float[4,4] x) => (float[4,4] y) {{ {body} }}'
    program = load(text)
    view = mt.partition(program)
    assert view.engines > 100
    again, anew = view.with_settings(min_cluster_size=20), mt.partition(program, min_cluster_size=20)
    assert again.engines < view.engines
    assert (again.engines, again.boundary_bytes) == (anew.engines, anew.boundary_bytes)


def test_a_partition_and_its_plan_say_the_same() -> None:
    """What runs the parts that TensorRT does not take, and why, stands in plan.fallbacks in the same words."""
    mixed = mt.from_mlir("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = math.exp %x : tensor<4xf32>
      %1 = tensorrt.element_wise <kSUM>(%0, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }""")
    for program in (mixed, load(CHAIN)):
        plan = mt.compile(program, ["cpu", "sm89"], isolate=False)
        told = [list(row) for row in plan.fallbacks[["backend", "reason"]].values]
        for view in (mt.partition(program), mt.partition(plan)):
            host = view.df[view.df["backend"] != "tensorrt"]
            assert [list(row) for row in host[["backend", "why"]].values] == told
    assert mt.partition(mixed).df["backend"].tolist() == ["mlir_host", "tensorrt"]
