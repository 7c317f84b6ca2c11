"""plan.if, plan.loop and plan.repeat: their text, and what their verifier refuses."""

from __future__ import annotations

import pytest

from mlirtrt_nb.dialects.plan import DIALECT
from mlirtrt_nb.dialects.plan.control_flow import OPS
from mlirtrt_nb.errors import VerificationError
from mlirtrt_nb.frontends.text import from_mlir


@pytest.mark.parametrize("name", [op.name for op in OPS if op.example])
def test_examples(name: str) -> None:
    """Each example is a whole module that parses, verifies and prints stably."""
    program = from_mlir(DIALECT.ops[name].example)
    program.verify()
    assert f"{name}" in program.text()
    assert from_mlir(program.text()).text() == program.text()


def _in_function(body: str) -> str:
    arguments = "%c: tensor<i1>, %n: tensor<i64>, %x: tensor<4xf32>, %s: tensor<?xf32>"
    return f"func.func @main({arguments}) {{\n{body}\n  return\n}}"


def _if(condition: str, result: str, first: str, second: str) -> str:
    branches = f"{{\n  plan.yield {first}\n}} else {{\n  plan.yield {second}\n}}"
    return f"%y = plan.if ({condition}) -> {result} {branches}"


def _loop(
    carried: str, yielded: str, results: str, arguments: str = "%i: tensor<i64>, %a: tensor<4xf32>"
) -> str:
    return (
        f"%r:2 = plan.loop trips(%n : tensor<i64>) init({carried}) -> {results} {{\n^bb0({arguments}):\n"
        f"  plan.yield {yielded}\n}}"
    )


GOOD = [
    _if("%c : tensor<i1>", "tensor<?xf32>", "%x : tensor<4xf32>", "%s : tensor<?xf32>"),
    _if("%c : tensor<i1>", "tensor<*xf32>", "%x : tensor<4xf32>", "%s : tensor<?xf32>"),
    _loop(
        "%x : tensor<4xf32>",
        "%c, %a, %i : tensor<i1>, tensor<4xf32>, tensor<i64>",
        "tensor<4xf32>, tensor<?xi64>",
    ),
]


@pytest.mark.parametrize("body", GOOD)
def test_types_may_leave_open_what_differs(body: str) -> None:
    """A result may say less than what the regions give."""
    from_mlir(_in_function(body)).verify()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            _if("%x : tensor<4xf32>", "tensor<4xf32>", "%x : tensor<4xf32>", "%x : tensor<4xf32>"),
            r"condition must be one element of i1, got tensor<4xf32>",
        ),
        (
            _if("%c : tensor<i1>", "tensor<4xf32>", "%x : tensor<4xf32>", "%n : tensor<i64>"),
            r"what elseRegion yields is of types tensor<i64>; they must be tensor<4xf32>",
        ),
        (
            _if(
                "%c : tensor<i1>",
                "tensor<4xf32>",
                "%x, %x : tensor<4xf32>, tensor<4xf32>",
                "%x : tensor<4xf32>",
            ),
            r"what thenRegion yields is of types tensor<4xf32>, tensor<4xf32>",
        ),
        (
            _loop("%x : tensor<4xf32>", "%c, %a : tensor<i1>, tensor<4xf32>", "tensor<4xf32>, tensor<?xi64>"),
            r"body yields 2 values; it must yield whether to go on, 1 carried ones and 1 that are collected",
        ),
        (
            _loop(
                "%x : tensor<4xf32>",
                "%i, %a, %i : tensor<i64>, tensor<4xf32>, tensor<i64>",
                "tensor<4xf32>, tensor<?xi64>",
            ),
            r"the first value that body yields is whether to go on, got tensor<i64>",
        ),
        (
            _loop(
                "%x : tensor<4xf32>",
                "%c, %s, %i : tensor<i1>, tensor<?xf32>, tensor<i64>",
                "tensor<4xf32>, tensor<4x4xi64>",
            ),
            r"what body collects is of types tensor<\?xi64>; they must be tensor<4x4xi64>",
        ),
        (
            _loop(
                "%x : tensor<4xf32>",
                "%c, %a, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>",
                "tensor<4xf32>, tensor<?x4xf32>",
                "%a: tensor<4xf32>",
            ),
            r"the first argument of body is the number of the turn",
        ),
        (
            _loop(
                "%n : tensor<i64>",
                "%c, %a, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>",
                "tensor<4xf32>, tensor<?x4xf32>",
            ),
            r"init is of types tensor<i64>; they must be tensor<4xf32>",
        ),
    ],
)
def test_constructs_that_are_refused(body: str, message: str) -> None:
    """Each rule has its own message."""
    with pytest.raises(VerificationError, match=message):
        from_mlir(_in_function(body)).verify()


def test_a_repeat_counts_in_one_i64() -> None:
    """The memory of the turn's number, its limit and its flag are of one element each."""
    text = DIALECT.ops["plan.repeat"].example.replace("size 8 live", "size 32 live")
    wrong = text.replace(
        "memref<i64, #plan.memory_space<host>>\n  %a", "memref<4xi64, #plan.memory_space<host>>\n  %a"
    )
    assert wrong != text
    with pytest.raises(VerificationError, match="number must be one element of i64, got memref<4xi64"):
        from_mlir(wrong).verify()
