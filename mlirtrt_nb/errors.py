"""The exception tree. Every error the package raises on purpose is one of these.

    MlirTrtError
    ├── SourceError            a program could not be read
    │   ├── ParseError             text, with line, column and caret
    │   ├── InvalidModelError      a file or model that breaks its format's rules
    │   └── ExternalDataError      a weight file that is missing or out of bounds
    ├── VerificationError      IR that parses and breaks a rule of its ops
    ├── ShapeError             input shapes or profiles missing or contradictory
    ├── CompileError           a pass or an engine build failed
    │   ├── PassError              names the pass; keeps the last good IR
    │   ├── EngineBuildError       names the engine and the builder's message
    │   ├── WorkerCrashed          the worker process ended in a pass or a build; keeps a reproducer
    │   └── Cancelled              the user stopped it
    ├── TargetError            this machine cannot build for or run on that target
    ├── PrecisionError         a precision that cannot be had
    ├── CalibrationError       inputs or ranges that no calibration can be made of
    ├── PlanFileError          a .plan file that is damaged or of another version
    ├── InputError             wrong name, rank, shape or dtype at a call
    ├── OptionError            an unknown pass, option, or value
    └── MissingDependencyError an optional package is not installed

A message has up to three parts: what happened, where it happened, and what to do about it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

__all__ = [
    "CalibrationError",
    "Cancelled",
    "CompileError",
    "EngineBuildError",
    "ExternalDataError",
    "InputError",
    "InvalidModelError",
    "MissingDependencyError",
    "MlirTrtError",
    "OptionError",
    "ParseError",
    "PassError",
    "PlanFileError",
    "PrecisionError",
    "ShapeError",
    "SourceError",
    "SourceSpan",
    "TargetError",
    "VerificationError",
    "WorkerCrashed",
]


@dataclass(frozen=True)
class SourceSpan:
    """A place in the user's text. `line` and `column` count from 1; `length` is in characters; `cell` is what
    the notebook calls the cell, where the text is one ("cell [3]")."""

    filename: str
    line: int
    column: int
    text: str = ""
    length: int = 1
    cell: str = ""

    @property
    def place(self) -> str:
        """Where it is, as messages say it: "cell [3], line 6", or "file.py:6:1"."""
        return f"{self.cell}, line {self.line}" if self.cell else f"{self.filename}:{self.line}:{self.column}"

    def caret(self) -> str:
        """Two lines: the source line (cut to 100 characters around the column) and a caret under it."""
        start = max(0, self.column - 60)
        shown = self.text[start : start + 100]
        prefix = "…" if start else ""
        rest = "…" if len(self.text.rstrip()) > start + 100 else ""
        at = self.column - 1 - start
        pad = " " * len(prefix) + _blank(shown[:at]).ljust(at if at > len(shown) else 0)
        marks = "^" + "~" * (len(_blank(shown[at : at + self.length])) - 1)
        return f"    {prefix}{shown}{rest}\n    {pad}{marks}"


def span_of_line(filename: str, number: int) -> SourceSpan:
    """A whole line of Python code, without its indentation; of a cell, if IPython keeps it."""
    import linecache

    line = linecache.getline(filename, number).rstrip()
    text = line.strip()
    column = len(line) - len(text) + 1
    return SourceSpan(filename, number, column, line, max(len(text), 1), cell_of(filename))


def span_of_function(function: object) -> SourceSpan | None:
    """The line on which a Python function begins, its decorators included; None for anything else."""
    code = getattr(function, "__code__", None)
    return span_of_line(code.co_filename, code.co_firstlineno) if code is not None else None


def cell_of(filename: str) -> str:
    """The cell whose code IPython compiled under this name, as "cell [3]"; "" for a file or without IPython."""
    import sys

    interactive = sys.modules.get("IPython.core.getipython")
    shell = interactive.get_ipython() if interactive is not None else None
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = name_of(filename) if name_of is not None else None
    return f"cell {named[1].removeprefix('In')}" if named else ""


def _blank(text: str) -> str:
    """Blanks as wide as `text` in a fixed-width font: tabs stay tabs, East Asian characters take two."""
    return "".join("\t" if c == "\t" else " " * _width(c) for c in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class MlirTrtError(Exception):
    """Base of the tree.

    Args:
        what: one sentence, what happened.
        where: a location in words ("node 'conv1' (Conv)"), or None.
        hint: what to do about it, or None.
        span: the place in the user's text, or None; shown with a caret.

    `partial_run` is the `PipelineRun` up to the step that raised, where a pipeline did.
    """

    partial_run: object | None = None

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        span: SourceSpan | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.hint = hint
        self.span = span
        super().__init__(what)

    def __str__(self) -> str:
        lines = [self.what]
        if self.span is not None:
            lines.append(f"  at {self.span.place}")
            if self.span.text:
                lines.append(self.span.caret())
        if self.where:
            lines.append(f"  in {self.where}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.hint, self.span, self.__dict__))

    def _render_traceback_(self) -> list[str]:
        """IPython calls this: a short report instead of a stack of internal frames."""
        return [f"{type(self).__name__}: {self}"]


def _rebuild(
    cls: type[MlirTrtError],
    what: str,
    where: str | None,
    hint: str | None,
    span: SourceSpan | None,
    state: dict[str, object],
) -> MlirTrtError:
    error = cls.__new__(cls)
    MlirTrtError.__init__(error, what, where=where, hint=hint, span=span)
    error.__dict__.update(state)
    return error


class SourceError(MlirTrtError):
    """A program could not be read."""


class ParseError(SourceError):
    """Text that is not valid MLIR. `others` holds further errors found in the same text."""

    others: tuple[ParseError, ...] = ()

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(str(other) for other in self.others)])


class InvalidModelError(SourceError):
    """A model file that is truncated, of another format, or breaks its format's rules."""


