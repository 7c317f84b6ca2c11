"""The explorer's state without a widget: edits in any order give what a fresh run gives."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import mlirtrt_nb as mt
from mlirtrt_nb.errors import MlirTrtError, OptionError
from mlirtrt_nb.passes.effects import effects
from mlirtrt_nb.widgets.explorer_keys import press
from mlirtrt_nb.widgets.explorer_state import ExplorerState

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.identity %x : tensor<4xf32> to tensor<4xf32>
  %1 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %0 : tensor<4xf32>
  %2 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %1 : tensor<4xf32>
  %3 = tensorrt.activation {activationType = #tensorrt.activation_type<kTANH>} %2 : tensor<4xf32>
  %4 = tensorrt.activation {activationType = #tensorrt.activation_type<kTANH>} %2 : tensor<4xf32>
  %5 = tensorrt.element_wise <kSUM>(%3, %4 : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}
"""
PASSES = "cse,tensorrt-canonicalize,plan-clustering,plan-outline-clusters"


def state(passes: str = PASSES, **settings) -> ExplorerState:
    """The state for the small program."""
    return ExplorerState(mt.from_mlir(TEXT), mt.Pipeline.parse(passes), **settings)


def statuses(state: ExplorerState) -> list[tuple[str, str]]:
    """Name and status of each row."""
    return [(row.name, row.status) for row in state.rows()]


def test_each_row_says_what_became_of_it() -> None:
    """Changed, unchanged and switched off are told apart; the first that changed is selected."""
    made = state("symbol-dce,cse,-canonicalize")
    assert statuses(made) == [("symbol-dce", "same"), ("cse", "changed"), ("canonicalize", "off")]
    assert made.row.name == "cse"
    assert made.row.step.op_delta == {"tensorrt.activation": -1}


def test_the_selection_follows_its_entry() -> None:
    """Moving entries, switching them off and running again keep the selected one."""
    made = state()
    made.select(made.find("plan-clustering"))
    made.move(made.find("cse"), 1)
    made.toggle(made.find("tensorrt-canonicalize"))
    assert made.row.name == "plan-clustering"
    assert [row.name for row in made.rows()][:2] == ["tensorrt-canonicalize", "cse"]


def test_what_ran_is_not_run_again() -> None:
    """Switching the last pass off and on again runs nothing at all: an earlier run has every step."""
    made = state()
    last = made.items[-1].key
    made.toggle(last)
    assert all(step.reused for step in made.run.steps)
    made.toggle(last)
    assert all(step.reused for step in made.run.steps) and len(made.run.steps) == 4
    made.run_again()
    assert not any(step.reused for step in made.run.steps)


def test_an_error_stands_at_its_step_and_the_last_good_ir_stays() -> None:
    """The failing row is marked, those after it did not run, and the IR shown is that before the failure."""

    @mt.module_pass("broken")
    def broken(program):
        raise RuntimeError("no such luck")

    made = state()
    key = made.insert(broken, after=made.find("cse"))
    assert [status for _, status in statuses(made)] == ["changed", "failed", "not run", "not run", "not run"]
    assert "no such luck" in made.error.what
    before, after = made.around(key)
    assert before is after
    assert after.text() == made.run.steps[0].after.text()
    made.undo()
    assert made.error is None and len(made.run.steps) == 4


def test_edits_in_the_worker_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it: what a worker sent back is taken over like what ran here."""
    monkeypatch.setenv("MLIRTRT_NB_ISOLATE", "1")
    made = state()
    made.toggle(made.items[-1].key)
    assert all(step.reused for step in made.run.steps)
    made.toggle(made.find("cse"))
    assert not any(step.reused for step in made.run.steps)
    assert made.run.program.text() == made.pipeline.run(made.program, isolate=False).program.text()


def test_options_are_set_typed() -> None:
    """Text is read as the option's type; what the option does not take is an error and changes nothing."""
    made = state()
    key = made.find("plan-clustering")
    made.set_option(key, "min_cluster_size", "9")
    assert "plan-clustering{min-cluster-size=9}" in str(made.pipeline)
    before = str(made.pipeline)
    with pytest.raises(OptionError):
        made.set_option(key, "min_cluster_size", "nine")
    with pytest.raises(OptionError):
        made.set_option(key, "colour", "red")
    assert str(made.pipeline) == before


