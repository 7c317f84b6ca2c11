"""A pipeline as the Python that makes it again."""

from __future__ import annotations

from .base import available
from .mlir_pass import MlirPass
from .pipeline import Entry, Pipeline

__all__ = ["as_python"]


def as_python(pipeline: Pipeline, source: str) -> str:
    """Lines that load `source` ("<cell>" and the like: a variable), make `pipeline` and run it.

    Passes of the user's own appear by the name of their function or variable.
    """
    load = "program  # as it was given" if source.startswith("<") else f"mt.load({source!r})"
    return "\n".join(
        [
            "import mlirtrt_nb as mt",
            "",
            f"program = {load}",
            *_making(pipeline),
            "run = pipeline.run(program)",
            "run.program",
        ]
    )


def _making(pipeline: Pipeline) -> list[str]:
    """The shortest of: the default pipeline and calls that change it; the whole in text; and the user's own."""
    own = [entry for entry in pipeline if not _is_known(entry)]
    known = Pipeline([entry for entry in pipeline if _is_known(entry)])
    edited = _edits(known)
    lines = _parsed(known) if edited is None else ["pipeline = mt.Pipeline.default()", *edited]
    names = [entry.name for entry in pipeline]
    for entry in own:
        place = next(n for n, other in enumerate(pipeline.entries) if other is entry)
        where = f"after={names[place - 1]!r}" if place else f"before={names[1]!r}" if len(names) > 1 else ""
        lines.append(f"pipeline.insert({_variable(entry)}{', ' if where else ''}{where})")
        if not entry.enabled:
            lines.append(f"pipeline.disable({entry.name!r})")
    return lines


def _is_known(entry: Entry) -> bool:
    return isinstance(entry.pass_, MlirPass) or type(entry.pass_) in available().values()


def _variable(entry: Entry) -> str:
    function = getattr(entry.pass_, "function", None)
    return getattr(function, "__name__", None) or entry.name.replace("-", "_")


def _edits(pipeline: Pipeline) -> list[str] | None:
    """Calls that make the default pipeline this one; None if its passes are others, or in another order."""
    default = Pipeline.default()
    if [entry.name for entry in default] != [entry.name for entry in pipeline]:
        return None
    lines = []
    for entry, usual in zip(pipeline, default, strict=True):
        options = str(entry).partition("{")[2].rstrip("}")
        if options and options != str(usual).partition("{")[2].rstrip("}"):
            lines.append(f"pipeline.set({entry.name!r}, {_keywords(entry)})")
        if not entry.enabled:
            lines.append(f"pipeline.disable({entry.name!r})")
    return lines


def _keywords(entry: Entry) -> str:
    if isinstance(entry.pass_, MlirPass):
        return ", ".join(f"{key.replace('-', '_')}={value!r}" for key, value in entry.pass_.options.items())
    usual = vars(type(entry.pass_)())
    return ", ".join(f"{key}={value!r}" for key, value in vars(entry.pass_).items() if value != usual[key])


def _parsed(pipeline: Pipeline) -> list[str]:
    if not len(pipeline):
        return ["pipeline = mt.Pipeline()"]
    texts = [str(entry) for entry in pipeline]
    quoted = [f'    "{text}{"," if n < len(texts) - 1 else ""}"' for n, text in enumerate(texts)]
    return ["pipeline = mt.Pipeline.parse(", *quoted, ")"]
