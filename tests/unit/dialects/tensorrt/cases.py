"""One op built in a module of its own, for tables of cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from torch_mlir import ir

from mlirtrt_nb.errors import VerificationError
from mlirtrt_nb.ir.builder import create
from mlirtrt_nb.ir.context import new_context
from mlirtrt_nb.ir.verifier import verify_op

# An operand: a tensor type without its brackets, None where it is absent, a list where it is variadic.
Operands = Sequence[str | list[str] | None]

_CONTEXT = new_context()


@contextmanager
def module() -> Iterator[ir.Module]:
    """A module to build in, in the tests' context."""
    with _CONTEXT, ir.Location.name("here"):
        made = ir.Module.create()
        with ir.InsertionPoint(made.body):
            yield made


def tensor(spelling: str) -> ir.Type:
    return ir.Type.parse(f"tensor<{spelling}>")


def value(spelling: str) -> ir.Value:
    """A value of a type, from an op that nobody minds."""
    return ir.Operation.create("builtin.unrealized_conversion_cast", results=[tensor(spelling)]).result


def build(
    name: str, operands: Operands, attrs: dict[str, Any], results: Sequence[str] | None = None
) -> ir.Operation:
    """`tensorrt.<name>` at the insertion point; attributes spelled `mlir:...` are parsed."""
    made = [None if o is None else [value(x) for x in o] if isinstance(o, list) else value(o) for o in operands]
    parsed = {
        key: ir.Attribute.parse(v[5:]) if isinstance(v, str) and v.startswith("mlir:") else v
        for key, v in attrs.items()
    }
    types = None if results is None else [tensor(r) for r in results]
    return create(f"tensorrt.{name}", made, parsed, types)


def check_inferred(name: str, operands: Operands, attrs: dict[str, Any], expected: Sequence[str]) -> None:
    """The op is created without result types, gets `expected`, and verifies, in MLIR too."""
    with module() as made:
        op = build(name, operands, attrs)
        assert [str(r.type) for r in op.results] == [f"tensor<{e}>" for e in expected]
        verify_op(op)
        assert made.operation.verify()


def check_accepted(name: str, operands: Operands, attrs: dict[str, Any], results: Sequence[str]) -> None:
    """The op with these declared result types verifies, in MLIR too."""
    with module() as made:
        verify_op(build(name, operands, attrs, results))
        assert made.operation.verify()


def check_rejected(
    name: str, operands: Operands, attrs: dict[str, Any], results: Sequence[str] | None, *fragments: str
) -> None:
    """Building or verifying the op fails, with each fragment in the message."""
    with module(), pytest.raises(VerificationError) as caught:
        verify_op(build(name, operands, attrs, results))
    assert caught.value.what.startswith(f"tensorrt.{name}: ")
    for fragment in fragments:
        assert fragment in caught.value.what
