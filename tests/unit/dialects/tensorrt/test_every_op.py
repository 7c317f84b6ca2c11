"""What holds of every op, checked on its example: a new op is checked once it is defined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations

import pytest
from torch_mlir import ir

from mlirtrt_nb.dialects.tensorrt import DIALECT
from mlirtrt_nb.errors import VerificationError
from mlirtrt_nb.ir import shapes
from mlirtrt_nb.ir.assembly import parse_module
from mlirtrt_nb.ir.builder import Op, create
from mlirtrt_nb.ir.context import new_context
from mlirtrt_nb.ir.verifier import verify_op

_CONTEXT = new_context()
# Underneath, tensorrt.module is a marked builtin.module.
OPS = {name: op for name, op in DIALECT.ops.items() if name != "tensorrt.module"}
TYPED = [name for name, op in OPS.items() if any(o.types != "any" for o in op.operands)]
INFERRING = [name for name, op in OPS.items() if op.infer is not None and op.operands]
REQUIRED = [
    (name, attr.name)
    for name, op in OPS.items()
    for attr in op.attrs
    if not attr.optional and attr.default is None
]
# What no rule of an attribute's kind takes. Kinds of any attribute have rules of their own.
OTHER = "affine_map<(d0) -> (d0)>"
KINDED = [
    (name, attr.name) for name, op in OPS.items() for attr in op.attrs if attr.kind not in ("any", "affine_map")
]


@contextmanager
def example(name: str) -> Iterator[ir.Operation]:
    """The op of the example, in its own module, which must outlive it."""
    module = parse_module(DIALECT.ops[name].example, "<example>", _CONTEXT)
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == name:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    with _CONTEXT, ir.Location.name("here"):
        yield found[0]


def check_rejected(operation: ir.Operation, fragment: str) -> None:
    """The op is refused, by name, with the fragment in the message."""
    with pytest.raises(VerificationError) as caught:
        verify_op(operation)
    assert caught.value.what.startswith(f"{operation.name}: ")
    assert fragment in caught.value.what


@pytest.mark.parametrize("name", TYPED)
def test_element_types_are_checked(name: str) -> None:
    """An operand of an element type that it does not take is refused, with the type."""
    with example(name) as operation:
        op = Op.of(operation)
        for entry in op.definition.operands:
            for value in op.group(entry.name)[:1] if entry.types != "any" else ():
                kind, odd = value.type, ir.Type.parse("f64")
                value.set_type(shapes.tensor(ir.RankedTensorType(kind).shape, odd))
                check_rejected(operation, "f64")
                value.set_type(kind)
        verify_op(operation)


@pytest.mark.parametrize(("name", "attribute"), REQUIRED)
def test_attributes_are_needed(name: str, attribute: str) -> None:
    """An op without an attribute that has no default is refused, with its name."""
    with example(name) as operation:
        kept = operation.attributes[attribute]
        del operation.attributes[attribute]
        check_rejected(operation, attribute)
        operation.attributes[attribute] = kept
        verify_op(operation)


@pytest.mark.parametrize(("name", "attribute"), KINDED)
def test_kinds_of_attributes_are_checked(name: str, attribute: str) -> None:
    """An attribute of another kind is refused, with its name."""
    with example(name) as operation:
        operation.attributes[attribute] = ir.Attribute.parse(OTHER)
        check_rejected(operation, attribute)


@pytest.mark.parametrize("name", INFERRING)
def test_declared_results_are_checked(name: str) -> None:
    """A result of another element type, or of other dimensions, than is inferred is refused."""
    with example(name) as operation:
        op = Op.of(operation)
        inferred = op.definition.infer(op)
        for value, kind in zip(operation.results, inferred or (), strict=False):
            declared = value.type
            larger = shapes.tensor([7, *ir.RankedTensorType(kind).shape], kind.element_type)
            value.set_type(larger)
            check_rejected(operation, str(larger))
            value.set_type(declared)
        verify_op(operation)


def _known(a: ir.Type, b: ir.Type) -> bool:
    """Whether two types agree where both say something."""
    one, two = ir.RankedTensorType(a), ir.RankedTensorType(b)
    return shapes.same_element(one, two) and shapes.compatible(one.shape, two.shape)


def _forms(kinds: list[ir.Type]) -> Iterator[list[ir.Type]]:
    """The operands' types with dimensions forgotten: each one alone, each pair, and all."""
    places = [
        (n, axis)
        for n, kind in enumerate(kinds)
        if isinstance(kind, ir.RankedTensorType)
        for axis in range(kind.rank)
    ]
    groups = [*combinations(places, 1), *combinations(places[:6], 2), tuple(places)]
    for group in groups:
        forms = list(kinds)
        for n, axis in group:
            shape = ir.RankedTensorType(forms[n]).shape
            shape[axis] = shapes.DYNAMIC
            forms[n] = shapes.tensor(shape, ir.RankedTensorType(forms[n]).element_type)
        yield forms


@pytest.mark.parametrize("name", INFERRING)
def test_inference_from_partly_known_shapes(name: str) -> None:
    """With any dimensions of the operands forgotten, what is inferred agrees with what is inferred from all."""
    with example(name) as operation:
        op = Op.of(operation)
        whole = op.definition.infer(op)
        values = list(operation.operands)
        kinds = [value.type for value in values]
        for forms in _forms(kinds):
            for value, form in zip(values, forms, strict=True):
                value.set_type(form)
            try:
                partly = op.definition.infer(op)
            except VerificationError as error:
                # Some lengths have to be known, and then the op says which.
                assert any(str(form) in error.what for form in forms), error.what
                continue
            assert (partly is None) == (whole is None)
            for one, two in zip(whole or (), partly or (), strict=True):
                assert _known(one, two), (forms, one, two)
            if partly is not None:
                _check_made(operation, list(partly), forms)


def _check_made(operation: ir.Operation, partly: list[ir.Type], forms: list[ir.Type]) -> None:
    """`create` gives an op of these operands the inferred types, and it verifies."""
    op = Op.of(operation)
    if len(operation.regions):
        return
    groups = [
        op.group(entry.name) if entry.variadic else op.operand(entry.name) for entry in op.definition.operands
    ]
    attributes = {entry.name: op.raw(entry.name) for entry in op.definition.attrs}
    with ir.InsertionPoint(operation):
        made = create(op.name, groups, attributes)
    assert [result.type for result in made.results] == partly
    try:
        verify_op(made)
    except VerificationError as error:
        assert any(f"{form}; its last dimension must be static" in error.what for form in forms), error.what
    made.erase()
