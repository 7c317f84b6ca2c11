"""A run that takes over an earlier one's first steps gives what a fresh run gives."""

from __future__ import annotations

import pickle

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import PassError
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.firing import Firing

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensorrt.identity %x : tensor<4xf32> to tensor<4xf32>
  %1 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %0 : tensor<4xf32>
  %2 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""
PASSES = "cse,tensorrt-canonicalize,canonicalize,symbol-dce"


def test_the_first_steps_are_taken_over() -> None:
    """Up to the entry that differs nothing runs again, and the rest does."""
    program = mt.from_mlir(TEXT)
    pipeline = mt.Pipeline.parse(PASSES)
    first = pipeline.run(program)
    second = pipeline.disable("canonicalize").run(program, reuse=first)
    assert [(step.name, step.reused) for step in second.steps] == [
        ("cse", True),
        ("tensorrt-canonicalize", True),
        ("symbol-dce", False),
    ]
    assert second.steps[1].after is first.steps[1].after
    assert second.program.text() == pipeline.run(program).program.text()


def test_nothing_is_taken_over_from_another_program() -> None:
    """A program that was changed since, or that has other options, context or weights, runs from the top."""
    program = mt.from_mlir(TEXT)
    pipeline = mt.Pipeline.parse(PASSES)
    first = pipeline.run(program)

    def reused(program: mt.Program, context: PassContext | None = None) -> bool:
        return pipeline.run(program, context, reuse=first).steps[0].reused

    assert reused(program)
    assert not reused(program, PassContext(targets=("sm89",)))
    assert not reused(mt.from_mlir(TEXT.replace("kRELU", "kTANH")))
    next(iter(program.module.body.operations)).operation.attributes["test.stamp"] = _unit(program)
    assert not reused(program)


def _unit(program: mt.Program):
    from torch_mlir import ir

    with program.context:
        return ir.UnitAttr.get()


def test_an_option_makes_the_difference() -> None:
    """The same pass with another option is another step."""
    program = mt.from_mlir(TEXT)
    first = mt.Pipeline.parse("plan-clustering").run(program)
    again = mt.Pipeline.parse("plan-clustering").run(program, reuse=first)
    other = mt.Pipeline.parse("plan-clustering{min-cluster-size=3}").run(program, reuse=first)
    assert again.steps[0].reused and not other.steps[0].reused


def test_a_user_pass_defined_anew_runs_anew() -> None:
    """The same object is taken over though its count has changed; a new one with its name is not."""

    def rule():
        @mt.rewrite("tensorrt.identity")
        def drop(op):
            return op.operand("input")

        return drop

    program = mt.from_mlir(TEXT)
    drop = rule()
    first = mt.Pipeline().insert(drop).run(program)
    assert mt.Pipeline().insert(drop).run(program, reuse=first).steps[0].reused
    assert not mt.Pipeline().insert(rule()).run(program, reuse=first).steps[0].reused


def test_an_error_keeps_the_steps_before_it() -> None:
    """The partial run has every step that went well, and the next run takes them over."""

    @mt.module_pass("broken")
    def broken(program):
        raise RuntimeError("no")

    program = mt.from_mlir(TEXT)
    pipeline = mt.Pipeline.parse("cse,tensorrt-canonicalize").insert(broken)
    with pytest.raises(PassError) as caught:
        pipeline.run(program)
    partial = caught.value.partial_run
    assert [step.name for step in partial.steps] == ["cse", "tensorrt-canonicalize"]
    assert partial.program.text() == caught.value.last_good.text()
    assert all(step.reused for step in pipeline.disable("broken").run(program, reuse=partial).steps)


def test_rewrites_say_where_they_fired() -> None:
    """Each replaced op is listed with its rule and the line it came from."""
    program = mt.from_mlir(TEXT)
    step = mt.Pipeline.parse("tensorrt-canonicalize").run(program).steps[0]
    assert sum(step.fired_counts.values()) == len(step.fired) >= 2
    assert {firing.op for firing in step.fired} == {"tensorrt.identity", "tensorrt.activation"}
    assert all(firing.rule and firing.sources for firing in step.fired)


def test_a_rewrite_of_the_user_is_listed_by_its_name() -> None:
    """The count of a pass with one rule goes by the pass."""

    @mt.rewrite("tensorrt.identity")
    def drop(op):
        return op.operand("input")

    step = mt.Pipeline().insert(drop).run(mt.from_mlir(TEXT, filename="a.mlir")).steps[0]
    assert step.fired_counts == {"drop": 1}
    assert step.fired[0] == Firing("", "tensorrt.identity", step.fired[0].sources)


def test_a_snapshot_stays_as_it_was() -> None:
    """The first step's snapshot is a copy: changing the program later does not change the run."""
    program = mt.from_mlir(TEXT)
    run = mt.Pipeline.parse("tensorrt-canonicalize").run(program)
    next(iter(program.module.body.operations)).operation.attributes["test.stamp"] = _unit(program)
    assert "test.stamp" not in run.steps[0].before.text()


def test_a_run_can_be_pickled() -> None:
    """Steps, deltas and diffs are the same in another process."""
    run = mt.Pipeline.parse(PASSES).run(mt.from_mlir(TEXT))
    copy = pickle.loads(pickle.dumps(run))
    assert [step.op_delta for step in copy.steps] == [step.op_delta for step in run.steps]
    assert copy.diff(1) == run.diff(1) != ""


def test_the_reproducer_is_one_shell_word_each() -> None:
    """Names with blanks and options in braces survive a shell."""
    import shlex

    program = mt.from_mlir(TEXT, filename="my model.mlir")
    run = mt.Pipeline.parse("plan-clustering{min-cluster-size=3}").run(program)
    assert shlex.split(run.reproducer())[3:] == [
        "opt",
        "my model.mlir",
        "--passes",
        "plan-clustering{min-cluster-size=3}",
    ]


def test_passes_of_the_users_are_reproduced_in_python() -> None:
    """A shell does not know them: there is a line to run where they are defined."""

    @mt.module_pass("looks-on-too")
    def looks_on_too(program: mt.Program) -> None:
        pass

    run = mt.Pipeline.parse("cse").insert(looks_on_too).run(mt.from_mlir(TEXT, filename="my model.mlir"))
    assert run.reproducer().splitlines() == [
        "# where the user's own pass looks-on-too is defined:",
        "mt.Pipeline.parse('cse,looks-on-too').run('my model.mlir')",
    ]
    run = mt.Pipeline([looks_on_too]).run(mt.from_mlir(TEXT))
    assert run.reproducer().endswith("mt.Pipeline.parse('looks-on-too').run(program)")
