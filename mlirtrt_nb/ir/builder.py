"""Making ops and reading them by the names their `OpDef` gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Self

from torch_mlir import ir

from ..errors import OptionError
from ..kind_name import kind_name
from .attributes import from_python, to_python
from .context import definition, op_named
from .hints import near_ops, nearest
from .irdl import needs_segments
from .made import note
from .opdef import VARIADIC_SLOTS, Attr, OpDef, Operand

__all__ = ["Op", "create"]

_OPERAND_SIZES = "operandSegmentSizes"
_RESULT_SIZES = "resultSegmentSizes"
_LONGEST = 40  # lines of an op that is shown


@cache
def _definition(name: str) -> OpDef:
    found = definition(name)
    if found is None:
        raise KeyError(f"{name} is not an op of the package's dialects")
    return found


def _segments(definitions: tuple, counts: Sequence[int]) -> ir.Attribute:
    """`counts[i]` values for definition i, spread over the IRDL slots."""
    sizes: list[int] = []
    for entry, count in zip(definitions, counts, strict=True):
        if not entry.variadic:
            sizes.append(count)
        elif count > VARIADIC_SLOTS:
            raise ValueError(f"{entry.name}: {count} values; at most {VARIADIC_SLOTS} fit")
        else:
            sizes += [1] * count + [0] * (VARIADIC_SLOTS - count)
    return ir.DenseI32ArrayAttr.get(sizes)


def create(
    name: str,
    operands: Sequence[ir.Value | Sequence[ir.Value] | None] = (),
    attributes: Mapping[str, Any] | None = None,
    results: Sequence[ir.Type | str] | None = None,
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """Create an op of one of the package's dialects at the current insertion point.

    Args:
        name: full name ("tensorrt.slice").
        operands: one entry per operand of the OpDef, in its order; None where an optional one is absent,
            a sequence for a variadic one. Trailing optional operands may be left out.
        attributes: Python values or MLIR attributes; None values are left out, as are values equal to
            the declared default. Names that the OpDef does not declare must be MLIR attributes.
        results: result types, or their text; None asks the op's `infer`.

    Regions are created empty: append blocks to `op.regions[i].blocks`.

    Raises OptionError for an op that there is not, operands or results that are none, more operands than it
    takes or fewer than it needs, an attribute that it does not have, or a value that is none of the
    attribute's.
    """
    try:
        op = _definition(name)
    except KeyError:
        raise _no_op(name) from None
    groups = _groups(op, operands)
    attrs: dict[str, ir.Attribute] = {}
    for key, value in (attributes or {}).items():
        declared = op.attr(key)
        is_default = declared is not None and declared.default is not None and value == declared.default
        if value is None or is_default:
            continue
        if isinstance(value, ir.Attribute):
            attrs[key] = value
        elif declared is None:
            raise OptionError(f"{_shown(op)} has no attribute {key}", hint=_near_attribute(op, key))
        else:
            attrs[key] = _converted(op, declared, value)
    flat = [value for group in groups for value in group]
    if needs_segments(op.operands):
        attrs[_OPERAND_SIZES] = _segments(op.operands, [len(group) for group in groups])
    types = _infer(op, groups, attrs) if results is None and op.results else _types(op, results or ())
    if needs_segments(op.results):
        fixed = len(op.results) - 1
        attrs[_RESULT_SIZES] = _segments(op.results, [1] * fixed + [len(types) - fixed])
    made = ir.Operation.create(name, list(types), flat, attrs, regions=len(op.regions), loc=loc, ip=ip)
    note(made)
    return made


def _shown(op: OpDef) -> str:
    return op.display_name or op.name


def _no_op(name: str) -> OptionError:
    found = op_named(name)
    hint = f"ops are made by MLIR's name, {found.name}" if found is not None else near_ops(name)
    return OptionError(f"no op named {name!r}", hint=hint)


def _too_many(op: OpDef, count: int) -> OptionError:
    names = ", ".join(entry.name for entry in op.operands) or "none"
    hint = "give the values of a variadic one as a list" if any(o.variadic for o in op.operands) else None
    return OptionError(f"{_shown(op)} is given {count} operands; it takes {names}", hint=hint)


def _near_attribute(op: OpDef, name: str) -> str | None:
    if any(entry.name == name for entry in op.operands):
        return f"{name} is an operand"
    return nearest(name, [attr.name for attr in op.attrs])


def _converted(op: OpDef, attr: Attr, value: Any) -> ir.Attribute:
    try:
        return from_python(op.dialect, attr, value)
    except (KeyError, TypeError, ValueError) as error:
        hint = getattr(error, "hint", None)
        what = f"{_shown(op)}: {attr.name} is of kind {attr.kind}, not {value!r}"
        raise OptionError(what, hint=hint) from error


def _groups(op: OpDef, operands: Sequence[ir.Value | Sequence[ir.Value] | None]) -> list[list[ir.Value]]:
    """The values of each operand of the definition."""
    if not _is_list(operands):
        raise _no_list(op, "operands", operands)
    if len(operands) > len(op.operands):
        raise _too_many(op, len(operands))
    given = [*operands, *[None] * (len(op.operands) - len(operands))]
    groups = [_as_group(op, entry, value) for entry, value in zip(op.operands, given, strict=True)]
    for entry, group in zip(op.operands, groups, strict=True):
        if not (group or entry.optional or entry.variadic):
            takes = ", ".join(each.name for each in op.operands)
            raise OptionError(f"{_shown(op)} is given no {entry.name}", hint=f"it takes {takes}, in this order")
    return groups


def _as_group(op: OpDef, entry: Operand, value: Any) -> list[ir.Value]:
    if value is None:
        return []
    if isinstance(value, ir.Value):
        return [value]
    values = list(value) if _is_list(value) else [value]
    for each in values:
        if not isinstance(each, ir.Value):
            makes = isinstance(each, ir.Operation | ir.OpView | Op)
            hint = "give one of its results: op.results[0]" if makes else None
            raise OptionError(f"{_shown(op)}: {entry.name} is {kind_name(each)}, not a value", hint=hint)
    return values


def _types(op: OpDef, results: Sequence[ir.Type | str]) -> list[ir.Type]:
    if not _is_list(results):
        raise _no_list(op, "result types", results)
    return [_type(op, given) for given in results]


def _type(op: OpDef, given: ir.Type | str) -> ir.Type:
    if isinstance(given, ir.Type):
        return given
    what = f"{_shown(op)}: the result type {given!r} is {kind_name(given)}, not a type"
    if not isinstance(given, str):
        raise OptionError(what, hint='give a type, such as a value\'s .type, or its text, "tensor<4xf32>"')
    try:
        return ir.Type.parse(given)
    except ir.MLIRError as error:
        said = str(error).partition("\n")[0]
        raise OptionError(f"{_shown(op)}: {given!r} is no type: {said}") from None


def _is_list(given: Any) -> bool:
    """Whether it has items, as lists and the views of MLIR's bindings have."""
    return hasattr(given, "__len__") and not isinstance(given, str | Mapping)