def test_undo_and_redo() -> None:
    """Edits are taken back in turn; a new edit ends what could be redone."""
    made = state()
    texts = [str(made.pipeline)]
    made.toggle(made.find("cse"))
    texts.append(str(made.pipeline))
    made.remove(made.find("tensorrt-canonicalize"))
    texts.append(str(made.pipeline))
    assert made.undo() and str(made.pipeline) == texts[1]
    assert made.undo() and str(made.pipeline) == texts[0]
    assert not made.undo()
    assert made.redo() and str(made.pipeline) == texts[1]
    made.insert("symbol-dce")
    assert not made.redo()


def test_the_list_can_be_narrowed() -> None:
    """By words spelled loosely, by the ops that a step changed, and to steps that changed something."""
    made = state("symbol-dce," + PASSES)
    made.select(made.find("cse"))
    made.view.words = "clust"
    assert [row.name for row in made.shown()] == ["cse", "plan-clustering", "plan-outline-clusters"]
    made.view.words = "activation"
    assert "cse" in [row.name for row in made.shown()]
    assert "symbol-dce" not in [row.name for row in made.shown()]
    made.view.words = ""
    made.view.hide_unchanged = True
    assert [row.name for row in made.shown()] == PASSES.split(",")


def test_what_is_switched_off_stays_in_sight() -> None:
    """Hiding unchanged steps leaves a pass that is off, so that it can be switched on again."""
    made = state("symbol-dce," + PASSES)
    made.view.hide_unchanged = True
    made.toggle(made.find("tensorrt-canonicalize"))
    made.select(made.find("plan-clustering"))
    assert [row.name for row in made.shown()] == PASSES.split(",")


def test_steps_are_walked_in_the_list_that_is_shown() -> None:
    """Up and down stop at the ends and leave hidden rows out."""
    made = state("cse,symbol-dce,plan-clustering")
    made.view.hide_unchanged = True
    made.step_by(1)
    assert made.row.name == "plan-clustering"
    made.step_by(5)
    assert made.row.name == "plan-clustering"
    made.step_by(-9)
    assert made.row.name == "cse"


def test_two_pipelines_are_aligned_by_pass() -> None:
    """Each entry stands beside the same pass of the other pipeline, or beside the last one that both have."""
    other = mt.Pipeline.parse("cse,plan-clustering")
    made = state("cse,tensorrt-canonicalize,plan-clustering", against=other)
    theirs, mine, name = made.across(made.find("plan-clustering"))
    assert name == "plan-clustering"
    assert theirs.text() != mine.text()
    assert made.across(made.find("tensorrt-canonicalize"))[2] == "cse"
    assert made.across(made.find("cse"))[0].text() == made.around(made.find("cse"))[1].text()


def test_one_function_can_be_looked_at() -> None:
    """Functions inside of other modules go by their path; where a step lacks it, its text is empty."""
    made = state()
    made.select(made.find("plan-outline-clusters"))
    paths = made.functions()
    assert paths[0] == "@main" and any(path.startswith("@trt_engines::@") for path in paths)
    made.view.function = paths[-1]
    before, after = made.around(made.selected)
    texts = made.text(before), made.text(after)
    assert "" in texts and any("tensorrt." in text for text in texts)


def test_effects_tell_which_passes_would_change_the_ir() -> None:
    """Those that would come first, with what they would do; the program stays."""
    program = mt.from_mlir(TEXT)
    before = program.text()
    found = effects(program, names=["symbol-dce", "cse", "tensorrt-canonicalize", "plan-outline-clusters"])
    changing = [effect.name for effect in found if effect.changed]
    assert changing == ["cse", "tensorrt-canonicalize"]
    assert found[0].op_delta == {"tensorrt.activation": -1}
    assert program.text() == before


