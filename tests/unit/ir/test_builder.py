"""`create` and `Op`: what is given wrong is named, and an op shows itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from torch_mlir import ir

import mlirtrt_nb as mt
from mlirtrt_nb.errors import OptionError
from mlirtrt_nb.ir.builder import Op, create

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
RELU = {"activationType": "kRELU"}


@pytest.fixture
def relu() -> Iterator[Op]:
    """The activation of a program, with the insertion point before it."""
    program = mt.from_mlir(TEXT)
    operation = program.module.body.operations[0].regions[0].blocks[0].operations[0]
    with program.context, ir.InsertionPoint(operation), ir.Location.unknown():
        yield Op.of(operation)


WRONG: list[tuple[Callable[[Op], Any], str, str | None]] = [
    (
        lambda op: create("tensorrt.activation", [], RELU),
        "tensorrt.activation is given no input",
        "it takes input, in this order",
    ),
    (
        lambda op: create("tensorrt.element_wise", [op.operand("input")], {"elementwiseOperation": "kSUM"}),
        "tensorrt.element_wise is given no input2",
        "it takes input1, input2, in this order",
    ),
    (
        lambda op: create("tensorrt.activation", op.operand("input"), RELU),  # type: ignore[arg-type]
        "tensorrt.activation: its operands are a list, not a BlockArgument",
        "write [it]",
    ),
    (
        lambda op: create("tensorrt.activation", [op.operation], RELU),
        "tensorrt.activation: input is an Operation, not a value",
        "give one of its results: op.results[0]",
    ),
    (
        lambda op: create("tensorrt.activation", ["%x"], RELU),  # type: ignore[list-item]
        "tensorrt.activation: input is a str, not a value",
        None,
    ),
    (
        lambda op: create("tensorrt.identity", [op.operand("input")], results=["tensor<4xf17>"]),
        "tensorrt.identity: 'tensor<4xf17>' is no type",
        None,
    ),
    (
        lambda op: create("tensorrt.identity", [op.operand("input")], results="tensor<4xf16>"),
        "tensorrt.identity: its result types are a list, not a str",
        "write [it]",
    ),
    (
        lambda op: create("tensorrt.identity", [op.operand("input")], results=[16]),  # type: ignore[list-item]
        "tensorrt.identity: the result type 16 is an int, not a type",
        'give a type, such as a value\'s .type, or its text, "tensor<4xf32>"',
    ),
]


@pytest.mark.parametrize(("make", "what", "hint"), WRONG)
def test_what_is_given_wrong_is_named(relu: Op, make: Callable[[Op], Any], what: str, hint: str | None) -> None:
    """The op, the operand or result, what was given, and what to write."""
    with pytest.raises(OptionError) as caught:
        make(relu)
    assert caught.value.what.startswith(what) and caught.value.hint == hint


def test_result_types_may_be_text(relu: Op) -> None:
    """As MLIR spells them."""
    made = create("tensorrt.identity", [relu.operand("input")], results=["tensor<4xf16>"])
    assert str(made.results[0].type) == "tensor<4xf16>"


def test_an_op_shows_itself(relu: Op) -> None:
    """Printed in a rewrite, it is its line of the program."""
    line = "%y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>"
    assert str(relu) == line
    assert repr(relu) == f"<Op {line}>"
