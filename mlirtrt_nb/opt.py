"""The work of `python -m mlirtrt_nb opt`: passes over programs as text, or their errors against expected ones.

An expected error is a comment in the text, on its line or near it, with a part of the message in double braces:

    // expected-error @below {{element type must be one of}}

`@above` and `@below` name the nearest line without such a comment, `@+2` and `@-1` count lines, `@unknown`
stands for an error without a place. `expected-error-re` takes regular expressions in inner double braces.
Expected warnings, remarks and notes are comments: nothing here makes any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import MlirTrtError, ParseError, SourceError, VerificationError
from .frontends.load import load
from .frontends.text import from_mlir
from .ir.assembly import split_input
from .ir.assembly.attributes import ELIDED_PREFIX
from .ir.constants import handles_in
from .passes.base import PassContext
from .passes.pipeline import Pipeline
from .profiles import parse_profiles
from .program import Program
from .targets import parse_targets

__all__ = ["Setting", "check_diagnostics", "read_text", "transform", "transform_file"]

_NAMED = 3  # weights that are called by name
_DIVIDER = "// -----"
_EXPECTED = re.compile(
    r"expected-(error|warning|remark|note)(-re)?[ \t]*(?:@[ \t]*([+-][ \t]*\d+|above|below|unknown))?[ \t]*"
    r"\{\{(.*)\}\}[ \t]*$"
)
_INNER = re.compile(r"\{\{(.*?)\}\}")
# A place inside an MLIR location, as an error's `where` has it.
_PLACE = re.compile(r'":(\d+):\d+')

Printer = Callable[[Program], str]


def read_text(path: Path) -> str:
    """The text of a file. Raises SourceError: missing, or not UTF-8, or bytes that only look so."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SourceError(f"cannot read {path}: {reason}") from None
    if "\0" in text:
        raise SourceError(f"cannot read {path}: it is not MLIR text")
    return text


@dataclass(frozen=True)
class Setting:
    """What passes may ask about: targets and shapes as `mt.compile` takes them, where None leaves shapes open;
    and whether the text may have ops of unknown dialects."""

    targets: tuple[str, ...] = ("cpu",)
    shapes: Any = None
    unregistered: bool = False

    def context(self, program: Program) -> PassContext:
        """For a program with inputs of its own. Raises TargetError, ShapeError."""
        profiles = parse_profiles(program.inputs, self.shapes) if self.shapes else ()
        return PassContext(parse_targets(self.targets), profiles)


_PLAIN = Setting()


def transform_file(path: str, passes: str, show: Printer, setting: Setting = _PLAIN) -> str:
    """The program of a .mlir or .onnx file after `passes`, as text."""
    program = _after(load(path), Pipeline.parse(passes), setting)
    _tell_of_weights([program])
    return show(program)


def transform(
    text: str,
    filename: str,
    passes: str,
    show: Printer,
    setting: Setting = _PLAIN,
    *,
    split: bool = False,
) -> str:
    """`text` after `passes`, as text. With `split`, each part between `// -----` lines is a program."""
    pipeline = Pipeline.parse(passes)
    programs = [
        from_mlir(part, filename=filename, unregistered=setting.unregistered) for part in _parts(text, split)
    ]
    done = [_after(program, pipeline, setting) for program in programs]
    _tell_of_weights(done)
    shown = [show(program) for program in done]
    return f"\n\n{_DIVIDER}\n\n".join(part.rstrip("\n") for part in shown)


def check_diagnostics(
    text: str, filename: str, passes: str, setting: Setting = _PLAIN, *, split: bool = False
) -> list[str]:
    """One line for each error of reading `text` and running `passes` that no comment expects, and for each
    expected error that did not come. Empty if all is as the comments say."""
    pipeline = Pipeline.parse(passes)
    problems: list[str] = []
    for part in _parts(text, split):
        expected = list(_expectations(part))
        for error in _errors(part, filename, pipeline, setting):
            line = _line(error)
            match = next((entry for entry in expected if entry.fits(line, error)), None)
            if match is None:
                problems.append(f"{_place(filename, line)}: unexpected error: {_first_line(error.what)}")
            else:
                expected.remove(match)
        problems += [f"{_place(filename, entry.line)}: no error like {entry.text!r}" for entry in expected]
    return problems


