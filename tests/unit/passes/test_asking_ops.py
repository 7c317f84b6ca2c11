"""What a rewrite asks of its op, or of `create`, and cannot have: the error says what there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.ir.builder import Op, create

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def error_of(ask: Callable[[Op], Any]) -> mt.PassError:
    """What a rewrite raises that does this with the activation."""

    @mt.rewrite("tensorrt.activation")
    def asks(op: Op) -> Any:
        return ask(op)

    with pytest.raises(mt.PassError) as caught:
        mt.Pipeline([asks]).run(mt.from_mlir(TEXT), isolate=False)
    return caught.value


def made(name: str, attributes: dict[str, Any]) -> Callable[[Op], Any]:
    """Make an op of the activation's input."""
    return lambda op: create(name, [op.operand("input")], attributes)


@pytest.mark.parametrize(
    ("ask", "what", "hint"),
    [
        (
            made("tensorrt.activation", {"actType": "kTANH"}),
            "tensorrt.activation has no attribute actType",
            "did you mean activationType?",
        ),
        (
            made("tensorrt.activation", {"activationType": "kTAHN"}),
            "tensorrt.activation: activationType is of kind enum:activation_type, not 'kTAHN'",
            "did you mean kTANH?",
        ),
        (
            made("tensorrt.softmax", {"axis": "last"}),
            "tensorrt.softmax: axis is of kind i64, not 'last'",
            None,
        ),
        (
            made("tensorrt.activaton", {}),
            "no op named 'tensorrt.activaton'",
            "did you mean tensorrt.activation or tensorrt.attention or tensorrt.assertion?",
        ),
        (made("onnx.Tanh", {}), "no op named 'onnx.Tanh'", "ops are made by MLIR's name, onnx.tanh"),
        (
            lambda op: create("tensorrt.identity", [op.operand("input")] * 2),
            "tensorrt.identity is given 2 operands; it takes input",
            None,
        ),
        (
            lambda op: op.operand("inptu"),
            "tensorrt.activation has no operand inptu",
            "it takes input",
        ),
        (
            lambda op: op.operand("alpha"),
            "tensorrt.activation has no operand alpha",
            "it is an attribute: op.attr('alpha')",
        ),
        (
            lambda op: op.attr("actType"),
            "tensorrt.activation has no attribute actType",
            "did you mean activationType?",
        ),
        (
            lambda op: op.attr("input"),
            "tensorrt.activation has no attribute input",
            "it is an operand: op.operand('input')",
        ),
    ],
)
def test_what_there_is_not(ask: Callable[[Op], Any], what: str, hint: str | None) -> None:
    """The message names it, the hint what is near or there; both point at the user's line."""
    error = error_of(ask)
    assert error.what == f"pass asks: {what}"
    assert error.hint == hint
    assert error.span is not None and error.span.filename == __file__


def test_what_is_absent_is_none() -> None:
    """An optional attribute that an op lacks, and one of a dialect that any op may have."""
    seen: list[Any] = []

    @mt.rewrite("tensorrt.activation")
    def looks(op: Op) -> None:
        seen.extend([op.attr("alpha"), op.attr("plan.fallback"), op.attr("activationType")])

    mt.Pipeline([looks]).run(mt.from_mlir(TEXT), isolate=False)
    assert seen == [None, None, "kRELU"]


def test_a_function_that_takes_nothing() -> None:
    """It is refused where it is decorated, with the line to write; a default or `*args` is room enough."""
    with pytest.raises(
        mt.OptionError, match="pass takes-none cannot be called with one argument, the op"
    ) as caught:

        @mt.rewrite("tensorrt.activation")
        def takes_none() -> None:
            pass

    assert caught.value.hint == "write def takes_none(op):"
    with pytest.raises(mt.OptionError, match="with one argument, the program") as caught:

        @mt.module_pass("takes-two")
        def takes_two(program: mt.Program, other: int) -> None:
            pass

    assert caught.value.hint == "write def takes_two(program):"
    mt.module_pass("takes-any")(lambda *args: None)
