"""The explorer's widgets follow its state, and what the user does reaches it."""

from __future__ import annotations

from pathlib import Path

import ipywidgets
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import OptionError
from mlirtrt_nb.passes.as_python import as_python
from mlirtrt_nb.passes.base import available
from mlirtrt_nb.widgets.explorer import Explorer, explore
from mlirtrt_nb.widgets.explorer_html import reproducer
from mlirtrt_nb.widgets.explorer_view import ExplorerView
from mlirtrt_nb.widgets.option_form import option_form

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.identity %x : tensor<4xf32> to tensor<4xf32>
  %1 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %0 : tensor<4xf32>
  %2 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""
PASSES = "symbol-dce,tensorrt-canonicalize,plan-clustering,plan-outline-clusters"


@pytest.fixture
def opened() -> tuple[Explorer, ExplorerView]:
    """An explorer whose widgets were made."""
    made = explore(mt.from_mlir(TEXT), PASSES)
    assert isinstance(made.widget, ipywidgets.VBox)
    return made, made._view


def check_of(view: ExplorerView, name: str) -> ipywidgets.Checkbox:
    """The check box of a pass."""
    return view._checks[view.state.find(name)]


def labels(view: ExplorerView) -> list[str]:
    """The names in the list, with their signs."""
    return [" ".join(text.replace("\u00a0", " ").split()[:2]) for text, _ in view.steps.options]


def test_only_core_widgets(opened: tuple[Explorer, ExplorerView]) -> None:
    """Every widget is of ipywidgets itself, so that no front end has to load anything."""
    seen: list[ipywidgets.Widget] = []

    def walk(widget: ipywidgets.Widget) -> None:
        seen.append(widget)
        for child in getattr(widget, "children", ()):
            walk(child)

    walk(opened[0].widget)
    assert len(seen) > 20
    assert {widget._model_module for widget in seen} <= {"@jupyter-widgets/base", "@jupyter-widgets/controls"}


def test_the_list_shows_what_became_of_each_pass(opened: tuple[Explorer, ExplorerView]) -> None:
    """Signs, names and a check box each; the first that changed something is selected and shown."""
    _, view = opened
    assert labels(view) == [
        "· symbol-dce",
        "● tensorrt-canonicalize",
        "● plan-clustering",
        "● plan-outline-clusters",
    ]
    assert view.steps.value == view.state.find("tensorrt-canonicalize")
    assert "tensorrt-canonicalize" in view.heading.value and "changed something" in view.heading.value
    assert "<span class=m>- " in view.pane.value


def test_a_check_box_switches_its_pass(opened: tuple[Explorer, ExplorerView]) -> None:
    """The run, the list and the result follow; undo brings all of it back."""
    explorer, view = opened
    before = explorer.program.text()
    check_of(view, "tensorrt-canonicalize").value = False
    assert labels(view)[1] == "○ tensorrt-canonicalize"
    assert explorer.program.text() != before
    assert not view.undo.disabled
    view.undo.click()
    assert check_of(view, "tensorrt-canonicalize").value is True
    assert explorer.program.text() == before


def test_twenty_quick_toggles_end_in_the_right_state(opened: tuple[Explorer, ExplorerView]) -> None:
    """An even number of toggles of one, and an odd one of another."""
    explorer, view = opened
    for number in range(20):
        check_of(view, "tensorrt-canonicalize").value = number % 2 == 1
    for number in range(5):
        check_of(view, "symbol-dce").value = number % 2 == 1
    assert [entry.enabled for entry in explorer.pipeline] == [False, True, True, True]
    fresh = explorer.pipeline.run(explorer.state.program)
    assert explorer.program.text() == fresh.program.text()


def test_letters_typed_into_the_field(opened: tuple[Explorer, ExplorerView]) -> None:
    """Each new letter is a command; letters that arrive together count one by one, deleted ones not at all."""
    explorer, view = opened
    view.keys.value = "j"
    view.keys.value = "jjk"
    assert explorer.state.row.name == "plan-clustering"
    view.keys.value = "jj"
    assert explorer.state.row.name == "plan-clustering"
    view.keys.value = "jjx"
    assert explorer.state.row.status == "off"
    view.keys.value = "jjxuJ"
    assert [entry.name for entry in explorer.pipeline][-1] == "plan-clustering"
    view.keys.value = "jjxuJuv"
    assert view.modes.value == "side by side"
    assert "<table>" in view.pane.value


