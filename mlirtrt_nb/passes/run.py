"""`PipelineRun`: what happened when a pipeline ran, step by step."""

from __future__ import annotations

import copy
import operator
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import Cancelled, MlirTrtError, OptionError, PassError
from ..kind_name import kind_name
from ..program import Program
from ..shown import Shown
from ..worker import Isolation, inside
from .base import Pass, PassContext
from .firing import Firing, recorded
from .held_weights import held
from .own_rules import check_rules, place_of_invalid, place_of_pass
from .sending import is_own
from .snapshot import Snapshot
from .step_diff import StepDiff

if TYPE_CHECKING:
    import os

    import pandas as pd

    from ..ir.made import Made
    from .pipeline import Entry, Pipeline

__all__ = ["PipelineRun", "Step", "run_pipeline"]

_NAMED = 3  # weights that are called by name


@dataclass(repr=False)
class Step(Shown):
    """One pass that ran. `before` and `after` are programs whose IR is a snapshot; treat them as read-only.

    `seconds` is wall time of the pass alone, without snapshot and verifier. `ran` is the pass as it was then;
    `fired` says which rewrite replaced what, for the passes that report it; `reused` is true where the step was
    taken over from an earlier run. `output` is what was written to standard output and error meanwhile, by
    native code or the pass itself; it is kept for runs in the worker process.
    """

    name: str
    seconds: float
    before: Snapshot | None
    after: Snapshot | None
    ran: Pass | None = None
    fired: tuple[Firing, ...] = ()
    reused: bool = False
    output: str = ""

    @cached_property
    def changed(self) -> bool:
        """Whether the IR differs, locations aside, or a weight that it names. Needs snapshots."""
        return self.changed_ir or bool(self.changed_weights)

    @cached_property
    def changed_ir(self) -> bool:
        """Whether the IR differs, locations aside. Needs snapshots."""
        return not _kept(self.before).has_same_ir(_kept(self.after))

    @cached_property
    def changed_weights(self) -> tuple[str, ...]:
        """The weights by name that the IR names before and after, with other values. Needs snapshots."""
        return _kept(self.before).other_weights(_kept(self.after))

    @property
    def weights_note(self) -> str:
        """`changed_weights` in words, and whether the IR differs too; "" for none."""
        names = self.changed_weights
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        listed = f"weights differ: {', '.join(names[:_NAMED])}{more}"
        return (listed if self.changed_ir else f"only {listed}") if names else ""

    @cached_property
    def op_delta(self) -> dict[str, int]:
        """Op name as it is shown ("onnx.Relu") -> change in count; ops whose count is the same are left out."""
        before, after = _kept(self.before).op_counts, _kept(self.after).op_counts
        delta = {name: after[name] - before[name] for name in sorted({*before, *after})}
        return {name: change for name, change in delta.items() if change}

    @property
    def fired_counts(self) -> dict[str, int]:
        """Rule -> how often it fired, most frequent first; a pass of one rule goes by its own name."""
        return dict(Counter(firing.rule or self.name for firing in self.fired).most_common())

    def __repr__(self) -> str:
        return f"<Step {self.name!r}>"

    def __str__(self) -> str:
        from ..display.steps import step_text

        return step_text(self)

    def _repr_html_(self) -> str:
        from ..display.steps import step_html

        return step_html(self)


def _kept(program: Snapshot | None) -> Snapshot:
    if program is None:
        raise MlirTrtError("this run kept no snapshots", hint="run the pipeline with keep_snapshots=True")
    return program