def test_passes_that_crash_or_hang_are_tried_too() -> None:
    """They fail, and the others are tried all the same."""

    @mt.module_pass("crashes-when-tried")
    def _crashes(program: mt.Program) -> None:
        os.abort()

    @mt.module_pass("hangs-when-tried")
    def _hangs(program: mt.Program) -> None:
        while True:
            pass

    names = ["crashes-when-tried", "cse", "hangs-when-tried", "symbol-dce"]
    found = effects(mt.from_mlir(TEXT), names=names, isolate=mt.Isolation(timeout=5))
    assert {effect.name: (effect.changed, effect.error) for effect in found} == {
        "cse": (True, ""),
        "crashes-when-tried": (False, "pass crashes-when-tried crashed: abort (SIGABRT)"),
        "hangs-when-tried": (
            False,
            "trying passes took longer than 5 s and was stopped in pass hangs-when-tried",
        ),
        "symbol-dce": (False, ""),
    }


@mt.module_pass("needs-cse")
def needs_cse(program):
    """Fails unless `cse` ran before it."""
    if program.text().count("kTANH") > 1:
        raise ValueError("two of one kind")


class Edits(RuleBasedStateMachine):
    """Any order of edits; after each, the state is that of a fresh run of the same pipeline."""

    @initialize()
    def start(self) -> None:
        self.program = mt.from_mlir(TEXT)
        pipeline = mt.Pipeline.parse(PASSES).insert(needs_cse, after="cse")
        self.state = ExplorerState(self.program, pipeline)
        self.history = [str(self.state.pipeline)]

    def key(self, number: int) -> int:
        items = self.state.items
        return items[number % len(items)].key

    def edited(self) -> None:
        text = str(self.state.pipeline)
        if text != self.history[-1]:
            self.history.append(text)

    @rule(number=st.integers(0, 9))
    def toggle(self, number: int) -> None:
        self.state.toggle(self.key(number))
        self.edited()

    @rule(number=st.integers(0, 9), by=st.integers(-3, 3))
    def move(self, number: int, by: int) -> None:
        self.state.move(self.key(number), by)
        self.edited()

    @rule(size=st.integers(1, 6))
    def option(self, size: int) -> None:
        for item in self.state.items:
            if item.entry.name == "plan-clustering":
                self.state.set_option(item.key, "min_cluster_size", size)
                break
        self.edited()

    @rule(name=st.sampled_from(["cse", "symbol-dce"]), number=st.integers(0, 9))
    def insert(self, name: str, number: int) -> None:
        if len(self.state.items) < 8:
            self.state.insert(name, after=self.key(number))
            self.edited()

    @precondition(lambda self: len(self.state.items) > 3)
    @rule(number=st.integers(0, 9))
    def remove(self, number: int) -> None:
        self.state.remove(self.key(number))
        self.edited()

    @rule(number=st.integers(0, 9))
    def select(self, number: int) -> None:
        self.state.select(self.key(number))

    @invariant()
    def as_a_fresh_run(self) -> None:
        if not hasattr(self, "state"):
            return
        try:
            fresh = self.state.pipeline.run(self.program)
            assert self.state.error is None
            assert self.state.run.program.text() == fresh.program.text()
        except MlirTrtError as error:
            fresh = error.partial_run
            assert self.state.error is not None and self.state.error.what == error.what
        assert [s.name for s in self.state.run.steps] == [s.name for s in fresh.steps]
        assert [s.op_delta for s in self.state.run.steps] == [s.op_delta for s in fresh.steps]
        assert any(item.key == self.state.selected for item in self.state.items)

    def teardown(self) -> None:
        """Undo restores every pipeline that there was, in turn."""
        if not hasattr(self, "state"):
            return
        seen = [str(self.state.pipeline)]
        while self.state.undo():
            if str(self.state.pipeline) != seen[-1]:
                seen.append(str(self.state.pipeline))
        assert seen[::-1] == self.history


TestEdits = Edits.TestCase
TestEdits.settings = settings(max_examples=12, stateful_step_count=10, deadline=None)


def test_source_nodes_are_shown_on_demand() -> None:
    """With the switch each op has its source in a comment, of the whole module as of one function."""
    state_ = state()
    after = state_.around(state_.selected)[1]
    plain = state_.text(after)
    assert "  // " not in plain
    press(state_, "l")
    assert state_.view.locations
    assert [line.split("  // ")[0] for line in state_.text(after).split("\n")] == plain.split("\n")
    assert "  // <cell>:" in state_.text(after)
    state_.view.function = "@main"
    assert "  // <cell>:" in state_.text(after)
    press(state_, "l")
    assert "  // " not in state_.text(after)