def test_every_view(opened: tuple[Explorer, ExplorerView]) -> None:
    """Inline and side by side, the IR before and after, and beside the pipeline at the start."""
    explorer, view = opened
    view.modes.value = "before"
    assert "tensorrt.identity" in view.pane.value
    view.modes.value = "after"
    assert "tensorrt.identity" not in view.pane.value
    view.modes.value = "against"
    assert "no difference" in view.pane.value
    check_of(view, "symbol-dce").value = False
    check_of(view, "tensorrt-canonicalize").value = False
    explorer.select("plan-clustering")
    assert "compared pipeline, after plan-clustering" in view.pane.value
    view.compare.click()
    assert "no difference" in view.pane.value


def test_one_function_and_one_value(opened: tuple[Explorer, ExplorerView]) -> None:
    """The list of functions follows the step; the chosen one is all that is shown, with a value marked."""
    explorer, view = opened
    explorer.select("plan-outline-clusters")
    paths = [value for _, value in view.function.options]
    assert paths[0] == "" and "@main" in paths and len(paths) == 3
    view.modes.value = "after"
    view.function.value = paths[-1]
    assert "@main(" not in view.pane.value
    view.value.value = "%0"
    assert "defined here" in view.pane.value and "used here" in view.pane.value


def test_filter_and_hiding(opened: tuple[Explorer, ExplorerView]) -> None:
    """The list and its check boxes shrink together."""
    _, view = opened
    view.hide.value = True
    assert len(view.checks.children) == len(view.steps.options) == 3
    view.filter.value = "outline"
    assert labels(view) == ["● tensorrt-canonicalize", "● plan-outline-clusters"]
    view.filter.value = ""
    view.hide.value = False
    assert len(view.steps.options) == 4


def test_moving_adding_removing(opened: tuple[Explorer, ExplorerView]) -> None:
    """Buttons act on the selected pass; a pass is added after it and selected."""
    explorer, view = opened
    view.up.click()
    assert explorer.pipeline.entries[0].name == "tensorrt-canonicalize"
    view.passes.value = "raise-activations"
    view.add.click()
    assert [entry.name for entry in explorer.pipeline][1] == "raise-activations"
    assert explorer.state.row.name == "raise-activations"
    view.remove.click()
    assert str(explorer.pipeline) == "tensorrt-canonicalize,symbol-dce,plan-clustering,plan-outline-clusters"


def test_condensed_to_passes_that_would_change_this_ir(opened: tuple[Explorer, ExplorerView]) -> None:
    """After the canonicalizer neither it nor dead code is offered, but clustering is."""
    _, view = opened
    everything = [value for _, value in view.passes.options]
    assert "tensorrt-canonicalize" in everything
    view.condense.value = True
    names = [value for _, value in view.passes.options]
    assert "plan-clustering" in names and "tensorrt-canonicalize" not in names
    assert any("+2" in text for text, value in view.passes.options if value == "plan-clustering")


def test_options_have_a_form(opened: tuple[Explorer, ExplorerView]) -> None:
    """A field for each, with help and default; a change runs, a mistake is shown and the field reset."""
    explorer, view = opened
    explorer.select("plan-clustering")
    fields = {row.children[0].description: row.children for row in view.form.children}
    size, label = fields["min-cluster-size"]
    assert "(default: 1)" in label.value
    size.value = 7
    assert "plan-clustering{min-cluster-size=7}" in str(explorer.pipeline)
    merge = next(row.children[0] for row in view.form.children if row.children[0].description == "merge")
    merge.value = "sideways"
    assert "⚠" in view.heading.value
    assert "sideways" not in str(explorer.pipeline)


@pytest.mark.parametrize("name", sorted(available()))
def test_every_pass_has_a_form(name: str) -> None:
    """Each option of each pass of the package gets a widget that shows its default."""
    pass_ = mt.Pipeline.parse(name).entries[0].pass_
    rows = option_form(pass_, lambda option, value: None)
    assert rows
    assert all(isinstance(row, ipywidgets.Widget) for row in rows)


def test_a_failing_pass_is_shown_in_place(opened: tuple[Explorer, ExplorerView], tmp_path: Path) -> None:
    """Its row has a cross, the heading its message with the user's line, and the last good IR stays."""

    @mt.module_pass("broken")
    def broken(program):
        raise RuntimeError("<no> such luck")

    explorer, view = opened
    explorer.insert(broken, after="tensorrt-canonicalize")
    assert labels(view)[2] == "✗ broken"
    assert "&lt;no&gt; such luck" in view.heading.value and "^~~~" in view.heading.value
    assert view.modes.value == "inline" and "tensorrt.activation" in view.pane.value
    view.modes.value = "after"
    assert "tensorrt.activation" in view.pane.value
    assert "✗" in repr(explorer)
    explorer.to_html(tmp_path / "failed.html")
    assert "&lt;no&gt; such luck" in (tmp_path / "failed.html").read_text(encoding="utf-8")
    view.undo.click()
    assert explorer.state.error is None