def _no_list(op: OpDef, what: str, given: Any) -> OptionError:
    return OptionError(f"{_shown(op)}: its {what} are a list, not {kind_name(given)}", hint="write [it]")


def _infer(op: OpDef, groups: list[list[ir.Value]], attrs: dict[str, ir.Attribute]) -> Sequence[ir.Type]:
    inferred = op.infer(Op(op, groups, attrs)) if op.infer else None
    if inferred is None:
        raise ValueError(f"{_shown(op)}: the result types must be given")
    return inferred


class Op:
    """An op read by names. Made from a live op with `Op.of`, or, before it exists, by `create`.

    `operand("x")` is a value or None; `group("xs")` the values of a variadic; `attr("axis")` a Python
    value (the default if absent, None if there is none); `types("x")` its ranked tensor type.
    """

    __slots__ = ("_attrs", "_groups", "definition", "operation")

    def __init__(
        self,
        definition: OpDef,
        groups: list[list[ir.Value]],
        attrs: Any,
        operation: ir.Operation | None = None,
    ) -> None:
        self.definition = definition
        self._groups = groups
        self._attrs = attrs
        # None before the op exists; typed Any, since nearly all readers have a live op.
        self.operation: Any = operation

    @classmethod
    def of(cls, operation: ir.Operation | ir.OpView) -> Self:
        """A view of `operation`. Raises KeyError if it is not an op of the package's dialects."""
        operation = operation.operation
        op = _definition(operation.name)
        values = list(operation.operands)
        attrs = operation.attributes
        if not needs_segments(op.operands):
            return cls(op, [[value] for value in values], attrs, operation)
        sizes = iter(list(ir.DenseI32ArrayAttr(attrs[_OPERAND_SIZES])))
        groups: list[list[ir.Value]] = []
        start = 0
        for entry in op.operands:
            width = VARIADIC_SLOTS if entry.variadic else 1
            count = sum(next(sizes) for _ in range(width))
            groups.append(values[start : start + count])
            start += count
        return cls(op, groups, attrs, operation)

    @property
    def name(self) -> str:
        """The full name: "tensorrt.convolution"."""
        return self.definition.name

    def __str__(self) -> str:
        """The op as text shows it."""
        from .assembly import print_module

        if self.operation is None:
            return f"{_shown(self.definition)}, which is not made yet"
        return print_module(self.operation, limit=_LONGEST).rstrip("\n")

    def __repr__(self) -> str:
        return f"<Op {self}>"

    def group(self, name: str) -> list[ir.Value]:
        """The values given for an operand; none for an absent one. Raises OptionError for any other name."""
        for entry, group in zip(self.definition.operands, self._groups, strict=True):
            if entry.name == name:
                return group
        raise self._no_operand(name)

    def _no_operand(self, name: str) -> OptionError:
        if self.definition.attr(name) is not None:
            hint = f"it is an attribute: op.attr({name!r})"
        else:
            hint = f"it takes {', '.join(entry.name for entry in self.definition.operands) or 'none'}"
        return OptionError(f"{_shown(self.definition)} has no operand {name}", hint=hint)

    def operand(self, name: str) -> ir.Value | None:
        """The value given for an operand, the first of a variadic one; None if absent. Raises as `group`."""
        group = self.group(name)
        return group[0] if group else None

    def type(self, name: str) -> ir.RankedTensorType:
        """The tensor type of an operand. Raises KeyError for one that is absent."""
        value = self.operand(name)
        if value is None:
            raise KeyError(f"{_shown(self.definition)} was given no {name}")
        return ir.RankedTensorType(value.type)

    def raw(self, name: str) -> ir.Attribute | None:
        """The MLIR attribute itself, or None."""
        return self._attrs[name] if name in self._attrs else None  # noqa: SIM401  (MLIR's map has no get)

    def attr(self, name: str) -> Any:
        """The attribute's value as Python has it; where it is absent its declared default, or None."""
        found = self.raw(name)
        if found is not None:
            return to_python(found)
        declared = self.definition.attr(name)
        return declared.default if declared else None