@dataclass(repr=False)
class PipelineRun(Shown):
    """The steps of a run, and the program that came out. In a notebook it is a table of the steps."""

    program: Program
    pipeline: str
    steps: list[Step] = field(default_factory=list)
    context: PassContext = field(default_factory=PassContext)

    @property
    def seconds(self) -> float:
        """Wall time of all passes."""
        return sum(step.seconds for step in self.steps)

    def diff(self, index: int | str) -> StepDiff:
        """A unified diff of a step, in custom assembly; one sentence if it changed nothing. Values that were
        only renumbered are no change, though each line is shown as it is.

        Args:
            index: the step's place in `steps`, or the name of a pass that ran once.

        Raises OptionError for a step that there is not.
        """
        step = self._step(index)
        before, after = _kept(step.before).shown_text, _kept(step.after).shown_text
        return StepDiff.of(step.name, before, after, changed=step.changed, note=step.weights_note)

    def _step(self, given: int | str) -> Step:
        from ..ir.hints import nearest

        names = [step.name for step in self.steps]
        if isinstance(given, str):
            places = [place for place, name in enumerate(names) if name == given]
            if len(places) == 1:
                return self.steps[places[0]]
            if places:
                listed = " or ".join(map(str, places))
                raise OptionError(f"pass {given!r} ran {len(places)} times", hint=f"give the step: {listed}")
            hint = nearest(given, names)
            raise OptionError(f"no step of this run is called {given!r}", hint=hint)
        last = len(names) - 1
        if not hasattr(given, "__index__") or not -len(names) <= operator.index(given) <= last:
            hint = f"give 0 to {last}, or the name of a pass" if names else "the run has no steps"
            raise OptionError(f"this run has no step {given!r}", hint=hint)
        return self.steps[given]

    @property
    def df(self) -> pd.DataFrame:
        """One row per step: pass, seconds, changed, ops_before, ops_after."""
        import pandas as pd

        return pd.DataFrame([_row(step) for step in self.steps], columns=_COLUMNS)

    def reproducer(self) -> str:
        """A shell command that runs the same pipeline on the same source; Python, below a line that says why,
        where passes of the user's own take part. Ranges of activations that were given as an object are written
        to a temporary file, which the command names."""
        from shlex import quote

        from .reproducer import own_passes, with_saved_ranges

        text = with_saved_ranges(self.pipeline, (step.ran for step in self.steps))
        own = own_passes(step.ran for step in self.steps)
        if own:
            given = "program" if self.program.source.startswith("<") else repr(self.program.source)
            return f"# where {own} is defined:\nmt.Pipeline.parse({text!r}).run({given})"
        return f"python -m mlirtrt_nb opt {quote(self.program.source)} --passes {quote(text)}"

    def to_html(self, path: str | os.PathLike[str], **settings: Any) -> None:
        """Write the run as one HTML file that needs nothing else; see `display.run_page.run_page`."""
        from ..display.run_page import run_page
        from ..files import write_text

        write_text(path, run_page(self, **settings))

    def __repr__(self) -> str:
        names = ", ".join(step.name for step in self.steps)
        return f"<PipelineRun of {self.program.name!r}: {names or 'no steps'}>"

    def __str__(self) -> str:
        from ..display.steps import run_text

        return run_text(self)

    def _repr_html_(self) -> str:
        from ..display.steps import run_html

        return run_html(self)


_COLUMNS = ["pass", "seconds", "changed", "ops_before", "ops_after"]


def _row(step: Step) -> tuple[Any, ...]:
    before, after = _kept(step.before).op_counts.total(), _kept(step.after).op_counts.total()
    return (step.name, step.seconds, step.changed, before, after)


def run_pipeline(
    pipeline: Pipeline,
    program: Program,
    context: PassContext,
    keep_snapshots: bool,
    reuse: PipelineRun | None = None,
    isolation: Isolation | None = None,
) -> PipelineRun:
    """Run the enabled entries in order on a copy of `program`; see `Pipeline.run`."""
    if reuse is not None and not isinstance(reuse, PipelineRun):
        raise OptionError(f"reuse= is {kind_name(reuse)}", hint="give an earlier PipelineRun, or None")
    entries = [entry for entry in pipeline if entry.enabled]
    run = PipelineRun(program, str(pipeline), context=context)
    if reuse is not None and keep_snapshots and reuse.context == context:
        run.steps = _reusable(entries, program, reuse.steps)
    try:
        left = entries[len(run.steps) :]
        if isolation is not None and left:
            run.program = _run_rest_remotely(run, left, program, keep_snapshots, isolation)
        else:
            run.program = _run_rest(run, left, program, keep_snapshots)
    except MlirTrtError as error:
        run.program = _last(run, program)
        error.partial_run = run
        raise
    return run


def _last(run: PipelineRun, program: Program) -> Program:
    last = run.steps[-1].after if run.steps else None
    return (last or program).clone()


def _reusable(entries: Sequence[Entry], program: Program, steps: Sequence[Step]) -> list[Step]:
    """The first steps of an earlier run that would come out the same on `program`."""
    if not steps or steps[0].before is None or not steps[0].before.is_from(program):
        return []
    kept: list[Step] = []
    for entry, step in zip(entries, steps, strict=False):
        if step.ran is None or not step.ran.does_the_same_as(entry.pass_):
            break
        kept.append(_taken_over(step))
    return kept


