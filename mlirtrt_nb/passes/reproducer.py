"""A file that shows a crash again: the program as text, below what runs the same on it.

That is a command for a shell, or Python where passes of the user's own take part, which a shell does not know.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from shlex import quote

import numpy as np

from ..errors import WorkerCrashed
from ..ir.constants import escaped
from ..program import Program
from .base import Pass, PassContext
from .sending import is_own

__all__ = ["own_passes", "with_saved_ranges", "write_reproducer"]

_HANDLE = re.compile(r'dense_resource<("(?:[^"\\]|\\.)*"|[^>"]+)>')
_WEIGHTS_BYTES = 4 << 20  # weights of more than this in all are left out


def write_reproducer(
    program: Program,
    passes: Sequence[Pass],
    context: PassContext,
    error: WorkerCrashed,
    *,
    compiling: bool = False,
) -> str | None:
    """Write the file and name it in the error's hint. None if there is nowhere to write to.

    `program` is what `passes` ran on; with `compiling` an engine was built after them.
    """
    own = [pass_ for pass_ in passes if is_own(pass_)]
    slug = re.sub(r"[^A-Za-z0-9]+", "-", error.doing).strip("-")[:40]
    try:
        descriptor, path = tempfile.mkstemp(".mlir", f"mlirtrt_nb-{slug}-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            run = _command(path, passes, context, compiling)
            how = _in_python(path, passes, context, compiling) if own else [f"run: {run}"]
            head = [error.what, *how, *_own_sources(own)]
            body, note = _body(program)
            file.writelines(f"// {part}\n" for part in [*head, *note])
            file.write(body)
    except OSError:
        return None
    start = "it" if len(passes) == 1 and not compiling else f"pass {passes[0].name}" if passes else ""
    error.hint = f"the program before {start} is in {path}" if own else f"to see it again: {run}"
    return path


def own_passes(passes: Iterable[Pass | None]) -> str:
    """What a command in a shell would lack: "the user's own pass a", "... passes a, b"; "" for nothing."""
    names = list(dict.fromkeys(pass_.name for pass_ in passes if pass_ is not None and is_own(pass_)))
    return f"the user's own pass{'es' if len(names) > 1 else ''} {', '.join(names)}" if names else ""


def _command(path: str, passes: Sequence[Pass], context: PassContext, compiling: bool) -> str:
    """The command line that runs the passes on the file, or compiles it, for the same targets and shapes."""
    what = f"compile {quote(path)} --no-cache" if compiling else f"opt {quote(path)}"
    return f"python -m mlirtrt_nb {what} --passes {quote(_text(passes))}{_context_options(context)}"


def _in_python(path: str, passes: Sequence[Pass], context: PassContext, compiling: bool) -> list[str]:
    """The same as Python, below what it needs."""
    text = _text(passes)
    lines = ["import mlirtrt_nb as mt"]
    if compiling:
        shapes = f", shapes={list(context.profiles)!r}" if context.profiles else ""
        lines.append(f"mt.compile({path!r}, {list(context.targets)!r}{shapes}, pipeline={text!r}, cache=False)")
    elif context == PassContext():
        lines.append(f"mt.Pipeline.parse({text!r}).run({path!r})")
    else:
        lines.append("from mlirtrt_nb.passes.base import PassContext")
        lines.append(f"context = PassContext({context.targets!r}, {context.profiles!r}, {context.whole!r})")
        lines.append(f"mt.Pipeline.parse({text!r}).run({path!r}, context)")
    return [f"run, where {own_passes(passes)} is defined:", *(f"    {line}" for line in lines)]


def _text(passes: Sequence[Pass]) -> str:
    """The passes as the text of a pipeline."""
    from .pipeline import Entry

    return with_saved_ranges(",".join(str(Entry(pass_)) for pass_ in passes), passes)


def with_saved_ranges(text: str, passes: Iterable[Pass | None]) -> str:
    """A pipeline's text that another process can read: ranges of activations that are in no file are written to
    one among the temporary files, named by what it holds."""
    from ..activation_ranges import Calibration

    for pass_ in passes:
        ranges = getattr(pass_, "calibration", None)
        if isinstance(ranges, Calibration) and ranges.path is None:
            named = json.dumps([ranges.method, ranges.model, sorted(ranges.ranges.items())])
            digest = hashlib.sha256(named.encode()).hexdigest()[:16]
            path = os.path.join(tempfile.gettempdir(), f"mlirtrt_nb-ranges-{digest}.json")
            ranges.save(path)
            text = text.replace(f"calibration={ranges.option_text}", f"calibration={path}", 1)
    return text


def _context_options(context: PassContext) -> str:
    targets = "".join(f" --target {target}" for target in context.targets)
    ranges = [
        f" --shape {quote(name + '=' + ':'.join('x'.join(map(str, side)) for side in sides))}"
        for name, sides in (context.profiles[0] if context.profiles else {}).items()
    ]
    return targets + "".join(ranges)


def _own_sources(own: Sequence[Pass]) -> list[str]:
    """What is known of passes that are the user's own, whose names say nothing to another process."""
    lines = []
    for pass_ in own:
        lines.append(f"pass {pass_.name} is the user's own:")
        with suppress(OSError, TypeError):
            text = getattr(pass_, "text", None) or inspect.getsource(getattr(pass_, "function", type(pass_)))
            lines += [f"    {line.rstrip()}" for line in text.splitlines()]
    return lines


def _body(program: Program) -> tuple[str, list[str]]:
    """The program's text, its weights as blobs if they are small, and what to say of those left out."""
    text = program.text()
    weights = {name: array for name, array in program.weights.items() if array.dtype.kind not in "OUS"}
    if not weights:
        return text, []
    if sum(array.nbytes for array in weights.values()) <= _WEIGHTS_BYTES:
        return text + _blobs(weights), []
    note = f"weights of more than {_WEIGHTS_BYTES >> 20} MiB are left out: they are read as zeros"
    return _HANDLE.sub("dense_resource<__elided__>", text), [note]


def _blobs(weights: dict[str, np.ndarray]) -> str:
    """The end of an MLIR file that holds the bytes of handles, each behind its alignment."""
    entries = ",\n".join(
        f'      "{escaped(name)}": "0x40000000{np.ascontiguousarray(array).tobytes().hex().upper()}"'
        for name, array in weights.items()
    )
    return f"\n{{-#\n  dialect_resources: {{\n    builtin: {{\n{entries}\n    }}\n  }}\n#-}}\n"
