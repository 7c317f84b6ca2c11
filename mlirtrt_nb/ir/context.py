"""MLIR contexts with every dialect the package knows, or with a few ops of one until more are needed.

Each Program has a context of its own: attributes live as long as their context, so a dropped Program
frees all it held, and names of weights never clash between programs.

Loading all dialects takes longer than importing a small model. So an importer takes a context with the ops
that its model has, and whoever else looks at the module gets it in a context that has been completed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from weakref import WeakKeyDictionary

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo
from torch_mlir._mlir_libs._mlir import globals as globals_
from torch_mlir.dialects import torch as torch_dialect

from . import irdl
from .opdef import DialectDef, OpDef

__all__ = [
    "complete",
    "context_of_ops",
    "definition",
    "definitions",
    "give_back",
    "keep_spare",
    "load_chlo",
    "new_context",
    "op_named",
    "register_dialect",
    "shown_name",
    "with_shown_names",
]

_DIALECTS: dict[str, DialectDef] = {}
_OP_NAME = re.compile(r"(?<![\w.$])[a-z_]\w*\.\w+")


def register_dialect(dialect: DialectDef) -> None:
    """Make `dialect` part of every context made from now on. Called when its package is imported."""
    _DIALECTS[dialect.name] = dialect


def definitions() -> dict[str, DialectDef]:
    """The package's own dialects by name, importing them on first use."""
    _import_dialects()
    return _DIALECTS


@cache
def _import_dialects() -> None:
    # By name, since ir must not import a higher package when it is itself imported. All three, even if
    # somebody has imported one of them already.
    for name in ("tensorrt", "plan", "onnx"):
        import_module(f"mlirtrt_nb.dialects.{name}")
    # Without this the bindings search for a module "torch_mlir.dialects.onnx" whenever an op is looked at,
    # at 70 us each: they remember only what they find.
    globals_.append_dialect_search_prefix("mlirtrt_nb.dialects")


def definition(op_name: str) -> OpDef | None:
    """The `OpDef` of "dialect.mnemonic", or None for an op of another dialect."""
    dialect = definitions().get(op_name.partition(".")[0])
    return dialect.ops.get(op_name) if dialect else None


def op_named(name: str) -> OpDef | None:
    """The `OpDef` of an op by either name, MLIR's `onnx.conv` or "onnx.Conv" as it is shown."""
    found = definition(name) or definition(name.lower())
    return found if found is not None and name in (found.name, found.display_name) else None


def shown_name(op_name: str) -> str:
    """How an op is called in text: "onnx.Conv" for `onnx.conv`."""
    found = definition(op_name)
    return found.display_name or op_name if found else op_name


def with_shown_names(said: str) -> str:
    """What MLIR says, with ops called as they are shown."""
    return _OP_NAME.sub(lambda match: shown_name(match[0]), said)


# At most one context for the next program. Taking it out of a list is atomic.
_spare: list[ir.Context] = []
_uses: WeakKeyDictionary[ir.Context, int] = WeakKeyDictionary()
_MOST_USES = 100  # types and attributes stay in their context
# The dialect and its ops that a context was made with, while it lacks the others.
_partial: WeakKeyDictionary[ir.Context, tuple[str, frozenset[str]]] = WeakKeyDictionary()


def keep_spare() -> None:
    """Make the next context in advance, for who has time now: it is most of the work of reading a program."""
    if not _spare:
        _spare.append(_made())


def give_back(context: ir.Context) -> None:
    """Let the next program have a context in which no handle of a weight was ever made, and nothing registered.

    Only for a process that shows nobody its programs, since they share it then.
    """
    _uses[context] = _uses.get(context, 0) + 1
    if not _spare and _uses[context] < _MOST_USES:
        _spare.append(context)


def new_context() -> ir.Context:
    """A fresh context: upstream, stablehlo, torch and the package's own dialects."""
    with suppress(IndexError):
        return _spare.pop()
    return _made()


def context_of_ops(dialect: str, names: Iterable[str]) -> ir.Context:
    """A context with the builtin and func dialects and the ops `names` of `dialect`, to be completed later."""
    context = ir.Context(load_on_create_dialects=["func"])
    loaded = frozenset(names)
    irdl.load_some(definitions()[dialect], loaded, context)
    _partial[context] = dialect, loaded
    return context


def complete(context: ir.Context) -> None:
    """Give a context of `context_of_ops` all that a `new_context` has; any other is left as it is."""
    if context not in _partial:
        return
    dialect, loaded = _partial.pop(context)
    context.load_all_available_dialects()
    _fill(context, {dialect: loaded})


def _made() -> ir.Context:
    context = ir.Context()
    _fill(context, {})
    return context


def _fill(context: ir.Context, loaded: dict[str, frozenset[str]]) -> None:
    """All dialects that MLIR does not bring, less the ops by dialect that the context has already."""
    with context:
        _stablehlo.register_dialect(context)
        torch_dialect.register_dialect(context)
    for dialect in definitions().values():
        irdl.load(dialect, context, loaded.get(dialect.name, frozenset()))


def load_chlo(context: ir.Context) -> None:
    """Add the chlo dialect, which the bindings cannot register: a pass that makes its ops brings it along.

    Takes some 50 ms, so it is done only for text and bytecode that name the dialect.
    """
    from torch_mlir.passmanager import PassManager

    with context, ir.Location.unknown():
        empty = ir.Module.create().operation
        PassManager.parse("builtin.module(func.func(convert-torch-to-stablehlo))").run(empty)