def test_without_widgets_there_is_a_table(opened: tuple[Explorer, ExplorerView]) -> None:
    """What is saved with a notebook has the steps as text and static HTML beside the widget."""
    explorer, _ = opened
    bundle = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "tensorrt-canonicalize" in bundle["text/plain"]
    assert "<table" in bundle["text/html"] and "<script" not in bundle["text/html"]
    assert len(bundle["text/html"]) < 30_000


def test_from_code(opened: tuple[Explorer, ExplorerView]) -> None:
    """Methods chain, the widgets follow, and a wrong name suggests a near one."""
    explorer, view = opened
    explorer.toggle("symbol-dce").set("plan-clustering", min_cluster_size=3).move("symbol-dce", 1)
    expected = "tensorrt-canonicalize,-symbol-dce,plan-clustering{min-cluster-size=3},plan-outline-clusters"
    assert str(explorer.pipeline) == expected
    assert labels(view)[1] == "○ symbol-dce"
    explorer.undo().undo().undo()
    assert str(explorer.pipeline) == PASSES
    assert str(explorer.redo().pipeline).startswith("-symbol-dce")
    with pytest.raises(OptionError, match="did you mean plan-clustering"):
        explorer.toggle("plan-clusterin")


def test_the_passes_of_a_precision() -> None:
    """The default pipeline of fp16 has its casts, and what they changed; options of every kind are shown."""
    made = explore(mt.from_mlir(TEXT), precision="fp16")
    assert isinstance(made.widget, ipywidgets.VBox)
    casts = next(row for row in made.state.rows() if row.name == "precision-cast")
    assert casts.status == "changed"
    for row in made.state.rows():
        made.select(row.name)
        assert made._view.form.children
    assert "f16" in made.program.text()


def test_the_page_compares_with_the_start(opened: tuple[Explorer, ExplorerView], tmp_path: Path) -> None:
    """An edited pipeline is written beside the one at the start."""
    explorer, _ = opened
    explorer.toggle("tensorrt-canonicalize")
    explorer.to_html(tmp_path / "run.html")
    assert "Beside the pipeline compared with" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_show_python_makes_the_same_pipeline() -> None:
    """What is shown gives the pipeline when run: edits of the default one, or the whole; own passes by name."""

    @mt.rewrite("tensorrt.identity")
    def drop(op):
        return op.operand("input")

    default = mt.Pipeline.default().disable("cse").set("plan-clustering", min_cluster_size=3)
    other = mt.Pipeline.parse("cse,-canonicalize{max-iterations=3}").insert(drop, after="cse")
    for pipeline in (default, other, mt.Pipeline()):
        code = as_python(pipeline, "a.onnx").replace("mt.load('a.onnx')", "given").replace("program.run", "")
        names = {"given": mt.from_mlir(TEXT), "drop": drop}
        exec(code, names)
        assert str(names["pipeline"]) == str(pipeline)
    assert "pipeline.disable('cse')" in as_python(default, "a.onnx")


def test_the_reproducer_names_the_file(tmp_path: Path) -> None:
    """A program from a file is run from it; one from a cell is saved first."""
    path = tmp_path / "a b.mlir"
    path.write_text(TEXT, encoding="utf-8")
    assert f"opt '{path}' --passes cse" in reproducer(explore(str(path), "cse").state)
    assert "open('program.mlir', 'w')" in reproducer(explore(mt.from_mlir(TEXT), "cse").state)

    @mt.module_pass("looks-on")
    def looks_on(program: mt.Program) -> None:
        pass

    own = mt.Pipeline.parse("cse").insert(looks_on)
    said = "# a shell does not know the user's own pass looks-on: run the Python"
    assert reproducer(explore(str(path), own).state) == said


@pytest.mark.parametrize("by", ["up", None, 1.5, True])
def test_a_move_is_a_number_of_places(opened: tuple[Explorer, ExplorerView], by: object) -> None:
    """Words are refused with what to give instead, and the pipeline stays."""
    explorer, _ = opened
    before = str(explorer.pipeline)
    name = explorer.pipeline.entries[0].name
    with pytest.raises(OptionError, match="moved by a number of places") as caught:
        explorer.move(name, by)  # type: ignore[arg-type]
    assert caught.value.hint == "give the number of places: explorer.move(name, -1) moves it up by one"
    assert str(explorer.pipeline) == before