class ExternalDataError(SourceError):
    """An external weight file is missing, too short, or lies outside the model's folder."""


class VerificationError(MlirTrtError):
    """IR that parses but breaks a rule of one of its ops. `others` holds further broken rules."""

    others: tuple[VerificationError, ...] = ()

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(str(other) for other in self.others)])


class ShapeError(MlirTrtError):
    """Input shapes or profiles that are missing, malformed or contradictory."""


class CompileError(MlirTrtError):
    """Compilation failed."""


class PassError(CompileError):
    """A pass failed; the message names it. `last_good` is the program before that pass, if kept."""

    last_good: object | None = None


class EngineBuildError(CompileError):
    """An engine builder refused a function; the message carries the builder's own words.

    `location` is the refused op's MLIR location as text, where the builder named one.
    """

    location: str | None = None


class WorkerCrashed(CompileError):
    """The worker process ended in the middle of its work, or exceeded a limit and was ended.

    `doing` names the pass or the engine, `begun` that and what came before it, in order; `output` is what was
    written to standard output and error meanwhile. `reproducer` is the path of a file that holds the program
    and, in its first lines, the command or the Python that runs the same work on it. `last_good` is the program
    before that pass, or the one that the engine was to be built for, if kept.
    """

    doing: str = ""
    begun: tuple[str, ...] = ()
    output: str = ""
    reproducer: str | None = None
    last_good: object | None = None


class Cancelled(CompileError):
    """The user stopped the work. Nothing was written."""


class TargetError(MlirTrtError):
    """This machine cannot build for, or run on, the target, or lacks the memory for it."""


class PrecisionError(MlirTrtError):
    """A precision that does not exist or that the target lacks."""


class CalibrationError(MlirTrtError, ValueError):
    """Inputs of which no ranges can be found, or ranges that are wrong or of another model."""


class PlanFileError(MlirTrtError):
    """A .plan file that is damaged, truncated, or of another version."""


class InputError(MlirTrtError, ValueError):
    """An input of the wrong name, rank, shape or dtype."""


class OptionError(MlirTrtError, ValueError):
    """An unknown pass, option or value."""


class MissingDependencyError(MlirTrtError, ImportError):
    """An optional package is not installed; the hint is the command that installs it."""
