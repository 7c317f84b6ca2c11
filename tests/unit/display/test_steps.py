"""A run as a table, with and without snapshots, and what its steps are called."""

from __future__ import annotations

import pickle

from IPython.lib.pretty import pretty

import mlirtrt_nb as mt
from mlirtrt_nb.display.steps import delta_table, delta_text, fired_table, total_delta

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.identity %x : tensor<4xf32> to tensor<4xf32>
  %1 = tensorrt.identity %0 : tensor<4xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def run(**settings) -> mt.PipelineRun:
    """A step that changes nothing, and one that does."""
    return mt.Pipeline.parse("symbol-dce,tensorrt-canonicalize").run(mt.from_mlir(TEXT), **settings)


def test_a_run_shows_its_steps() -> None:
    """As text and as HTML: each pass with status, ops, and how often its rules fired."""
    made = run()
    assert repr(made) == "<PipelineRun of 'program': symbol-dce, tensorrt-canonicalize>"
    lines = str(made).splitlines()
    assert lines[0].startswith("Passes on program  (2 steps, 1 of which changed something, in ")
    assert lines[-2].split()[:3] == ["symbol-dce", "·", "same"]
    assert "tensorrt.identity −2" in lines[-1] and lines[-1].split()[-1] == "2"
    assert "tensorrt.identity −2" in made._repr_html_()


def test_without_snapshots_nothing_is_made_up() -> None:
    """Status and ops are missing then, times are not."""
    lines = str(run(keep_snapshots=False)).splitlines()
    assert "no snapshots kept" in lines[0]
    assert lines[-1].split()[1:3] == ["–", "–"]


def test_deltas_in_words() -> None:
    """Largest first, with true minus signs; what is too much is counted."""
    delta = {"a.x": -2, "a.y": 7, "a.z": 1, "a.q": -1}
    assert total_delta(delta) == "+8 −3"
    assert delta_text(delta, 2) == "a.y +7, a.x −2, 2 more kinds"
    assert total_delta({}) == delta_text({}) == ""


def test_tables_of_a_step() -> None:
    """Counts before and after, and each rule with its places."""
    step = run().steps[1]
    assert delta_table(step).rows == (("tensorrt.identity", "2", "0", "−2"),)
    fired = fired_table(step).rows
    assert sum(int(row[2]) for row in fired) == 2
    assert all(row[1] == "tensorrt.identity" and row[3] for row in fired)


def test_a_step_is_a_card() -> None:
    """As a cell's last line: status, ops and what fired, as text and HTML, not the programs around it."""
    same, changed = run().steps
    assert repr(changed) == "<Step 'tensorrt-canonicalize'>"
    assert pretty(changed) == str(changed)
    lines = str(changed).splitlines()
    assert lines[0].startswith("Pass tensorrt-canonicalize  (● changed · ")
    assert ["tensorrt.identity", "2", "0", "−2"] in [line.split() for line in lines]
    assert "Ops that changed in number" in changed._repr_html_() and "What fired" in changed._repr_html_()
    assert "· same · " in str(same) and "\n" not in str(same)
    assert "no snapshots kept" in str(run(keep_snapshots=False).steps[1])


def test_a_pipeline_is_a_table() -> None:
    """Text that can be parsed again, and in HTML a row a pass with its options and what is off."""
    pipeline = mt.Pipeline.parse("-cse,plan-clustering{min-cluster-size=3}")
    text = "-cse,plan-clustering{min-cluster-size=3}"
    assert pretty(pipeline) == str(pipeline) == text
    assert repr(pipeline) == f"<Pipeline {text}>" and repr(pipeline.entries[0]) == "<Entry -cse>"
    html = pipeline._repr_html_()
    assert "2 entries, 1 switched off" in html
    assert "<td>cse</td><td>○ off</td><td>–</td>" in html
    assert "<td>plan-clustering</td><td>● on</td><td>min-cluster-size=3</td>" in html
    assert mt.Pipeline([])._repr_html_().count("<table") == 0


def test_a_diff_says_that_nothing_changed() -> None:
    """In a sentence, as text and as HTML; what did change is a diff in both."""
    made = run()
    nothing, changed = made.diff(0), made.diff(1)
    assert nothing == pretty(nothing) == str(nothing) == "symbol-dce changed nothing"
    assert "= no difference in 7 lines" in nothing._repr_html_()
    assert changed.splitlines()[0] == "--- before tensorrt-canonicalize" and pretty(changed) == changed
    assert "<span class=m>- " in changed._repr_html_()
    assert pickle.loads(pickle.dumps(changed))._repr_html_() == changed._repr_html_()
