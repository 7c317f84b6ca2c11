"""Checks ops against their definitions: operands, attributes, inferred types, then the op's own rules.

MLIR's verifier sees only IRDL's counts, so that verifying after each pass stays cheap. This one runs at
stage boundaries, and after passes of the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import NoReturn

from torch_mlir import ir

from ..errors import SourceSpan, VerificationError
from . import shapes
from .attributes import to_python
from .builder import Op
from .context import definition, definitions
from .diagnostics import Found, found_in, place_of, raise_all, span_at
from .opdef import Attr, Operand, ResultDef

__all__ = ["broken_rules", "errors_of", "reject", "verify", "verify_op"]

# An index result may be of either width: the builder has a setting for it, and inference gives the first.
_EITHER_WIDTH = "i32 i64"

_KINDS: dict[str, tuple[type, ...]] = {
    "i1": (ir.BoolAttr,),
    "str": (ir.StringAttr,),
    "unit": (ir.UnitAttr,),
    "array<i32>": (ir.DenseI32ArrayAttr,),
    "array<i64>": (ir.DenseI64ArrayAttr,),
    "array<f32>": (ir.DenseF32ArrayAttr,),
    "affine_map": (ir.AffineMapAttr,),
    "symbol": (ir.SymbolRefAttr, ir.FlatSymbolRefAttr),
    "type": (ir.TypeAttr,),
    "dict": (ir.DictAttr,),
    "array": (ir.ArrayAttr,),
}

_NUMBERS = ("i32", "i64", "si64", "ui32", "f32", "f64")
_LISTS = (ir.ArrayAttr, ir.DenseI32ArrayAttr, ir.DenseI64ArrayAttr, ir.DenseF32ArrayAttr)


def reject(op: Op, message: str) -> NoReturn:
    """Raise `VerificationError` with the op's name before `message` and its location, where it has one."""
    where = str(op.operation.location) if op.operation is not None else None
    raise VerificationError(f"{op.definition.display_name or op.name}: {message}", where=where)


def verify(module: ir.Operation | ir.OpView, text: str | None = None, filename: str | None = None) -> None:
    """Raise `VerificationError` for the first broken rule in `module`, with all others in its `others`.

    MLIR's own verifier runs first, then the rules of the package's ops. `text` is what the user wrote, for
    showing the line, where an op's location names `filename` (or any file, if that is None).
    """
    root = module.operation
    lines = (text or "").split("\n")

    def span_of(location: ir.Location, by_verifier: bool = True) -> SourceSpan | None:
        place = place_of(location)
        if place is None or place[1] == 0:
            return None
        file, line, column = place
        known = filename in (None, file) and line <= len(lines)
        return span_at(file, line, column, lines[line - 1] if known else "")

    found = _broken_by_mlir(root, span_of)
    for operation, error in broken_rules(root):
        span = span_of(operation.location)
        found.append(Found(error.what, span, error.hint, True, error.where if span is None else None))
    raise_all(found)


def _broken_by_mlir(
    root: ir.Operation, span_of: Callable[[ir.Location, bool], SourceSpan | None]
) -> list[Found]:
    context = root.context
    noisy, context.emit_error_diagnostics = context.emit_error_diagnostics, False
    try:
        root.verify()
    except ir.MLIRError as error:
        found = found_in(error, span_of) or [Found("the module is not valid", None)]
        return [replace(entry, broken_rule=True) for entry in found]
    finally:
        context.emit_error_diagnostics = noisy
    return []


def errors_of(root: ir.Operation | ir.OpView) -> list[VerificationError]:
    """Every broken rule of the package's ops in `root`, at most one per op, in program order."""
    return [error for _, error in broken_rules(root.operation)]


def broken_rules(root: ir.Operation) -> Iterator[tuple[ir.Operation, VerificationError]]:
    """Each op of the package's that breaks a rule, with the first that it breaks, in program order."""
    for operation in _walk(root):
        try:
            if operation.name == "func.func":
                _check_arguments(operation)
            elif definition(operation.name) is not None:
                verify_op(operation)
        except VerificationError as error:
            yield operation, error


def _walk(operation: ir.Operation) -> Iterator[ir.Operation]:
    yield operation
    for region in operation.regions:
        for block in region:
            for child in block.operations:
                yield from _walk(child.operation)


def verify_op(operation: ir.Operation | ir.OpView) -> None:
    """Raise `VerificationError` for the first rule that an op of the package's dialects breaks."""
    with operation.operation.context:
        op = Op.of(operation)
        for operand in op.definition.operands:
            _check_operand(op, operand)
        for attr in op.definition.attrs:
            _check_attribute(op, attr)
        if op.definition.verify is not None:
            op.definition.verify(op)
        _check_results(op, list(operation.operation.results))


