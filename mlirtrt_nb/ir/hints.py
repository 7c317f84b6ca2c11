"""MLIR's messages in plainer words, with the nearest name where one was misspelt."""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from .stablehlo_names import STABLEHLO_NAMES

__all__ = ["NO_DIALECT", "explain", "near_ops", "nearest"]

_UNKNOWN_OP = re.compile(
    r"custom op '([\w.$]+)' is unknown|unregistered operation '([\w.$]+)' found in dialect"
)
_UNKNOWN_DIALECT = re.compile(
    r"Dialect `(\w+)' not found for custom op|#\"(\w+)\"<.*unregistered dialect", re.DOTALL
)
NO_DIALECT = "operation being parsed with an unregistered dialect"
_UNREGISTERED = "from_mlir(text, unregistered=True) and opt --allow-unregistered-dialect take such ops"
_AVAILABLE = re.compile(r"Available dialects: ([^;]*?)(?: \(\* corresponding|;|$)")
_NO_END = re.compile(r"^block with no terminator, has .*?\"([\w.]+)\"", re.DOTALL)
_REDEFINED = "redefinition of SSA value"
_RENAME = "a value is defined once: give one another name"
_NO_TYPE = ("expected non-function type", "invalid tensor element type")
_TYPES = ("f16", "bf16", "f32", "f64", "i1", "i4", "i8", "i16", "i32", "i64", "ui8", "index", "f8E4M3FN")
_NO_CHARACTER = "unexpected character"
_ASCII = "MLIR is written in ASCII; anything else may stand in strings and comments"
_UNDEFINED = "use of undeclared SSA value name"
_CHOICES = re.compile(r"enum values for attribute '\w+' \[([^\]]*)\]")

# What can stand where an op is expected without naming its dialect.
_BARE = ("func.func", "module", "return", "func.return", "func.call", "call")
# Python modules that are not called as their dialect is.
_MODULES = {"async": "async_dialect", "acc": "openacc", "omp": "openmp"}


def nearest(name: str, candidates: list[str] | tuple[str, ...]) -> str | None:
    """A hint that names the candidates closest to `name`, or all of a few; None if none is close."""
    found = get_close_matches(name, candidates, n=3, cutoff=0.6)
    if found:
        return f"did you mean {' or '.join(found)}?"
    return f"there are {', '.join(candidates)}" if 0 < len(candidates) <= 24 else None


def near_ops(name: str) -> str | None:
    """A hint with the ops closest to `name`, by their MLIR names; None if none is. It may lack the dialect."""
    from .context import definitions

    # TensorRT's first, in whichever order the dialects were loaded.
    own = [op for _, dialect in sorted(definitions().items(), reverse=True) for op in dialect.ops]
    if "." in name:
        found = get_close_matches(name.lower(), [*own, *_ops_like(name)], n=3)
    else:
        short = {op.partition(".")[2] for op in own}
        close = get_close_matches(name.lower(), short, n=3)
        found = [op for mnemonic in close for op in own if op.partition(".")[2] == mnemonic][:4]
    return f"did you mean {' or '.join(found)}?" if found else None


def explain(message: str, notes: list[str], token: str) -> tuple[str, str | None]:
    """A message of MLIR's and a hint. `token` is what stands where the message points."""
    note = "; ".join(notes) or None
    match = _UNKNOWN_OP.search(message)
    if match is not None:
        name = match.group(1) or match.group(2)
        return f"unknown op {name}", nearest(name, list(_ops_like(name)))
    match = _UNKNOWN_DIALECT.search(message)
    if match is not None:
        name = match.group(1) or match.group(2)
        available = _AVAILABLE.search(note or "")
        names = re.findall(r"\w+", available.group(1)) if available else []
        return f"unknown dialect {name}", nearest(name, names)
    match = _NO_END.search(message)
    if match is not None:
        return "the block does not end: its last op is " + match.group(1), "end a function with return"
    if message.startswith(_REDEFINED):
        place = note.rpartition(": ")[2] if note and ": " in note else ""
        return message, f"{_RENAME} (it is there in {place} already)" if place else _RENAME
    if message in _NO_TYPE and token:
        return f"a type is expected here, not {token}", _near_types(token)
    if message == _NO_CHARACTER and token:
        return f"{message} {_character(token[0])}", note if token.isascii() else _ASCII
    if message == _UNDEFINED and token.startswith("%"):
        return f"{message} {token}", note
    if NO_DIALECT in message:
        name = token.strip('"')
        near = nearest(name.partition(".")[0], _dialects())
        return f"op {name} is of an unknown dialect", near or _UNREGISTERED
    match = _CHOICES.search(message)
    if match is not None:
        return message, nearest(token, match.group(1).split(", ")) or note
    return message, note


def _character(character: str) -> str:
    """A character for a message: by its code and name where it cannot be seen or is easily mistaken."""
    if character.isascii() and character.isprintable():
        return repr(character)
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'without a name')})"


def _near_types(token: str) -> str | None:
    """The element types closest to `token`, which may stand behind dimensions ("4xf23")."""
    found = get_close_matches(token.rpartition("x")[2], _TYPES, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(found)}?" if found else None


def _dialects() -> list[str]:
    """The package's own dialects and those that MLIR's bindings have ops of."""
    from pkgutil import iter_modules

    import torch_mlir.dialects

    from .context import definitions

    names = {module.name for module in iter_modules(torch_mlir.dialects.__path__) if module.name[0] != "_"}
    return sorted(names | definitions().keys())


@cache
def _ops_like(name: str) -> tuple[str, ...]:
    """The ops of the dialect that an op's name begins with."""
    dialect, dot, _ = name.partition(".")
    if not dot:
        return _BARE
    try:
        module = import_module(f"torch_mlir.dialects.{_MODULES.get(dialect, dialect)}")
    except ImportError:
        return tuple(known for known in STABLEHLO_NAMES if known.startswith(f"{dialect}."))
    names = {getattr(entry, "OPERATION_NAME", None) for entry in vars(module).values()}
    return tuple(sorted(n for n in names if isinstance(n, str) and n.startswith(f"{dialect}.")))
