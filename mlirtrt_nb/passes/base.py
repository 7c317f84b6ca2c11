"""What a pass is: a dataclass whose fields are its options and whose `apply` rewrites a program."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, dataclass_transform

from ..errors import OptionError
from ..program import Program

__all__ = ["PHASES", "Pass", "PassContext", "available", "option", "register"]

# In the order in which they run.
PHASES = ("input", "tensorrt", "precision", "clustering", "plan")


@dataclass(frozen=True)
class PassContext:
    """What a pass may ask about the compilation it is part of.

    `targets` as given to `mt.compile`; `profiles` maps an input to its (min, opt, max) shapes, one entry
    per optimization profile. `whole` are the locations, as text, of branches and loops that must not become
    control flow of the Plan: it turned out that no engine can be built for anything in them.
    """

    targets: tuple[str, ...] = ("cpu",)
    profiles: tuple[dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]], ...] = ()
    whole: frozenset[str] = frozenset()


class Pass:
    """Base of all passes. A subclass is decorated with `@register` and gives:

    name: as in pipelines and in its file's name (with `-` for `_`).
    phase: one of `PHASES`.
    Its fields are its options; its docstring is its help.
    results: names of attributes that a run writes, and that so are no part of what the pass does.
    """

    name: ClassVar[str] = ""
    phase: ClassVar[str] = "input"
    results: ClassVar[frozenset[str]] = frozenset()

    def apply(self, program: Program, context: PassContext) -> None:
        """Rewrite `program` in place. The pipeline has already made a private copy."""
        raise TypeError(f"{type(self).__name__} does not define apply")

    def does_the_same_as(self, other: Pass) -> bool:
        """Whether both are the same pass with equal options, so that a run of one serves for the other."""
        return type(self) is type(other) and self._settings() == other._settings()

    def _settings(self) -> dict[str, Any]:
        given = {name: value for name, value in vars(self).items() if name not in self.results}
        return {"name": self.name, **given}


_REGISTRY: dict[str, type[Pass]] = {}


def option(default: Any, help: str) -> Any:
    """A field of a pass with its help text; a list default is copied for each instance."""
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata={"help": help})
    return field(default=default, metadata={"help": help})


@dataclass_transform(field_specifiers=(option,))
def register(cls: type[Pass]) -> type[Pass]:
    """Class decorator: make `cls` a dataclass and put it in the registry under its name."""
    made = dataclass(cls)
    if made.phase not in PHASES:
        raise OptionError(f"pass {made.name}: phase {made.phase!r} is not one of {', '.join(PHASES)}")
    _REGISTRY[made.name] = made
    return made


def available() -> dict[str, type[Pass]]:
    """Every pass by name, the user's own included. The first call imports each pass's file."""
    _load_files()
    return _REGISTRY


@cache
def _load_files() -> None:
    """A pass registers itself when its file is imported: one file per pass, in the folder of its phase."""
    for phase in PHASES:
        package = import_module(f"{__package__}.{phase}")
        for found in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{found.name}")


def options_of(cls: type[Pass]) -> dict[str, Any]:
    """Option name -> its `dataclasses.Field`."""
    return {entry.name: entry for entry in fields(cls)}  # type: ignore[arg-type]