def _parts(text: str, split: bool) -> list[str]:
    """The programs of a text, each moved down to its own lines, so that errors name the file's."""
    if not split:
        return [text]
    return ["\n" * (line - 1) + part for part, line in split_input(text)]


def _after(program: Program, pipeline: Pipeline, setting: Setting = _PLAIN) -> Program:
    """In this process: a shell gives the command one of its own, and wants to see how it ends."""
    if not len(pipeline):
        return program
    return pipeline.run(program, setting.context(program), keep_snapshots=False, isolate=False).program


def _tell_of_weights(programs: list[Program]) -> None:
    """Say on standard error that weights are left out, if any are."""
    named = {name for program in programs for name in handles_in(program.module.operation) & {*program.weights}}
    lost = [name for name in sorted(named) if not name.startswith(ELIDED_PREFIX)]
    if not lost or sys.stderr is None:
        return
    listed = ", ".join(lost[:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
    count = f"{len(lost)} weight{'s' * (len(lost) > 1)}"
    keep = "Program.save writes a file with them, which mt.load opens"
    print(f"note: the text names {count} ({listed}) without their values; {keep}", file=sys.stderr)


def _errors(text: str, filename: str, pipeline: Pipeline, setting: Setting) -> list[MlirTrtError]:
    try:
        _after(from_mlir(text, filename=filename, unregistered=setting.unregistered), pipeline, setting)
    except (ParseError, VerificationError) as error:
        return [error, *error.others]
    except MlirTrtError as error:
        return [error]
    return []


def _line(error: MlirTrtError) -> int | None:
    """The line of an error, from its span or else from the location in its words; None without one."""
    if error.span is not None:
        return error.span.line
    match = _PLACE.search(error.where or "")
    return int(match.group(1)) if match else None


def _place(filename: str, line: int | None) -> str:
    return filename if line is None else f"{filename}:{line}"


def _first_line(message: str) -> str:
    return message.partition("\n")[0]


@dataclass(frozen=True)
class _Expectation:
    """An error that should come on `line`, or without a place if that is None."""

    line: int | None
    text: str
    pattern: re.Pattern[str]

    def fits(self, line: int | None, error: MlirTrtError) -> bool:
        return line == self.line and self.pattern.search(f"{error.what}\n{error.hint or ''}") is not None


def _expectations(text: str) -> Iterator[_Expectation]:
    lines = text.split("\n")
    found = [_EXPECTED.search(line) if "expected-" in line else None for line in lines]
    for index, match in enumerate(found):
        if match is None or match.group(1) != "error":
            continue
        _, regular, place, message = match.groups()
        pattern = _pattern(message) if regular else re.compile(re.escape(message))
        yield _Expectation(_target(index, place or "+0", found), message, pattern)


def _target(index: int, place: str, found: list[re.Match[str] | None]) -> int | None:
    """The line, from 1, that an expectation on line `index`, from 0, speaks of."""
    if place == "unknown":
        return None
    if place not in ("above", "below"):
        return index + 1 + int(place.replace(" ", ""))
    step = -1 if place == "above" else 1
    index += step
    # A line that only expects something itself is not meant.
    while 0 <= index < len(found) and found[index] is not None:
        index += step
    return index + 1


def _pattern(message: str) -> re.Pattern[str]:
    """A pattern of literal text with regular expressions in double braces."""
    pieces = _INNER.split(message)
    source = "".join(piece if number % 2 else re.escape(piece) for number, piece in enumerate(pieces))
    try:
        return re.compile(source)
    except re.error as error:
        raise SourceError(f"expected-error-re {{{{{message}}}}} is not a regular expression: {error}") from None
