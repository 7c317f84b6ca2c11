"""`Pipeline`: an ordered list of passes that can each be switched off, moved, set, or joined by others."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, is_dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ..kind_name import kind_name
from ..shown import Shown
from .base import Pass, PassContext, available, options_of
from .mlir_pass import MlirPass
from .pipeline_text import options_text, read_entry, split_entries
from .users import user_pass, user_passes

if TYPE_CHECKING:
    from ..precision import Precision
    from ..program import Program
    from ..worker import Isolation
    from .run import PipelineRun

__all__ = ["Entry", "Pipeline", "make_pass"]

# Options of these types take no value of another, but for a whole number where a fraction may stand.
_PLAIN = (bool, int, float, str)
_ALSO: dict[type, Any] = {float: (float, int)}


@dataclass(repr=False)
class Entry:
    """One pass of a pipeline. A disabled entry keeps its place and its options."""

    pass_: Pass
    enabled: bool = True

    @property
    def name(self) -> str:
        return self.pass_.name

    def __str__(self) -> str:
        return f"{'' if self.enabled else '-'}{self.name}{options_text(self.pass_)}"

    def __repr__(self) -> str:
        return f"<Entry {self}>"


@dataclass(init=False, repr=False)
class Pipeline(Shown):
    """Passes in the order in which they run.

    Every method that changes a pipeline changes it in place and returns it, so that calls chain:
    `Pipeline.default().disable("fold-batch-norm").set("plan-clustering", min_cluster_size=3)`.
    `str(pipeline)` and `Pipeline.parse` round-trip: entries joined by commas, options in braces, a minus
    before a disabled entry.

    Args:
        entries: entries, or passes, or what `parse` reads of one.

    Raises:
        OptionError: something that is no pass.
    """

    entries: list[Entry] = field(default_factory=list)

    def __init__(self, entries: Iterable[Entry | Pass | str] = ()) -> None:
        if isinstance(entries, str | Pass):
            raise OptionError(
                f"the entries of a pipeline are a list, not one {type(entries).__name__}",
                hint="Pipeline.parse reads text" if isinstance(entries, str) else "write Pipeline([it])",
            )
        self.entries = [_entry(given) for given in entries]

    @staticmethod
    def default(target: str | Iterable[str] = "cpu", precision: Precision | str = "fp32") -> Pipeline:
        """The passes that `mt.compile` runs for `target` (one or several) at `precision`.

        Raises TargetError for an unknown target, PrecisionError for an unknown precision or one that a target
        lacks.
        """
        from ..precision import Precision, check_supported
        from ..target_names import parse_targets
        from .default import default_passes

        targets, chosen = parse_targets(target), Precision.of(precision)
        check_supported(chosen, targets)
        listed = default_passes(targets, chosen)
        return Pipeline([Entry(make_pass(name, options)) for name, options in listed])

    @staticmethod
    def of(
        given: Pipeline | str | None,
        target: str | Iterable[str] = "cpu",
        precision: Precision | str = "fp32",
    ) -> Pipeline:
        """A pipeline as callers may give it: one, its text, or None for the default. Raises OptionError."""
        if given is None:
            return Pipeline.default(target, precision)
        if isinstance(given, str):
            return Pipeline.parse(given)
        if not isinstance(given, Pipeline):
            raise OptionError(
                f"pipeline= is {kind_name(given)}",
                hint="give a Pipeline, its text, or None for the default one",
            )
        return given

    @staticmethod
    def parse(text: str) -> Pipeline:
        """Read what `str(pipeline)` writes. Raises OptionError naming the entry at fault."""
        if not isinstance(text, str):
            raise OptionError(f"the text of a pipeline is {kind_name(text)}")
        return Pipeline([_parse_entry(part) for part in split_entries(text) if part])

    def __str__(self) -> str:
        return ",".join(str(entry) for entry in self.entries)

    def __repr__(self) -> str:
        return f"<Pipeline {self}>"

    def _repr_html_(self) -> str:
        from ..display.pipeline import pipeline_html

        return pipeline_html(self)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def copy(self) -> Pipeline:
        """An independent pipeline with the same entries."""
        return Pipeline([replace(entry, pass_=copy.deepcopy(entry.pass_)) for entry in self.entries])

    def disable(self, name: str) -> Pipeline:
        """Switch every entry called `name` off."""
        return self._switch(name, False)

    def enable(self, name: str) -> Pipeline:
        """Switch every entry called `name` on."""
        return self._switch(name, True)

    def _switch(self, name: str, enabled: bool) -> Pipeline:
        self._index(name)
        for entry in self.entries:
            if entry.name == name:
                entry.enabled = enabled
        return self

    def set(self, name: str, **options: Any) -> Pipeline:
        """Set options of every entry called `name`. Raises OptionError for an unknown option."""
        self._index(name)
        for entry in self.entries:
            if entry.name == name:
                entry.pass_ = _with_options(entry.pass_, options)
        return self

    def insert(self, pass_: Pass | str, *, after: str | None = None, before: str | None = None) -> Pipeline:
        """Put a pass (or one by name, with options in braces) after or before an entry, else at the end.

        Raises OptionError for an entry that there is not, or for both.
        """
        self.entries.insert(self._position(after, before), _entry(pass_))
        return self

    def move(self, name: str, *, after: str | None = None, before: str | None = None) -> Pipeline:
        """Move the first entry called `name` after or before another."""
        index = self._index(name)
        entry = self.entries.pop(index)
        try:
            position = self._position(after, before)
        except OptionError:
            self.entries.insert(index, entry)  # a name that there is not moves nothing
            raise
        self.entries.insert(position, entry)
        return self

    def remove(self, name: str) -> Pipeline:
        """Take the first entry called `name` out."""
        self.entries.pop(self._index(name))
        return self

    def _position(self, after: str | None, before: str | None) -> int:
        if after is not None and before is not None:
            raise OptionError(f"after={after!r} and before={before!r} are two places", hint="give one of them")
        if after is not None:
            return self._last_index(after) + 1
        return self._index(before) if before is not None else len(self.entries)

    def _index(self, name: str) -> int:
        for position, entry in enumerate(self.entries):
            if entry.name == name:
                return position
        names = [entry.name for entry in self.entries]
        if not isinstance(name, str):
            listed = ", ".join(sorted(set(names)))
            raise OptionError(f"a pass goes by its name, not by {name!r}", hint=f"there are: {listed}")
        raise OptionError(f"the pipeline has no pass {name!r}", hint=_nearest(name, names))

    def _last_index(self, name: str) -> int:
        first = self._index(name)
        same = [n for n, entry in enumerate(self.entries) if entry.name == name]
        return same[-1] if same else first

    def run(
        self,
        program: Program | Any,
        context: PassContext | None = None,
        *,
        keep_snapshots: bool = True,
        reuse: PipelineRun | None = None,
        isolate: bool | Isolation | None = None,
    ) -> PipelineRun:
        """Run the enabled passes on a copy of `program`, which stays as it is; what is no Program, such as a
        path, is loaded as by `mt.load`.

        `reuse` is an earlier run, with snapshots: the first steps that would come out the same are taken from
        it. Passes that read what is no option of theirs (a global variable of a notebook) must not be reused.

        The passes run in the worker process unless `isolate` is False; `mt.Isolation` sets its limits, and
        None follows `$MLIRTRT_NB_ISOLATE`, which is on unless it says otherwise.

        Raises SourceError for what cannot be loaded, VerificationError for weights that are missing or not of
        the IR's type, and `PassError` naming the pass that failed; its `last_good` is the program before that
        pass, its `partial_run` the steps that went well. Raises WorkerCrashed, with the same and a reproducer,
        for a pass that ends its process, and Cancelled when it is interrupted.
        """
        from ..frontends.load import load
        from ..worker import isolation_of
        from .run import run_pipeline

        limits = isolation_of(isolate)
        source = load(program)
        source.check_weights()
        return run_pipeline(self, source, context or PassContext(), keep_snapshots, reuse, limits)


def _entry(given: Entry | Pass | str) -> Entry:
    if isinstance(given, Entry):
        return given
    if isinstance(given, str):
        return _parse_entry(given)
    if not isinstance(given, Pass):
        hint = "make a pass of it with @mt.rewrite or @mt.module_pass" if callable(given) else None
        raise OptionError(f"a pipeline is made of passes, not of {type(given).__name__}", hint=hint)
    return Entry(given)


def make_pass(name: str, options: dict[str, Any] | None = None) -> Pass:
    """A pass by name: one of the package's, else of the user's, else one registered in MLIR.

    Raises OptionError for none of these.
    """
    cls = available().get(name)
    if cls is not None:
        return _with_options(cls(), options or {})
    own = user_pass(name)
    if own is not None:
        return _with_options(own, options or {})
    made = MlirPass(name, {key.replace("_", "-"): value for key, value in (options or {}).items()})
    made.check([*available(), *(own.name for own in user_passes())])
    return made


def _nearest(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, 3)
    return f"did you mean {', '.join(close)}?" if close else f"there are: {', '.join(sorted(set(names)))}"


def _with_options(pass_: Pass, options: dict[str, Any]) -> Pass:
    if isinstance(pass_, MlirPass):
        merged = {**pass_.options, **{key.replace("_", "-"): value for key, value in options.items()}}
        made = MlirPass(pass_.name, merged)
        made.check()
        return made
    if not is_dataclass(pass_):
        if options:
            raise OptionError(f"pass {pass_.name} has no options")
        return pass_
    known = options_of(type(pass_))
    for key in options:
        if key not in known:
            raise OptionError(f"pass {pass_.name} has no option {key!r}", hint=_nearest(key, list(known)))
    typed = {key: _coerce(pass_.name, key, value, getattr(pass_, key)) for key, value in options.items()}
    return replace(pass_, **typed)


def _coerce(pass_name: str, key: str, value: Any, current: Any) -> Any:
    """Text from a pipeline string becomes the type of the option's present value. Raises OptionError."""
    wrong = OptionError(f"pass {pass_name}: option {key} takes {type(current).__name__}, not {value!r}")
    if not isinstance(value, str) or isinstance(current, str):
        if isinstance(current, _PLAIN) and not isinstance(value, _ALSO.get(type(current), type(current))):
            raise wrong
        return value
    try:
        if isinstance(current, bool):
            return {"true": True, "false": False}[value.lower()]
        if isinstance(current, list | tuple):
            return type(current)(item for item in value.split(";") if item)
        return type(current)(value) if current is not None else value
    except (KeyError, ValueError):
        raise wrong from None


def _parse_entry(text: str) -> Entry:
    enabled, name, options = read_entry(text)
    return Entry(make_pass(name, options), enabled)
