"""Reads modules from another process into a context that knows their weights' names already.

MLIR gives a handle `dense_resource<w>` another name (`w_1`) when its context has seen `w` before. What comes
back from another process would so have other names than what was sent. Here each handle is put back to the one
of its own name, and the program can go on in the context that it came from, which also saves the making of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch_mlir import ir

from ..errors import MlirTrtError
from .bytecode import parse_module
from .constants import handle_name

if TYPE_CHECKING:
    from torch_mlir.dialects.builtin import ModuleOp

__all__ = ["HandleReader", "Rejoiner"]

# Handles by name and type, of one context.
Known = dict[tuple[str, str], ir.Attribute]


class HandleReader:
    """Finds handles, and remembers which attributes are some: MLIR has to print one to tell."""

    def __init__(self) -> None:
        self._names: dict[ir.Attribute, str | None] = {}

    def names(self, module: ModuleOp) -> list[str]:
        """The names of all handles in the module, in the order of its ops and their attributes."""
        return [name for _, _, _, name in self.handles(module.operation)]

    def handles(self, root: ir.Operation) -> list[tuple[ir.Operation, str, ir.Attribute, str]]:
        """Op, attribute name, attribute and handle name of every handle."""
        found: list[tuple[ir.Operation, str, ir.Attribute, str]] = []

        def visit(operation: ir.Operation) -> ir.WalkResult:
            attributes = operation.attributes
            for key in attributes:
                attribute = attributes[key]
                if type(attribute) is ir.Attribute:  # the bindings give handles no class of their own
                    name = self._name(attribute)
                    if name is not None:
                        found.append((operation, key, attribute, name))
            return ir.WalkResult.ADVANCE

        root.walk(visit)
        return found

    def _name(self, attribute: ir.Attribute) -> str | None:
        if attribute not in self._names:
            self._names[attribute] = handle_name(attribute)
        return self._names[attribute]


class Rejoiner:
    """Reads modules into the context of `home`, which is looked at when the first one is read.

    `known` has what was found in that context before, and gets what is found from now on.
    """

    def __init__(self, home: Callable[[], ModuleOp], known: Known) -> None:
        self._home = home
        self._known = known
        self._reader = HandleReader()
        self._looked = False

    def read(
        self, data: bytes, names: Sequence[str], weights: dict[str, np.ndarray], error: type[MlirTrtError]
    ) -> ModuleOp:
        """The module of `data`, whose handles were called `names` where it was written.

        Where a name cannot be had in this context, `weights` gets an entry under the name that MLIR gave.
        Raises `error` for data that cannot be read.
        """
        module, renamed = self._read(data, names, error)
        weights.update({got: weights[wanted] for got, wanted in renamed.items() if wanted in weights})
        return module

    def read_exactly(self, data: bytes, names: Sequence[str], error: type[MlirTrtError]) -> ModuleOp | None:
        """As `read`, but None where a name cannot be had."""
        module, renamed = self._read(data, names, error)
        return None if renamed else module

    def _read(
        self, data: bytes, names: Sequence[str], error: type[MlirTrtError]
    ) -> tuple[ModuleOp, dict[str, str]]:
        """The module, and the handles that have another name: present name -> name where it was written."""
        home = self._home()
        if names and not self._looked:
            self._looked = True
            for _, _, attribute, name in self._reader.handles(home.operation):
                self._known[name, str(attribute.type)] = attribute  # type: ignore[attr-defined]
        module = parse_module(data, home.context, error)
        found = self._reader.handles(module.operation) if names else []
        renamed: dict[str, str] = {}
        for (operation, key, attribute, got), wanted in zip(found, names, strict=True):
            kind = str(attribute.type)  # type: ignore[attr-defined]
            if got == wanted:
                self._known[wanted, kind] = attribute
            elif (wanted, kind) in self._known:
                operation.attributes[key] = self._known[wanted, kind]
            else:
                renamed[got] = wanted
        return module, renamed