def _check_arguments(function: ir.Operation) -> None:
    """The attributes that the package's dialects put on function arguments."""
    if "arg_attrs" not in function.attributes:
        return
    rules = {name: rule for dialect in definitions().values() for name, rule in dialect.arguments.items()}
    kinds = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    for number, (entry, kind) in enumerate(zip(function.attributes["arg_attrs"], kinds, strict=True)):
        for named in ir.DictAttr(entry):
            problem = rules[named.name](named.attr, kind) if named.name in rules else None
            if problem is not None:
                symbol = ir.StringAttr(function.attributes["sym_name"]).value
                what = f"func.func @{symbol}: argument {number}, {kind}: {named.name} {problem}"
                raise VerificationError(what, where=str(function.location))


@cache
def _accepted(types: str) -> frozenset[str]:
    return frozenset(types.split())


def _check_operand(op: Op, operand: Operand) -> None:
    if operand.types == "any":
        return
    for value in op.group(operand.name):
        _check_element(op, operand.name, operand.types, value.type)


def _check_element(op: Op, name: str, types: str, kind: ir.Type) -> None:
    if not isinstance(kind, ir.RankedTensorType):
        reject(op, f"{name} is {kind}; it must be a ranked tensor")
    if kind.rank > 8:
        reject(op, f"{name} has rank {kind.rank}; TensorRT takes at most 8 dimensions")
    if shapes.element_name(kind.element_type) not in _accepted(types):
        reject(op, f"{name} is {kind}; its element type must be one of {types.replace(' ', ', ')}")


def _check_attribute(op: Op, attr: Attr) -> None:
    found = op.raw(attr.name)
    if found is None:
        if not attr.optional and attr.default is None:
            reject(op, f"needs the attribute {attr.name} ({attr.kind})")
        return
    if not _is_of(op.definition.dialect, found, attr.kind):
        right = _spelled(found, attr.kind)
        hint = f"; write {right}" if right else ""
        reject(op, f"{attr.name} = {found} is not of kind {attr.kind}{hint}")


def _spelled(attribute: ir.Attribute, kind: str) -> str | None:
    """The same value as an attribute of `kind`; None where it has none."""
    if kind in _NUMBERS and isinstance(attribute, ir.IntegerAttr | ir.FloatAttr):
        value = attribute.value
        whole = kind[0] != "f"
        return f"{int(value) if whole else float(value)} : {kind}" if not whole or value == int(value) else None
    items = list(attribute) if isinstance(attribute, _LISTS) else None
    if items is None or not kind.startswith("array<"):
        return None
    values = [to_python(item) if isinstance(item, ir.Attribute) else item for item in items]
    element = kind[6:-1]
    if not all(type(value) is int or (type(value) is float and element == "f32") for value in values):
        return None
    listed = ", ".join(str(float(v) if element == "f32" else v) for v in values)
    return f"array<{element}: {listed}>" if values else f"array<{element}>"


def _is_of(dialect: str, attribute: ir.Attribute, kind: str) -> bool:
    if kind in _KINDS:
        return isinstance(attribute, _KINDS[kind])
    if kind in ("i32", "i64", "si64", "ui32"):
        return isinstance(attribute, ir.IntegerAttr) and str(attribute.type) == kind
    if kind in ("f32", "f64"):
        return isinstance(attribute, ir.FloatAttr) and str(attribute.type) == kind
    if kind == "elements":
        return isinstance(attribute.type, ir.RankedTensorType)  # type: ignore[attr-defined]
    if kind.startswith("enum:"):
        return _is_enum_value(dialect, kind[5:], attribute)
    return True


def _is_enum_value(dialect: str, mnemonic: str, attribute: ir.Attribute) -> bool:
    enum = definitions()[dialect].enums[mnemonic]
    return str(attribute) in _spellings(dialect, mnemonic, enum.values)


@cache
def _spellings(dialect: str, mnemonic: str, values: tuple[str, ...]) -> frozenset[str]:
    return frozenset(f'#{dialect}.{mnemonic}<"{value}">' for value in values)


def _check_results(op: Op, results: list[ir.Value]) -> None:
    inferred = op.definition.infer(op) if op.definition.infer else None
    if inferred is not None and len(inferred) != len(results):
        reject(op, f"has {len(results)} results; {len(inferred)} are inferred")
    for number, value in enumerate(results):
        declared = op.definition.results[min(number, len(op.definition.results) - 1)]
        if declared.types != "any":
            _check_element(op, declared.name, declared.types, value.type)
        if inferred is not None:
            _check_inferred(op, declared, value.type, inferred[number])


def _check_inferred(op: Op, declared: ResultDef, given: ir.Type, inferred: ir.Type) -> None:
    if given == inferred:
        return
    if not (isinstance(given, ir.RankedTensorType) and isinstance(inferred, ir.RankedTensorType)):
        reject(op, f"{declared.name} is declared {given} but inferred {inferred}")
    same_element = declared.types == _EITHER_WIDTH or given.element_type == inferred.element_type
    if same_element and shapes.compatible(given.shape, inferred.shape):
        return
    reject(op, f"{declared.name} is declared {given} but inferred {inferred}")