def _taken_over(step: Step) -> Step:
    taken = copy.copy(step)
    taken.reused = True
    return taken


def _run_rest(run: PipelineRun, entries: Sequence[Entry], program: Program, keep: bool) -> Program:
    """Run `entries` after the steps that `run` has already, and add a step for each."""
    if not keep:
        current = program.clone()
        for entry in entries:
            ran = copy.deepcopy(entry.pass_)
            seconds, fired = run_one(entry.pass_, current, run.context, current.clone())
            run.steps.append(Step(entry.name, seconds, None, None, ran, fired))
        return current
    last = _kept(run.steps[-1].after) if run.steps else Snapshot.of(program)
    current = last.clone()
    for entry in entries:
        ran = copy.deepcopy(entry.pass_)
        seconds, fired = run_one(entry.pass_, current, run.context, last)
        after = Snapshot.of(current)
        run.steps.append(Step(entry.name, seconds, last, after, ran, fired))
        last = after
    return current


def _run_rest_remotely(
    run: PipelineRun, entries: Sequence[Entry], program: Program, keep: bool, isolation: Isolation
) -> Program:
    """As `_run_rest`, in the worker process."""
    from .remote import RemoteStep, run_remotely

    last: Snapshot | None = None
    if keep:
        last = _kept(run.steps[-1].after) if run.steps else Snapshot.of(program)
    left = iter(entries)

    def take(done: RemoteStep) -> None:
        nonlocal last
        entry = next(left)
        ran = copy.deepcopy(entry.pass_)
        for name, value in done.results.items():
            setattr(entry.pass_, name, value)
        step = Step(entry.name, done.seconds, last, done.after, ran, done.fired, output=done.output)
        run.steps.append(step)
        last = done.after

    passes = [entry.pass_ for entry in entries]
    return run_remotely(passes, last or program, run.context, isolation, keep=keep, take=take)


def run_one(
    pass_: Pass, program: Program, context: PassContext, last_good: Program | None
) -> tuple[float, tuple[Firing, ...]]:
    """Apply a pass and verify what it leaves; its wall time, and what fired.

    Raises PassError with `last_good`, or the pass's own error of this package with the pass's name.
    """
    with inside.doing(f"pass {pass_.name}"):
        return _run_one(pass_, program, context, last_good)


def _run_one(
    pass_: Pass, program: Program, context: PassContext, last_good: Program | None
) -> tuple[float, tuple[Firing, ...]]:
    from ..ir.made import noted

    own = is_own(pass_)
    before = last_good or program.clone() if own else None
    start = time.perf_counter()
    try:
        with (
            recorded() as fired,
            held(program.weights) if own else nullcontext(),
            noted() if own else nullcontext() as made,
        ):
            pass_.apply(program, context)
        seconds = time.perf_counter() - start
        _verify(pass_, program, made)
        if before is not None and made is not None:
            check_rules(pass_, program, before, made)
    except (Cancelled, KeyboardInterrupt):
        raise
    except MlirTrtError as error:
        if isinstance(error, PassError):
            error.last_good = last_good
        else:
            error.where = f"{error.where}, pass {pass_.name}" if error.where else f"pass {pass_.name}"
        raise
    except Exception as error:
        first = next(iter(str(error).splitlines()), "")
        failure = PassError(
            f"pass {pass_.name} failed: {type(error).__name__}: {first}",
            hint=f"disable it with pipeline.disable({pass_.name!r}) to see whether the rest goes through",
        )
        failure.last_good = last_good
        raise failure from error
    return seconds, tuple(fired)


def _verify(pass_: Pass, program: Program, made: Made | None) -> None:
    """MLIR's own verifier: about 2 us an op, so it can run after every pass. `made` is what a pass of the
    user's own made, at whose lines the error points."""
    from torch_mlir import ir

    from ..ir.diagnostics import found_in

    try:
        program.module.operation.verify()
    except ir.MLIRError as error:
        found = found_in(error, lambda *_: None)
        said = f": {found[0].message}" if found else ""
        what = f"pass {pass_.name} left invalid IR{said}"
        place = None
        if made is not None:
            place = place_of_invalid(program.module.operation, made) or place_of_pass(pass_)
        raise PassError(what, hint=found[0].hint if found else None, span=place) from None
