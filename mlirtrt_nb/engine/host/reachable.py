"""A function and all that it needs, as a module of its own with names of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch_mlir import ir
from torch_mlir.dialects.builtin import ModuleOp

from ...errors import EngineBuildError

__all__ = ["alone"]

# Before each symbol, so that a user's @exp or @malloc is not taken for the C library's.
_OWN = "mt."
# What a name in quotes may have beside this is spelled by its number, so that LLVM and C can name it too.
_OTHER = re.compile(r"[^A-Za-z0-9_.]")


def alone(function: ir.Operation) -> tuple[ModuleOp, str]:
    """A new module with a copy of `function` and of every symbol that it reaches, and the entry's name there.

    All others are private. Raises EngineBuildError for a symbol that is missing or has no body.
    """
    entry = _symbol(function)
    found = _reached(function)
    with function.location:
        module = ModuleOp()
    for operation in found.values():
        module.body.append(operation.clone())
    for op in list(module.body.operations):
        operation = op.operation
        name = _symbol(operation)
        operation.attributes["sym_name"] = ir.StringAttr.get(_own(name))
        ir.SymbolTable.replace_all_symbol_uses(name, _own(name), module.operation)
        if name != entry:
            operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
        elif "sym_visibility" in operation.attributes:
            del operation.attributes["sym_visibility"]
        _strip_boundary(operation)
    return module, _own(entry)


def _own(name: str) -> str:
    return _OWN + _OTHER.sub(lambda match: f"${ord(match[0]):x}.", name)


def _symbol(operation: ir.Operation) -> str:
    return ir.StringAttr(operation.attributes["sym_name"]).value


def _strip_boundary(operation: ir.Operation) -> None:
    """Remove what other dialects say of arguments and results: lowering would carry it along."""
    for key in ("arg_attrs", "res_attrs"):
        if operation.name == "func.func" and key in operation.attributes:
            del operation.attributes[key]


def _reached(function: ir.Operation) -> dict[str, ir.Operation]:
    parent = function.parent
    siblings = {} if parent is None else _siblings(parent.operation)
    found = {_symbol(function): function}
    waiting = [function]
    while waiting:
        user = waiting.pop()
        for name in _references(user):
            if name in found:
                continue
            target = siblings.get(name)
            if target is None or not _has_body(target):
                lacks = "is not in the module" if target is None else "has no body"
                raise EngineBuildError(f"@{name} {lacks}", where=f"@{_symbol(user)}")
            found[name] = target
            waiting.append(target)
    return found


def _siblings(module: ir.Operation) -> dict[str, ir.Operation]:
    operations = (op.operation for op in module.regions[0].blocks[0].operations)
    return {_symbol(op): op for op in operations if "sym_name" in op.attributes}


def _has_body(operation: ir.Operation) -> bool:
    return not len(operation.regions) or len(operation.regions[0].blocks) > 0


def _references(root: ir.Operation) -> Iterator[str]:
    names: dict[str, None] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        for key in operation.attributes:
            _collect(operation.attributes[key], names)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return iter(names)


def _collect(attribute: ir.Attribute, names: dict[str, None]) -> None:
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        names[attribute.value] = None
    elif isinstance(attribute, ir.ArrayAttr):
        for entry in attribute:
            _collect(entry, names)
