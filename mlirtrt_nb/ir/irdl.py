"""Turns a `DialectDef` into IRDL, loads it or some of its ops into a context, and attaches the traits."""

from __future__ import annotations

import io
from collections.abc import Iterable

from torch_mlir import ir
from torch_mlir.dialects import ext, irdl

from .opdef import VARIADIC_SLOTS, DialectDef, OpDef

__all__ = ["load", "load_some", "needs_segments", "slots"]


def slots(definitions: tuple) -> list[str]:
    """One of "single", "optional", "slot" per IRDL operand or result; a variadic is many slots."""
    kinds: list[str] = []
    for definition in definitions:
        if definition.variadic:
            kinds += ["slot"] * VARIADIC_SLOTS
        else:
            kinds.append("optional" if getattr(definition, "optional", False) else "single")
    return kinds


def needs_segments(definitions: tuple) -> bool:
    """Whether ops with these operands (or results) carry a segment-sizes attribute."""
    return any(d.variadic or getattr(d, "optional", False) for d in definitions)


def _group(keyword: str, prefix: str, definitions: tuple) -> str:
    kinds = slots(definitions)
    if not kinds:
        return ""
    declare = "".join(f"%{prefix}{n} = irdl.any\n" for n in range(len(kinds)))
    entries = ", ".join(
        f"{prefix}{n}: {'' if kind == 'single' else 'optional '}%{prefix}{n}" for n, kind in enumerate(kinds)
    )
    return f"{declare}irdl.{keyword}({entries})\n"


def _operation(op: OpDef) -> str:
    body = _group("operands", "i", op.operands) + _group("results", "o", op.results)
    if op.regions:
        body += "".join(f"%r{n} = irdl.region\n" for n in range(len(op.regions)))
        body += "irdl.regions(" + ", ".join(f"r{n}: %r{n}" for n in range(len(op.regions))) + ")\n"
    return f"irdl.operation @{op.mnemonic} {{\n{body}}}\n"


def _parametric(keyword: str, name: str, params: tuple[str, ...]) -> str:
    """An `irdl.attribute` or `irdl.type` definition."""
    declare = "".join(f"%{p} = irdl.any\n" for p in params)
    listed = ", ".join(f"{p}: %{p}" for p in params)
    return f"irdl.{keyword} @{name} {{\n{declare}{f'irdl.parameters({listed})' if params else ''}\n}}\n"


def _definition(dialect: DialectDef, ops: Iterable[OpDef]) -> str:
    """The dialect with all of its attributes and types, and with `ops`."""
    parts = [_parametric("attribute", enum, ("value",)) for enum in dialect.enums]
    parts += [_parametric("attribute", name, params) for name, params in dialect.params.items()]
    types = dialect.types if isinstance(dialect.types, dict) else dict.fromkeys(dialect.types, ())
    parts += [_parametric("type", name, params) for name, params in types.items()]
    parts += [_operation(op) for op in ops]
    return f"irdl.dialect @{dialect.name} {{\n{''.join(parts)}}}\n"


# Bytecode of each dialect's IRDL module: it parses twice as fast as text.
_BYTECODE: dict[DialectDef, bytes] = {}


def _module(dialect: DialectDef) -> ir.Module:
    """The dialect's IRDL module in the current context."""
    bytecode = _BYTECODE.get(dialect)
    if bytecode is not None:
        return ir.Module.parse(bytecode)
    module = ir.Module.parse(_definition(dialect, dialect.ops.values()))
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    _BYTECODE[dialect] = buffer.getvalue()
    return module


def load(dialect: DialectDef, context: ir.Context, loaded: frozenset[str] = frozenset()) -> None:
    """Register `dialect` in `context`: IRDL definitions, then the traits of each op.

    `loaded` names the ops that `load_some` has put there, together with the attributes and types.
    """
    with context, ir.Location.unknown():
        module = _module(dialect)
        if loaded:
            _drop_loaded(module, loaded)
        irdl.load_dialects(module)
        for op in dialect.ops.values():
            if op.name not in loaded:
                _attach(op)


def load_some(dialect: DialectDef, names: frozenset[str], context: ir.Context) -> None:
    """Register the attributes and types of `dialect` and the ops `names` in `context`."""
    ops = [dialect.ops[name] for name in sorted(names)]
    with context, ir.Location.unknown():
        irdl.load_dialects(ir.Module.parse(_definition(dialect, ops)))
        for op in ops:
            _attach(op)


def _drop_loaded(module: ir.Module, ops: frozenset[str]) -> None:
    """Leave out what a context has already: MLIR ends the process where an op is registered twice."""
    dialect = module.body.operations[0]
    prefix = dialect.attributes["sym_name"].value + "."
    for entry in list(dialect.regions[0].blocks[0]):
        known = isinstance(entry.opview, irdl.AttributeOp | irdl.TypeOp)
        if known or prefix + entry.attributes["sym_name"].value in ops:
            entry.operation.erase()


def _attach(op: OpDef) -> None:
    if "pure" in op.traits:
        ext.Pure.attach(op.name)
    if "terminator" in op.traits:
        ir.IsTerminatorTrait.attach(op.name)
    if "isolated" in op.traits:
        ir.IsIsolatedFromAboveTrait.attach(op.name)
    if "no_terminator" in op.traits:
        ir.NoTerminatorTrait.attach(op.name)
